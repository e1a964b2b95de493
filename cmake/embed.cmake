# clrdb_embed(OUTPUT NAME symbol HEADER header KIND texts|named FILES file...)
# Writes OUTPUT into the build folder: the files as C text.
#   texts  const char *const NAME[]            ends at NULL
#   named  const struct clr_embedded NAME[]    {file name without ending, text, length}; ends at NULL
# Bytes are written as numbers: a C compiler need not take long string literals.
function(clrdb_embed output)
  cmake_parse_arguments(EMBED "" "NAME;HEADER;KIND" "FILES" ${ARGN})
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_script.cmake)
  add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${output} -DNAME=${EMBED_NAME}
            -DHEADER=${EMBED_HEADER} -DKIND=${EMBED_KIND} "-DFILES=${EMBED_FILES}" -P ${script}
    DEPENDS ${EMBED_FILES} ${script} VERBATIM)
endfunction()
