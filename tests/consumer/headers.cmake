# Every installed header compiles alone, with nothing included before it and the warnings on.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(GLOB headers RELATIVE ${PREFIX}/both/include ${PREFIX}/both/include/smem/*.hpp)
list(LENGTH headers count)
if(count LESS 10)
  message(FATAL_ERROR "only ${count} headers are installed")
endif()
file(MAKE_DIRECTORY ${FOLDER})
foreach(header IN LISTS headers)
  file(WRITE ${FOLDER}/alone.cpp "#include <${header}>\n")
  run(${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I${PREFIX}/both/include ${FOLDER}/alone.cpp)
endforeach()
