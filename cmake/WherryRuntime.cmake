# Wherry: the static Swift runtime, with copies from which the linker drops what nothing uses
# SPDX-License-Identifier: Apache-2.0
#
# Defines wherry_runtime, the runtime's folder, and the target WherryRuntime. Targets that link WherryRuntime get the copies
# instead of the toolchain's libraries, which swiftc adds later.
execute_process(COMMAND ${CMAKE_Swift_COMPILER} -print-target-info OUTPUT_VARIABLE info COMMAND_ERROR_IS_FATAL ANY)
string(JSON wherry_runtime GET ${info} paths runtimeResourcePath)
string(APPEND wherry_runtime _static/linux)

add_library(WherryRuntime INTERFACE)
set(wherry_runtime_libraries "")
add_executable(wherry-discardable EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/discardable.c)
foreach(name swiftCore swiftGlibc swiftSynchronization swift_Builtin_float swift_Concurrency)
  set(library ${wherry_runtime}/lib${name}.a)
  if(EXISTS ${library} AND NOT CMAKE_CROSSCOMPILING) # The program runs during the build.
    set(copy ${PROJECT_BINARY_DIR}/static/swift/lib${name}.a)
    add_custom_command(OUTPUT ${copy}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/static/swift
      COMMAND wherry-discardable ${library} ${copy}
      DEPENDS wherry-discardable ${library} VERBATIM COMMENT "Copying lib${name}.a")
    set(library ${copy})
  endif()
  list(APPEND wherry_runtime_libraries ${library})
endforeach()
add_custom_target(wherry_runtime_copies DEPENDS ${wherry_runtime_libraries})
add_dependencies(WherryRuntime wherry_runtime_copies)
target_link_libraries(WherryRuntime INTERFACE ${wherry_runtime_libraries})
