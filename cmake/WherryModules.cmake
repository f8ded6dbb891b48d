# Wherry: one CMake target per target of Package.swift
# SPDX-License-Identifier: Apache-2.0

# wherry_module_map(NAME SCOPE MAP): makes module NAME importable through this module map.
function(wherry_module_map name scope map)
  target_compile_options(${name} ${scope}
    "$<$<COMPILE_LANGUAGE:Swift>:SHELL:-Xcc -fmodule-map-file=${map}>")
endfunction()

# wherry_c_module(NAME): a static library of the C files in Sources/NAME, with a module map of the headers
# in its include/, as in SwiftPM.
function(wherry_c_module name)
  set(folder ${PROJECT_SOURCE_DIR}/Sources/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.c)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/include/*.h)
  set_property(GLOBAL APPEND PROPERTY wherry_headers ${headers})
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${folder}/include)
  target_compile_options(${name} PRIVATE -Wall -Wextra -fno-omit-frame-pointer -ffunction-sections -fdata-sections
    $<$<BOOL:${WHERRY_WARNINGS_AS_ERRORS}>:-Werror>)
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
  set(text "module ${name} {\n")
  foreach(header IN LISTS headers)
    string(APPEND text "  header \"${header}\"\n")
  endforeach()
  string(APPEND text "  export *\n}\n")
  set(map ${PROJECT_BINARY_DIR}/modules/${name}/module.modulemap)
  file(CONFIGURE OUTPUT ${map} CONTENT "${text}" @ONLY)
  wherry_module_map(${name} INTERFACE ${map})
endfunction()

# wherry_system_module(NAME FOLDER [LIBRARY...]): existing headers with an existing module map.
function(wherry_system_module name folder)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
  set_property(GLOBAL APPEND PROPERTY wherry_headers ${headers})
  add_library(${name} INTERFACE)
  target_include_directories(${name} INTERFACE ${folder})
  target_link_libraries(${name} INTERFACE ${ARGN})
  wherry_module_map(${name} INTERFACE ${folder}/module.modulemap)
endfunction()

# wherry_swift_options(TARGET): sets the compiler options of Swift targets. Nothing imports _StringProcessing, because its
# code for regular expressions would add 1.4 MB to the library. Without incremental code generation, objects contain no hash
# of the random path of a temporary file, so that two builds have the same bytes. -internalize-at-link lets the linker drop
# public functions that nothing calls; the library's version script names those that it exports. With frame pointers,
# debuggers and profilers need no unwind tables.
function(wherry_swift_options name)
  target_compile_options(${name} PRIVATE
    $<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:-parse-as-library> "SHELL:-package-name wherry"
    "SHELL:-Xfrontend -disable-implicit-string-processing-module-import"
    "SHELL:-Xfrontend -disable-incremental-llvm-codegen" "SHELL:-Xcc -fno-omit-frame-pointer"
    $<$<NOT:$<CONFIG:Debug>>:-whole-module-optimization>
    "$<$<NOT:$<CONFIG:Debug>>:SHELL:-Xfrontend -function-sections>"
    "$<$<NOT:$<CONFIG:Debug>>:SHELL:-Xfrontend -internalize-at-link>"
    $<$<BOOL:${WHERRY_WARNINGS_AS_ERRORS}>:-warnings-as-errors>
    $<$<BOOL:${WHERRY_SANITIZE}>:-sanitize=${WHERRY_SANITIZE}>)
  # CMake expects these files, but swiftc does not write all of them each time. Without them, every build would compile
  # every module.
  get_target_property(module ${name} Swift_MODULE_NAME)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E touch $<TARGET_OBJECTS:${name}> ${CMAKE_Swift_MODULE_DIRECTORY}/${module}.swiftmodule
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

# wherry_swift_module(NAME [SMALL] [LIBRARY...]): a static library of the Swift files in Sources/NAME. SMALL optimizes for
# size, for modules whose speed does not matter. The small functions of the other modules can be inlined into any module.
function(wherry_swift_module name)
  cmake_parse_arguments(PARSE_ARGV 1 module "SMALL" "" "")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/Sources/${name}/*.swift)
  # An empty source file that is newer than the imported modules and headers: CMake has no other way to depend on them.
  set(imports ${module_UNPARSED_ARGUMENTS})
  list(FILTER imports INCLUDE REGEX "^Wherry")
  get_property(headers GLOBAL PROPERTY wherry_headers)
  set(newest ${PROJECT_BINARY_DIR}/modules/${name}/Imports.swift)
  add_custom_command(OUTPUT ${newest} COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/modules/${name}
    COMMAND ${CMAKE_COMMAND} -E touch ${newest} DEPENDS ${imports} ${headers} VERBATIM COMMENT "")
  add_library(${name} STATIC ${sources} ${newest})
  set_target_properties(${name} PROPERTIES Swift_MODULE_NAME ${name})
  target_include_directories(${name} PUBLIC ${CMAKE_Swift_MODULE_DIRECTORY})
  target_link_libraries(${name} PUBLIC ${module_UNPARSED_ARGUMENTS})
  wherry_swift_options(${name})
  if(module_SMALL)
    target_compile_options(${name} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-Osize>")
  else()
    target_compile_options(${name} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-cross-module-optimization>")
  endif()
endfunction()

# wherry_joined_object(OUTPUT MODULE [ARGUMENT...]): joins the objects of a module and the additional linker arguments into
# one object. A shared library cannot use the archive instead, because -static-stdlib hides the symbols of archives.
function(wherry_joined_object output module)
  file(REAL_PATH ${CMAKE_Swift_COMPILER} compiler)
  cmake_path(GET compiler PARENT_PATH tools)
  find_program(WHERRY_LLD ld.lld HINTS ${tools} REQUIRED)
  add_custom_command(OUTPUT ${output}
    COMMAND ${WHERRY_LLD} -r -o ${output} --whole-archive $<TARGET_FILE:${module}> --no-whole-archive ${ARGN}
    DEPENDS ${module} VERBATIM COMMENT "Joining objects into ${output}")
  add_custom_target(${output}_joined DEPENDS ${PROJECT_BINARY_DIR}/${output})
endfunction()
