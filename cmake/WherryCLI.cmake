# Wherry: the command line tool, built and installed as `wherry`
# SPDX-License-Identifier: Apache-2.0
#
# Fetches the sources of swift-argument-parser and compiles them without Foundation, which would add 7 MB to the command.
# SwiftPM builds the command with the unmodified package.
include(FetchContent)
FetchContent_Declare(swift_argument_parser
  GIT_REPOSITORY https://github.com/apple/swift-argument-parser GIT_TAG 1.8.2 GIT_SHALLOW ON
  SOURCE_SUBDIR Sources/none) # This project has its own targets for the modules.
FetchContent_MakeAvailable(swift_argument_parser)

# wherry_argument_parser(NAME [SOURCE...]): a module of swift-argument-parser, without the file that imports Foundation.
function(wherry_argument_parser name)
  file(GLOB_RECURSE sources ${swift_argument_parser_SOURCE_DIR}/Sources/${name}/*.swift)
  list(FILTER sources EXCLUDE REGEX "/Foundation\\.swift$")
  add_library(${name} STATIC ${sources} ${ARGN})
  set_target_properties(${name} PROPERTIES Swift_MODULE_NAME ${name})
  target_include_directories(${name} PUBLIC ${CMAKE_Swift_MODULE_DIRECTORY})
  set(WHERRY_WARNINGS_AS_ERRORS OFF)
  wherry_swift_options(${name})
  target_compile_options(${name} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-Osize>" -suppress-warnings)
endfunction()
wherry_argument_parser(ArgumentParserToolInfo)
wherry_argument_parser(ArgumentParser ${CMAKE_CURRENT_LIST_DIR}/ArgumentParserFoundation.swift)
target_link_libraries(ArgumentParser PUBLIC ArgumentParserToolInfo)

wherry_c_module(CArguments)
wherry_swift_module(WherryAsync SMALL WherryBackground WherryModels WherryCore)
wherry_swift_module(WherryCLI SMALL WherryAsync WherryImaging WherrySystem CArguments ArgumentParser)
set(wherry_link_command ${wherry_link_static}
  "LINKER:-u,__wrap__dispatch_workq_worker_register,-u,__wrap__dispatch_workq_worker_unregister" # runtime.c
  "LINKER:--wrap=_dispatch_workq_worker_register,--wrap=_dispatch_workq_worker_unregister")
add_executable(wherry-cli Sources/wherry-cli/main.swift)
set_target_properties(wherry-cli PROPERTIES Swift_MODULE_NAME wherry_cli OUTPUT_NAME wherry)
wherry_swift_options(wherry-cli)
target_link_libraries(wherry-cli PRIVATE WherryCLI WherryRuntime)
target_link_options(wherry-cli PRIVATE ${wherry_link_command})

# The program generates its completions. scripts/make-manual generates the manual pages, and a test compares them.
set(cli_files ${PROJECT_BINARY_DIR}/completions)
add_custom_command(
  OUTPUT ${cli_files}/wherry.bash ${cli_files}/wherry.zsh ${cli_files}/wherry.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${cli_files}
  COMMAND wherry-cli --generate-completion-script bash > ${cli_files}/wherry.bash
  COMMAND wherry-cli --generate-completion-script zsh > ${cli_files}/wherry.zsh
  COMMAND wherry-cli --generate-completion-script fish > ${cli_files}/wherry.fish
  DEPENDS wherry-cli VERBATIM COMMENT "Writing completions")
add_custom_target(wherry_cli_files ALL DEPENDS ${cli_files}/wherry.bash)

if(NOT WHERRY_INSTALL)
  return()
endif()
install(TARGETS wherry-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
file(GLOB manuals CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.1)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manuals})
file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/man1)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man1)
foreach(manual IN LISTS manuals)
  cmake_path(GET manual FILENAME page)
  execute_process(COMMAND gzip -9nc ${manual}
    OUTPUT_FILE ${PROJECT_BINARY_DIR}/man1/${page}.gz COMMAND_ERROR_IS_FATAL ANY)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT command)
install(FILES ${cli_files}/wherry.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME wherry COMPONENT command)
install(FILES ${cli_files}/wherry.zsh
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _wherry COMPONENT command)
install(FILES ${cli_files}/wherry.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  COMPONENT command)
