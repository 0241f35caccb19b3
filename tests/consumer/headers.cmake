# Every installed header compiles alone, with nothing included before it and the warnings on. Where tests take turns
# (SMEM_TEST_TURN), every eighth header.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(GLOB headers RELATIVE ${PREFIX}/both/include ${PREFIX}/both/include/smem/*.hpp)
list(LENGTH headers count)
if(count LESS 10)
  message(FATAL_ERROR "only ${count} headers are installed")
endif()
file(MAKE_DIRECTORY ${FOLDER})
set(place 0)
foreach(header IN LISTS headers)
  math(EXPR place "(${place} + 1) % 8")
  if(NOT "$ENV{SMEM_TEST_TURN}" STREQUAL "")
    math(EXPR turn "$ENV{SMEM_TEST_TURN} % 8")
    if(NOT turn EQUAL place)
      continue()
    endif()
  endif()
  file(WRITE ${FOLDER}/alone.cpp "#include <${header}>\n")
  run(${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I${PREFIX}/both/include ${FOLDER}/alone.cpp)
endforeach()

# And a program may choose OpenCL's version.
file(WRITE ${FOLDER}/version.cpp "#include <smem/opencl.hpp>\n")
foreach(version 120 200 300)
  run(${COMPILER} -std=c++20 -Wall -Wextra -Werror -fsyntax-only -DCL_HPP_TARGET_OPENCL_VERSION=${version} -I${PREFIX}/both/include
      ${FOLDER}/version.cpp)
endforeach()
