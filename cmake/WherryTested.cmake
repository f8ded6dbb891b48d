# Wherry: the C tests for an existing library, such as one that SwiftPM built
# SPDX-License-Identifier: Apache-2.0
#
# If the library was built with a sanitizer, set WHERRY_SANITIZE to that sanitizer.
cmake_path(GET WHERRY_TESTED_LIBRARY PARENT_PATH wherry_tested_folder)
add_library(wherry SHARED IMPORTED GLOBAL)
set_target_properties(wherry PROPERTIES
  IMPORTED_LOCATION ${WHERRY_TESTED_LIBRARY}
  IMPORTED_NO_SONAME ON
  INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include)
add_executable(wherry-agent IMPORTED GLOBAL)
set_target_properties(wherry-agent PROPERTIES
  IMPORTED_LOCATION ${wherry_tested_folder}/wherry-agent)

if(WHERRY_SANITIZE)
  add_compile_options(-fsanitize=${WHERRY_SANITIZE} -fno-omit-frame-pointer)
endif()
enable_testing()
add_subdirectory(Examples/c)
add_subdirectory(Tests/C)
