# The reference of the public headers as a web page: build/PRESET/doc/html, where doxygen is installed.
find_program(SMEM_DOXYGEN doxygen)
set(SMEM_DOC_MAIN ${PROJECT_SOURCE_DIR}/host/package/reference.md)
# The page, and what the test style.doxygen reads: the warnings alone.
set(SMEM_DOC_FOLDER ${PROJECT_BINARY_DIR}/doc)
set(SMEM_DOC_HTML YES)
configure_file(host/package/Doxyfile.in ${PROJECT_BINARY_DIR}/generated/Doxyfile @ONLY)
if(SMEM_DOXYGEN)
  add_custom_target(smem_doc
    COMMAND ${CMAKE_COMMAND} -E make_directory ${SMEM_DOC_FOLDER}
    COMMAND ${SMEM_DOXYGEN} ${PROJECT_BINARY_DIR}/generated/Doxyfile
    COMMENT "Reference: ${SMEM_DOC_FOLDER}/html/index.html")
endif()
