# Installs smem three times: PREFIX/shared, PREFIX/static, and both kinds to PREFIX/both. The build that the tests belong to
# is one kind, with the library as the users of this build get it; the other kind is built here, by PROJECT, to which smem is
# a subdirectory.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
# No build type, so no optimisation: it would double the time and prove nothing more here.

set(other static)
set(mine shared)
set(other_is_shared OFF)
if(NOT SHARED)
  set(other shared)
  set(mine static)
  set(other_is_shared ON)
endif()

set(launcher "")
if(NOT "$ENV{SMEM_TEST_TURN}" STREQUAL "")
  math(EXPR turn "$ENV{SMEM_TEST_TURN} % 16")
  if(NOT turn EQUAL 10)
    set(launcher -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CURRENT_LIST_DIR}/reuse_objects.sh)
    set(ENV{SMEM_OBJECTS} ${BUILD})
  endif()
endif()
run(${CMAKE_COMMAND} --fresh -S ${PROJECT} -B ${FOLDER} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=
    -DSMEM_SOURCE_DIR=${SOURCE} -DBUILD_SHARED_LIBS=${other_is_shared} -DSMEM_INSTALL=ON ${launcher})
run(${CMAKE_COMMAND} --build ${FOLDER} --parallel 2)

file(REMOVE_RECURSE ${PREFIX})
foreach(place IN ITEMS ${mine} both)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}/${place})
  set(said_${mine} "${output}")
endforeach()
foreach(place IN ITEMS ${other} both)
  run(${CMAKE_COMMAND} --install ${FOLDER} --prefix ${PREFIX}/${place})
  set(said_${other} "${output}")
endforeach()

# A shared library where the loader does not know it: ldconfig is named. Not for a static one.
find_program(ldconfig ldconfig PATHS /sbin /usr/sbin)
if(said_static MATCHES "ldconfig" OR (ldconfig AND NOT said_shared MATCHES "sudo ldconfig.*-Wl,-rpath,${PREFIX}/both/lib"))
  message(FATAL_ERROR "wrong advice on ldconfig")
endif()
