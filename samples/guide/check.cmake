# Runs the guide's program and compares what it prints with what the guide says.
#   cmake -DPROGRAM=… -DEXPECTED=… -P check.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output RESULT_VARIABLE result)
file(READ ${EXPECTED} expected)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "exit code ${result}, after:\n${output}")
elseif(NOT "${output}" STREQUAL "${expected}")
  message(FATAL_ERROR "the guide says:\n${expected}\nbut its program prints:\n${output}")
endif()
