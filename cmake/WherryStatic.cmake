# Wherry: libwherry.a, which contains the Swift runtime
# SPDX-License-Identifier: Apache-2.0
#
# Joins all modules and the runtime into one object file in which only the C interface is global. Its Swift runtime
# therefore does not conflict with another one in the program.
find_program(WHERRY_OBJCOPY llvm-objcopy HINTS ${wherry_runtime}/../../../bin REQUIRED)

set(modules CLinux CImageCodecs WherrySystem WherryTransport WherryImaging WherryHTTP WherryCache WherryDownloads
  WherryRequests WherryReachability WherryLogging WherryCore WherryBackground WherryModels)
list(TRANSFORM modules REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
list(TRANSFORM wherry_wrapped REPLACE "(.+)" "-u;__wrap_\\1;--wrap=\\1" OUTPUT_VARIABLE wraps)
wherry_joined_object(wherry_static.o WherryABI ${wraps} -u hypotf
  --start-group ${archives} ${wherry_runtime_libraries} --end-group
  ${wherry_runtime}/${CMAKE_SYSTEM_PROCESSOR}/swiftrt.o)
add_custom_command(OUTPUT wherry_static.o APPEND DEPENDS ${wherry_runtime_libraries})
set(wherry_static_library ${PROJECT_BINARY_DIR}/libwherry.a)
add_custom_command(OUTPUT ${wherry_static_library}
  COMMAND ${WHERRY_OBJCOPY} --wildcard --keep-global-symbol=wherry_* --discard-all --strip-debug
    wherry_static.o wherry_global.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${wherry_static_library}
  COMMAND ${CMAKE_AR} rcsD ${wherry_static_library} wherry_global.o
  COMMAND ${CMAKE_COMMAND} -E rm wherry_global.o
  DEPENDS wherry_static.o ${modules} VERBATIM COMMENT "Linking static library libwherry.a")
add_custom_target(wherry_static_archive ALL DEPENDS ${wherry_static_library})

add_library(wherry_static STATIC IMPORTED GLOBAL)
add_library(wherry::wherry_static ALIAS wherry_static)
add_dependencies(wherry_static wherry_static_archive)
# The runtime is C++. --gc-sections removes what the program does not use.
set_target_properties(wherry_static PROPERTIES
  IMPORTED_LOCATION ${wherry_static_library}
  INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include
  INTERFACE_LINK_LIBRARIES "PkgConfig::CURL;PkgConfig::JPEG;PkgConfig::PNG;PkgConfig::ZLIB;stdc++;m;dl;pthread"
  INTERFACE_LINK_OPTIONS "LINKER:--gc-sections")
