# Wherry: wherry.cdef.h, the preprocessed C header for LuaJIT's ffi.cdef, cffi, and pycparser
# SPDX-License-Identifier: Apache-2.0
#
# The build includes this file. As a script, it writes the header without a build:
#
#   cmake -D HEADER=include/wherry.h -D OUTPUT=wherry.cdef.h -P cmake/WherryCdef.cmake
#
# The result has no directives, attributes, or comments, and no declarations of system headers: parsers for foreign
# functions know bool, size_t, and the types of stdint.h.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(header ${CMAKE_CURRENT_SOURCE_DIR}/include/wherry.h)
  add_custom_command(OUTPUT wherry.cdef.h
    COMMAND ${CMAKE_COMMAND} -D COMPILER=${CMAKE_C_COMPILER} -D HEADER=${header} -D OUTPUT=wherry.cdef.h
      -P ${CMAKE_CURRENT_LIST_FILE}
    DEPENDS ${header} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
  add_custom_target(wherry_cdef ALL DEPENDS wherry.cdef.h)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wherry.cdef.h DESTINATION ${CMAKE_INSTALL_DATADIR}/wherry
    COMPONENT development)
  return()
endif()

if(NOT COMPILER)
  set(COMPILER cc)
endif()
file(READ "${HEADER}" text)
string(REGEX REPLACE "\n#(include|pragma)[^\n]*" "" text "${text}")
file(WRITE "${OUTPUT}.in" "${text}")
execute_process(COMMAND "${COMPILER}" -E -P -x c -DWHERRY_CHECKED= -
  INPUT_FILE "${OUTPUT}.in" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE "${OUTPUT}.in")
file(WRITE "${OUTPUT}" "${text}")
