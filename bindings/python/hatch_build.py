# Wherry: puts the native library into the wheel, and its sources into the sdist
# SPDX-License-Identifier: Apache-2.0
"""A hook of hatchling. docs/decisions/python-wheels.md has the reasons."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = os.path.dirname(os.path.abspath(__file__))
#: In an sdist, the sources of the library are next to this file. In a checkout, they are at its top.
IS_SDIST = os.path.exists(os.path.join(HERE, "CMakeLists.txt"))
SOURCES = HERE if IS_SDIST else os.path.dirname(os.path.dirname(HERE))
#: What the hook compiles. A checkout's own build is in `build`.
BUILD = os.path.join(SOURCES, "build-python")
#: What CMake needs to build the library.
NATIVE = ("CMakeLists.txt", "Sources", "include", "cmake", "bindings/c", "scripts/make-man3")
#: Libraries that the build finds with pkg-config, and their Debian packages.
LIBRARIES = {
    "libcurl >= 7.88": "libcurl4-openssl-dev",
    "libjpeg": "libjpeg-dev",
    "libpng": "libpng-dev",
    "zlib": "zlib1g-dev",
}


def built_library() -> str | None:
    """Returns the path of an existing library for the wheel, or None if the hook must compile it.

    It is what WHERRY_LIBRARY names, or else what CMake has built in the checkout. WHERRY_LIBRARY="" makes a wheel without
    the library, which uses the installed one.
    """
    path = os.path.join(SOURCES, "build", "libwherry.so.0")
    return os.environ.get("WHERRY_LIBRARY", path if os.path.isfile(path) else None)


def missing() -> list[str]:
    """Returns what the build needs and does not find, each with its remedy."""
    found = []
    if shutil.which("swiftc") is None:
        found.append("Swift 6.2 or newer in PATH (https://swift.org/install)")
    packages = {"cmake": "cmake", "ninja": "ninja-build", "pkg-config": "pkg-config", "cc": "gcc"}
    absent = {tool: package for tool, package in packages.items() if shutil.which(tool) is None}
    if "pkg-config" not in absent:
        for name, package in LIBRARIES.items():
            if subprocess.run(["pkg-config", "--exists", name], check=False).returncode != 0:
                absent[f"the headers of {name}"] = package
    if absent:
        found.append(f"{', '.join(absent)} (apt install {' '.join(absent.values())})")
    return found


class LibraryHook(BuildHookInterface[Any]):
    """Adds the library, wherry-agent, and the command `wherry` to a wheel, and the sources to an sdist."""

    def dependencies(self) -> list[str]:
        """Returns the build tools that PyPI has, if the library must be compiled and they are missing."""
        if self.target_name != "wheel" or built_library() is not None:
            return []
        tools = {"cmake": "cmake>=3.25", "ninja": "ninja"}
        return [requirement for tool, requirement in tools.items() if shutil.which(tool) is None]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the files are gathered."""
        if self.target_name == "sdist":
            for path in NATIVE:
                build_data["force_include"][os.path.join(SOURCES, path)] = path
        elif version != "editable" and built_library() != "":
            self._add_library(built_library() or self._compile(), build_data)

    def _add_library(self, path: str, build_data: dict[str, Any]) -> None:
        if not os.path.isfile(path):
            self.app.abort(
                f"There is no library at {os.path.abspath(path)}. Correct or unset WHERRY_LIBRARY, or build a wheel "
                "that uses the installed library with WHERRY_LIBRARY= ."
            )
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"  # ctypes: every Python 3 can use it
        files = build_data["force_include"]
        files[os.path.realpath(path)] = "wherry/_lib/libwherry.so.0"
        # Programs that look for the library, or for the agent, in their own directory.
        for name in ("wherry-agent", "wherry"):
            program = os.path.join(os.path.dirname(os.path.abspath(path)), name)
            if os.path.isfile(program):
                files[program] = f"wherry/_lib/{name}"
                if name == "wherry":
                    build_data["shared_scripts"][os.path.join(HERE, "src", "wherry", "__main__.py")] = "wherry"

    def _compile(self) -> str:
        lacks = missing()
        if lacks:
            self.app.abort(f"Wherry cannot be built from source. Install {'; and '.join(lacks)}.")
        options = ["-DWHERRY_BUILD_TESTS=OFF", "-DWHERRY_STRIP=ON"]
        for command in (
            ["cmake", "-G", "Ninja", "-S", SOURCES, "-B", BUILD, *options],
            ["cmake", "--build", BUILD, "--target", "wherry", "wherry-agent"],
        ):
            self.app.display_info(" ".join(command))
            if subprocess.run(command, check=False).returncode != 0:
                self.app.abort(f"Building the library failed: {' '.join(command)}. The output above has the reason.")
        return os.path.join(BUILD, "libwherry.so.0")
