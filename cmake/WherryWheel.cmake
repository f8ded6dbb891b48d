# Wherry: the files of the Python wheel in wheel/, which scripts/wheel uses
# SPDX-License-Identifier: Apache-2.0
#
# With the command, the wheel has a separate library that also contains the code of the command. A separate program would
# contain the engine and the Swift runtime again, and would add 5 MB to the wheel instead of 1 MB.
set(wherry_wheel ${PROJECT_BINARY_DIR}/wheel)
set(library wherry)
set(programs wherry-agent)
if(TARGET ArgumentParser)
  set(library wherry_wheel)
  get_target_property(soversion wherry SOVERSION)
  wherry_joined_object(wherry_command.o WherryCLI)
  set(objects ${PROJECT_BINARY_DIR}/wherry_interface.o ${PROJECT_BINARY_DIR}/wherry_command.o)
  add_library(wherry_wheel SHARED EXCLUDE_FROM_ALL Sources/WherryDylib/WherryDylib.swift)
  set_target_properties(wherry_wheel PROPERTIES Swift_MODULE_NAME wherry_wheel
    OUTPUT_NAME wherry LIBRARY_OUTPUT_DIRECTORY ${wherry_wheel}/unstripped
    VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
    LINK_DEPENDS "${wherry_map};${wherry_hot_functions};${objects}")
  wherry_swift_options(wherry_wheel)
  list(FILTER wherry_link_command EXCLUDE REGEX "pack-relative-relocs|static/gcc_eh$") # need glibc 2.36 and 2.35
  target_link_libraries(wherry_wheel PRIVATE WherryABI WherryCLI WherryRuntime)
  list(TRANSFORM objects PREPEND "LINKER:")
  target_link_options(wherry_wheel PRIVATE ${wherry_link_command} ${objects} "LINKER:--version-script=${wherry_map}"
    "LINKER:-z,nodelete" "LINKER:-z,relro" "LINKER:-z,now" "LINKER:--no-undefined")
  add_dependencies(wherry_wheel wherry_interface.o_joined wherry_command.o_joined)
  # The program `wherry` calls the library.
  add_executable(wherry_wheel_command EXCLUDE_FROM_ALL bindings/python/command.c)
  set_target_properties(wherry_wheel_command PROPERTIES
    OUTPUT_NAME wherry RUNTIME_OUTPUT_DIRECTORY ${wherry_wheel}/unstripped BUILD_RPATH_USE_ORIGIN ON)
  target_link_libraries(wherry_wheel_command PRIVATE wherry_wheel)
  list(APPEND programs wherry_wheel_command)
endif()

set(strip COMMAND ${CMAKE_COMMAND} -E make_directory ${wherry_wheel}
  COMMAND ${CMAKE_STRIP} -o ${wherry_wheel}/libwherry.so.0 $<TARGET_FILE:${library}>)
foreach(program IN LISTS programs)
  list(APPEND strip COMMAND ${CMAKE_STRIP} -o ${wherry_wheel}/$<TARGET_FILE_NAME:${program}> $<TARGET_FILE:${program}>)
endforeach()
add_custom_target(wheel_files ALL ${strip} DEPENDS ${library} ${programs} VERBATIM)
