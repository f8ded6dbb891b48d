# Wherry: installs the libraries, the header, the agent, and the files for CMake and pkg-config
# SPDX-License-Identifier: Apache-2.0
install(CODE [[
  set(folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
  while(NOT EXISTS "${folder}")
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
  execute_process(COMMAND test -w "${folder}" RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "No permission to write to ${folder}. Install as root, or into another folder with --prefix.")
  endif()
]] ALL_COMPONENTS)
install(TARGETS wherry-agent RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/wherry COMPONENT runtime)
set(wherry_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/wherry)
install(TARGETS wherry EXPORT wherryTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT runtime NAMELINK_COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/include/wherry.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
include(cmake/WherryCdef.cmake)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
install(EXPORT wherryTargets NAMESPACE wherry:: DESTINATION ${wherry_cmake_dir} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/bindings/c/wherryConfig.cmake.in wherryConfig.cmake
  INSTALL_DESTINATION ${wherry_cmake_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Before 1.0 the interface may change with the minor version.
write_basic_package_version_file(wherryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/wherryConfig.cmake ${PROJECT_BINARY_DIR}/wherryConfigVersion.cmake
  DESTINATION ${wherry_cmake_dir} COMPONENT development)
file(RELATIVE_PATH wherry_pc_root "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" wherry_pc_root "${wherry_pc_root}")
configure_file(${PROJECT_SOURCE_DIR}/bindings/c/wherry.pc.in wherry.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wherry.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
if(WHERRY_BUILD_STATIC)
  install(FILES ${wherry_static_library} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  configure_file(${PROJECT_SOURCE_DIR}/bindings/c/wherry-static.pc.in wherry-static.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/wherry-static.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()

# The manual pages of the C functions, generated if Python is installed.
if(Python3_Interpreter_FOUND)
  add_custom_command(OUTPUT man3/wherry.3.gz
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/make-man3 ${PROJECT_BINARY_DIR}/man3
    DEPENDS ${PROJECT_SOURCE_DIR}/include/wherry.h ${PROJECT_SOURCE_DIR}/scripts/make-man3
      ${PROJECT_SOURCE_DIR}/CHANGELOG.md VERBATIM)
  add_custom_target(wherry_man3 ALL DEPENDS man3/wherry.3.gz)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development)
endif()
