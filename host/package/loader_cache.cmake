# At the end of an installation: says what the loader needs to find the shared library `smem_file` in `smem_libdir`, where it does
# not know it yet. Nothing is said where the tree is put together for another place (DESTDIR), or where there is no ldconfig.
if(NOT "$ENV{DESTDIR}" STREQUAL "")
  return()
endif()
find_program(smem_ldconfig ldconfig PATHS /sbin /usr/sbin NO_CACHE)
if(NOT smem_ldconfig)
  return()
endif()
execute_process(COMMAND ${smem_ldconfig} -p OUTPUT_VARIABLE smem_known ERROR_QUIET RESULT_VARIABLE smem_status)
get_filename_component(smem_real ${smem_libdir} REALPATH)
string(FIND "${smem_known}" "=> ${smem_libdir}/${smem_file}\n" smem_listed)
string(FIND "${smem_known}" "=> ${smem_real}/${smem_file}\n" smem_real_listed)
if(smem_status EQUAL 0 AND smem_listed EQUAL -1 AND smem_real_listed EQUAL -1)
  set(smem_example " (as it does /usr/local/lib)")
  if(smem_libdir STREQUAL "/usr/local/lib")
    set(smem_example "")
  endif()
  message("The loader does not know ${smem_libdir}/${smem_file} yet. A program that is linked with pkg-config finds it after\n"
          "  sudo ldconfig                       where the loader searches ${smem_libdir}${smem_example}, or\n"
          "  -Wl,-rpath,${smem_libdir}           when the program is linked with this.\n"
          "CMake's find_package(smem) needs neither for programs that run from their build folder.")
endif()
