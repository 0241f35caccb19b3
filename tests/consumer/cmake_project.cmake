# Configures PROJECT, builds it and runs its program, `consumer`.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
if(GENERATOR STREQUAL "Unix Makefiles")
  find_program(MAKE NAMES make)
  if(NOT MAKE)
    message("SKIPPED: there is no make")
    return()
  endif()
endif()
# No build type, so no optimisation: it would double the time and prove nothing more here.

set(place "")
if(COMPONENT)
  set(place -DCMAKE_PREFIX_PATH=${PREFIX}/both -DCOMPONENT=${COMPONENT} -DVERSION=${VERSION})
endif()
run(${CMAKE_COMMAND} --fresh -S ${PROJECT} -B ${FOLDER} -G "${GENERATOR}" -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_BUILD_TYPE= -DSMEM_SOURCE_DIR=${SOURCE} ${place})
run(${CMAKE_COMMAND} --build ${FOLDER} --parallel 2)
run(${FOLDER}/consumer)
