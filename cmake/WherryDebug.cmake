# Wherry: separate symbol files, which debuggers find by the build id
# SPDX-License-Identifier: Apache-2.0
#
# In a Release build, the files contain the names of all functions. RelWithDebInfo adds source lines and types. If the build
# folder is in the source folder, source paths begin with /usr/src/wherry-VERSION. elfutils needs the address table
# (aranges) to find code. gdb would warn about references to Clang modules (breadcrumbs), and about the name tables that lld
# concatenates, so these are omitted.
set(wherry_source_map ${PROJECT_SOURCE_DIR}=/usr/src/wherry-${PROJECT_VERSION})
add_compile_options(
  "$<$<COMPILE_LANGUAGE:C>:-fdebug-prefix-map=${wherry_source_map}>"
  "$<$<COMPILE_LANGUAGE:Swift>:SHELL:-debug-prefix-map ${wherry_source_map}>"
  "$<$<COMPILE_LANGUAGE:Swift>:SHELL:-Xllvm -generate-arange-section>"
  "$<$<COMPILE_LANGUAGE:Swift>:SHELL:-Xfrontend -no-clang-module-breadcrumbs>")
add_link_options(LINKER:--build-id)

# wherry_debug_file(TARGET): installs the symbols of a program or library as lib/debug/.build-id/12/3456.debug.
function(wherry_debug_file target)
  install(CODE "
    execute_process(COMMAND \"${CMAKE_READELF}\" --notes --wide \"$<TARGET_FILE:${target}>\"
      OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
    if(NOT notes MATCHES \"Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)\")
      message(FATAL_ERROR \"${target} has no build id\")
    endif()
    set(folder \"\${CMAKE_INSTALL_PREFIX}/lib/debug/.build-id/\${CMAKE_MATCH_1}\")
    set(file \"\${folder}/\${CMAKE_MATCH_2}.debug\")
    message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${folder}\")
    execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --only-keep-debug --compress-debug-sections --remove-section=.debug_names
      \"$<TARGET_FILE:${target}>\" \"\$ENV{DESTDIR}\${file}\" COMMAND_ERROR_IS_FATAL ANY)
    file(CHMOD \"\$ENV{DESTDIR}\${file}\" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")
  " COMPONENT debug)
endfunction()
