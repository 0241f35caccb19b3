# Configures PRESET, builds the tests there and runs in one process those that CASES, an option of theirs, chooses. The
# options of the sanitizers are those of the test presets in CMakePresets.json.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../consumer/run.cmake)

file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/empty.cpp "int main() {}\n")
if(PRESET STREQUAL "tsan")
  set(flag -fsanitize=thread)
else()
  set(flag -fsanitize=address,undefined)
endif()
execute_process(COMMAND ${COMPILER} ${flag} ${FOLDER}/empty.cpp -o ${FOLDER}/empty RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message("SKIPPED: ${COMPILER} has no ${flag}")
  return()
endif()

# The thread sanitizer needs the address space in its usual places, and newer kernels scatter it too widely for it.
set(fixed_addresses "")
execute_process(COMMAND setarch -R true RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(PRESET STREQUAL "tsan" AND status EQUAL 0)
  set(fixed_addresses setarch -R)
endif()

# LLVM, inside PoCL, gives a thread a signal stack of its own, which the address sanitizer would take for the one it made.
set(ENV{ASAN_OPTIONS} detect_stack_use_after_return=1:use_sigaltstack=0)
set(ENV{LSAN_OPTIONS} suppressions=${CMAKE_CURRENT_LIST_DIR}/leaks.txt:print_suppressions=0)
set(ENV{UBSAN_OPTIONS} print_stacktrace=1)
set(ENV{TSAN_OPTIONS} suppressions=${CMAKE_CURRENT_LIST_DIR}/threads.txt)

set(ENV{SMEM_CACHE} 0)  # as for the unit tests
run(${CMAKE_COMMAND} -S ${SOURCE} --preset ${PRESET} -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${SOURCE}/build/${PRESET} --target smem_tests --parallel 2)
run(${fixed_addresses} ${SOURCE}/build/${PRESET}/tests/smem_tests "${CASES}")
if(NOT output MATCHES "test cases: +[1-9]")
  message(FATAL_ERROR "no test case was run")
endif()
