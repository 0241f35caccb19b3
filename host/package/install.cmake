# What is installed: the library, its headers, and files for find_package and pkg-config. A shared and a static smem can
# be installed to one place: each has a targets file of its own, and the config file takes the one that is asked for.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

if(BUILD_SHARED_LIBS)
  set(kind shared)
else()
  set(kind static)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/smem)

install(TARGETS smem EXPORT smem-${kind}-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/smem ${CMAKE_CURRENT_BINARY_DIR}/generated/include/smem
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN distributed EXCLUDE)
if(SMEM_HAS_DISTRIBUTED)
  install(TARGETS smem_distributed EXPORT smem-${kind}-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY include/smem/distributed ${CMAKE_CURRENT_BINARY_DIR}/generated/distributed/include/smem/distributed
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smem FILES_MATCHING PATTERN "*.hpp")
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT smem-${kind}-targets NAMESPACE smem:: DESTINATION ${package_dir})
configure_package_config_file(host/package/smem-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/generated/smem-config.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may change the interface, as semantic versioning has it.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/generated/smem-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/smem-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/generated/smem-config-version.cmake
        DESTINATION ${package_dir})

# pkg-config: folders are named only where the compiler would not look by itself. They are found from the place of
# smem.pc, so that the installed tree can be moved.
set(pc_cflags "")
foreach(folder IN LISTS OpenCL_INCLUDE_DIRS SMEM_CLHPP_DIR)
  if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND pc_cflags " -I${folder}")
  endif()
endforeach()
get_filename_component(folder "${OpenCL_LIBRARIES}" DIRECTORY)
set(pc_opencl "-lOpenCL")
if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  string(PREPEND pc_opencl "-L${folder} ")
endif()
list(TRANSFORM CMAKE_CXX_IMPLICIT_LINK_LIBRARIES PREPEND -l OUTPUT_VARIABLE pc_runtime)  # for a C compiler that links
list(FILTER pc_runtime INCLUDE REGEX "^-l(stdc\\+\\+|c\\+\\+|m)$")
list(REMOVE_DUPLICATES pc_runtime)
list(JOIN pc_runtime " " pc_runtime)
set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH pc_up "/root/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /root)
  string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  string(PREPEND pc_libdir "\${prefix}/")
endif()
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  string(PREPEND pc_includedir "\${prefix}/")
endif()
configure_file(host/package/smem.pc.in ${CMAKE_CURRENT_BINARY_DIR}/generated/smem.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/smem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# A program that is linked by hand, as with pkg-config, needs a loader that knows the shared library.
if(BUILD_SHARED_LIBS)
  install(CODE "set(smem_libdir \"${CMAKE_INSTALL_LIBDIR}\")
set(smem_file libsmem.so.${soversion})
cmake_path(ABSOLUTE_PATH smem_libdir BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")")
  install(SCRIPT ${PROJECT_SOURCE_DIR}/host/package/loader_cache.cmake)
endif()
