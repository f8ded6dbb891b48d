# Wherry: configures and builds the library in BUILD, and writes it to OUTPUT
# SPDX-License-Identifier: Apache-2.0
# CMake would resolve a relative path in its own build directory.
cmake_path(ABSOLUTE_PATH OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${BUILD} -DWHERRY_BUILD_TESTS=OFF
  -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${OUTPUT} -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=${OUTPUT}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
