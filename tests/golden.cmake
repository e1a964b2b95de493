# Golden SQL, and everything a reader of the documents may type: run in the hosts that people use.

# sqlite3, python and the like load a module that needs the sanitizers' run time.
set(host_environment "")
if(CLRDB_SANITIZE)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so
    OUTPUT_VARIABLE asan_library OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(host_environment "LD_PRELOAD=${asan_library}" "ASAN_OPTIONS=detect_leaks=0")
endif()

add_executable(runner sql/runner.c)
target_link_libraries(runner PRIVATE clrdb_settings SQLite::SQLite3)
add_executable(make_inputs sql/make_inputs.c)
target_link_libraries(make_inputs PRIVATE clrdb_settings)

set(inputs ${CMAKE_CURRENT_BINARY_DIR}/inputs)
add_custom_command(OUTPUT ${inputs}/text.core
  COMMAND make_inputs ${dump_folder}/ws11.core ${inputs}
  DEPENDS make_inputs ${dump_folder}/ws11.core VERBATIM)
add_custom_target(inputs ALL DEPENDS ${inputs}/text.core)
add_dependencies(inputs dumps)

file(GLOB golden_files CONFIGURE_DEPENDS sql/*.slt)
foreach(file IN LISTS golden_files)
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME sql_${name} COMMAND runner --module $<TARGET_FILE:clrdb>
    DUMP=${dump_folder}/ws11.core INPUTS=${inputs} ${file})
  set_tests_properties(sql_${name} PROPERTIES TIMEOUT 300)
endforeach()

# The same files, and what is asked of all tables, under a newer SQLite: $NEWER_SQLITE says where.
if(NOT CLRDB_SANITIZE)
  add_test(NAME sql_newer COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/sql/newer_test.sh
    ${CMAKE_CURRENT_BINARY_DIR} $<TARGET_FILE:clrdb>
    DUMP=${dump_folder}/ws11.core INPUTS=${inputs} ${golden_files})
  set_tests_properties(sql_newer PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()

# name, program, arguments: a script that gets the module, the sources and the dump.
function(host_test name script)
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script}
    $<TARGET_FILE:clrdb> ${CMAKE_SOURCE_DIR} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT "${host_environment}")
endfunction()
host_test(schema_doc schema_doc.sh --check)
host_test(cookbook cookbook_test.sh ${dump_folder}/ws11.core)
host_test(readme_session session_test.sh ${dump_folder}/ws11.core)
host_test(examples examples_test.sh ${dump_folder}/ws11.core)
add_test(NAME install COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install_test.sh
  ${CMAKE_BINARY_DIR} ${dump_folder}/ws11.core)
set_tests_properties(install PROPERTIES TIMEOUT 120 ENVIRONMENT "${host_environment}")

# The cookbook's recipes on a program that printed the truth, where there is something to find and where there is nothing.
foreach(size none small)
  add_test(NAME recipes_${size} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/programs/recipes/check.sh $<TARGET_FILE:runner>
    $<TARGET_FILE:clrdb> ${CMAKE_SOURCE_DIR} ${dump_folder}/recipes-${size}.core
    ${CMAKE_CURRENT_SOURCE_DIR}/dumps/recipes-${size}.slt)
  set_tests_properties(recipes_${size} PROPERTIES TIMEOUT 300 ENVIRONMENT "${host_environment}")
endforeach()
