# Compiles and links the program with what pkg-config says, by hand as a Makefile would, and runs it.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

find_program(PKG_CONFIG NAMES pkg-config pkgconf)  # now, and not when the build was configured
if(NOT PKG_CONFIG)
  message("SKIPPED: there is no pkg-config")
  return()
endif()

file(GLOB_RECURSE pc ${PREFIX}/${KIND}/*/smem.pc)
get_filename_component(pc_folder ${pc} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${pc_folder})
set(static "")
if(KIND STREQUAL "static")
  set(static --static)
endif()
run(${PKG_CONFIG} ${static} --print-errors --exact-version=${VERSION} smem)
run(${PKG_CONFIG} ${static} --cflags --libs smem)
separate_arguments(flags UNIX_COMMAND "${output}")

# The .pc file must hold in the place where the tree lies now, whatever prefix it was configured for.
if(NOT output MATCHES "${PREFIX}/${KIND}|\\.\\./include")
  message(FATAL_ERROR "smem.pc does not point into ${PREFIX}/${KIND}")
endif()

file(MAKE_DIRECTORY ${FOLDER})
get_filename_component(libraries ${pc_folder} DIRECTORY)
run(${COMPILER} -std=c++20 -Wall -Wextra -Werror ${CMAKE_CURRENT_LIST_DIR}/main.cpp -o ${FOLDER}/consumer ${flags}
    -Wl,-rpath,${libraries})
run(${FOLDER}/consumer)
