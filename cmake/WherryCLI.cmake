# Wherry: the command line tool, built by SwiftPM and installed as `wherry`
# SPDX-License-Identifier: Apache-2.0
#
# The target always runs SwiftPM, which rebuilds what has changed. The first build fetches
# swift-argument-parser.
find_program(WHERRY_SWIFT swift REQUIRED)
set(cli_build ${PROJECT_BINARY_DIR}/cli)
set(cli_program ${cli_build}/release/wherry-cli)
set(cli_files ${cli_build}/share)

add_custom_target(wherry_cli ALL
  COMMAND ${CMAKE_COMMAND} -E env WHERRY_COMMAND=1 ${WHERRY_SWIFT} build -c release --product wherry-cli
    --package-path ${PROJECT_SOURCE_DIR} --scratch-path ${cli_build} -Xswiftc -static-stdlib
    -Xswiftc -Osize -Xswiftc -Xfrontend -Xswiftc -function-sections -Xlinker --gc-sections
  BYPRODUCTS ${cli_program}
  USES_TERMINAL VERBATIM
  COMMENT "Building the command line tool with SwiftPM")

# The program generates its completions. scripts/make-manual generates the manual page, and a test
# compares it.
add_custom_command(
  OUTPUT ${cli_files}/wherry.bash ${cli_files}/wherry.zsh ${cli_files}/wherry.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${cli_files}
  COMMAND ${cli_program} --generate-completion-script bash > ${cli_files}/wherry.bash
  COMMAND ${cli_program} --generate-completion-script zsh > ${cli_files}/wherry.zsh
  COMMAND ${cli_program} --generate-completion-script fish > ${cli_files}/wherry.fish
  DEPENDS wherry_cli ${cli_program}
  VERBATIM
  COMMENT "Writing completions")
add_custom_target(wherry_cli_files ALL DEPENDS ${cli_files}/wherry.bash)

install(PROGRAMS ${cli_program} DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME wherry COMPONENT command)
# `cmake --install --strip` strips targets of CMake only.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/wherry\"
    COMMAND_ERROR_IS_FATAL ANY)
endif()" COMPONENT command)
execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/docs/man/wherry.1
  OUTPUT_FILE ${PROJECT_BINARY_DIR}/wherry.1.gz COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${PROJECT_BINARY_DIR}/wherry.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
install(FILES ${cli_files}/wherry.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME wherry COMPONENT command)
install(FILES ${cli_files}/wherry.zsh
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _wherry COMPONENT command)
install(FILES ${cli_files}/wherry.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  COMPONENT command)
