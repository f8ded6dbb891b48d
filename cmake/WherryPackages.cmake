# Wherry: Debian packages, which scripts/deb builds with CPack and tests
# SPDX-License-Identifier: Apache-2.0
#
# Each component is a package: libwherry0, libwherry0-dbgsym, libwherry-dev, wherry, and python3-wherry.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME wherry)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# Set WHERRY_MAINTAINER to your name and address before you publish packages.
set(WHERRY_MAINTAINER "Wherry <wherry@localhost>" CACHE STRING "The maintainer of the Debian packages")
set(CPACK_PACKAGE_CONTACT ${WHERRY_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # Each package has its own.
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=") # newer versions are compatible: docs/abi.md
set(CPACK_COMPONENTS_ALL runtime development python)
if(WHERRY_BUILD_CLI)
  list(APPEND CPACK_COMPONENTS_ALL command)
endif()

if(WHERRY_DEBUG_SYMBOLS)
  list(APPEND CPACK_COMPONENTS_ALL debug)
endif()

get_target_property(wherry_soversion wherry SOVERSION)
set(wherry_version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(about "Wherry sends HTTP requests with caching, compresses and uploads images, and\nresumes interrupted downloads.")

# wherry_package(COMPONENT NAME SECTION SUMMARY TEXT): describes a package, and installs its copyright and changelog.
function(wherry_package component name section summary text)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_COMPONENT_${key}_DESCRIPTION "${summary}\n${about}\n\n${text}" PARENT_SCOPE)
  set(docs ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian-copyright DESTINATION ${docs} RENAME copyright
    COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/changelog.Debian.gz DESTINATION ${docs} COMPONENT ${component})
endfunction()

# TIMESTAMP uses SOURCE_DATE_EPOCH, if it is set.
string(TIMESTAMP wherry_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${PROJECT_BINARY_DIR}/changelog.Debian
"wherry (${wherry_version}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${wherry_date}
")
execute_process(COMMAND gzip -9nkf changelog.Debian
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} COMMAND_ERROR_IS_FATAL ANY)

wherry_package(runtime libwherry${wherry_soversion} libs "HTTP client library with resumable downloads"
  "This package contains the shared library and the agent for background jobs.")
# dpkg-shlibdeps adds a dependency on an older libcurl, which the library refuses.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libcurl4 (>= 7.88)")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "libwebp7, libheif1, libgif7") # loaded when an image needs them
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)

if(WHERRY_DEBUG_SYMBOLS)
  # CPack warns that the symbols have no soname, which they do not need.
  wherry_package(debug libwherry${wherry_soversion}-dbgsym debug "symbols for libwherry${wherry_soversion}"
    "This package contains the debug symbols of the library and the agent.")
  set(CPACK_DEBIAN_DEBUG_PACKAGE_DEPENDS "libwherry${wherry_soversion} (= ${wherry_version})")
  set(CPACK_DEBIAN_DEBUG_PACKAGE_SHLIBDEPS OFF)
endif()

wherry_package(development libwherry-dev libdevel "HTTP client library with resumable downloads (headers)"
  "This package contains the C header and the files for CMake and pkg-config.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libwherry${wherry_soversion} (= ${wherry_version})")

wherry_package(python python3-wherry python "HTTP client library with resumable downloads (Python 3)"
  "This package contains the Python package.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
  "python3 (>= 3.9), libwherry${wherry_soversion} (= ${wherry_version})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/cmake/debian-python/postinst ${PROJECT_SOURCE_DIR}/cmake/debian-python/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(wherry_python lib/python3/dist-packages)
install(DIRECTORY bindings/python/src/wherry DESTINATION ${wherry_python} COMPONENT python
  PATTERN __pycache__ EXCLUDE PATTERN _lib EXCLUDE)
file(WRITE ${PROJECT_BINARY_DIR}/METADATA "Metadata-Version: 2.1\nName: wherry\nVersion: ${PROJECT_VERSION}\n")
install(FILES ${PROJECT_BINARY_DIR}/METADATA
  DESTINATION ${wherry_python}/wherry-${PROJECT_VERSION}.dist-info COMPONENT python)

wherry_package(command wherry web "HTTP requests, image uploads, and resumable downloads"
  "This package contains the wherry command.")
# The agent runs background downloads.
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libwherry${wherry_soversion} (= ${wherry_version})")

include(CPack)
