# Wherry: puts the native library into the wheel
# SPDX-License-Identifier: Apache-2.0
"""A hook of hatchling, which builds the wheel. The library is built beforehand, by CMake."""

from __future__ import annotations

import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(HERE, os.pardir, os.pardir, "build", "libwherry.so.0")


class LibraryHook(BuildHookInterface[Any]):
    """Carries what WHERRY_LIBRARY names, else what CMake built in the checkout.

    WHERRY_LIBRARY="" makes a wheel without the library, which uses the installed one.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the files are gathered."""
        library = os.environ.get("WHERRY_LIBRARY", BUILT)
        if version == "editable" or not library:
            return
        if not os.path.isfile(library):
            raise FileNotFoundError(
                f"there is no library at {os.path.abspath(library)}: build it first (cmake -G "
                "Ninja -B build && cmake --build build), or name one in WHERRY_LIBRARY; "
                "WHERRY_LIBRARY= makes a wheel that uses the installed library"
            )
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"  # ctypes: every Python 3 can use it
        build_data["force_include"][os.path.realpath(library)] = "wherry/_lib/libwherry.so.0"
        # What carries background jobs out; it looks for the library beside itself.
        agent = os.path.join(os.path.dirname(os.path.abspath(library)), "wherry-agent")
        if os.path.isfile(agent):
            build_data["force_include"][agent] = "wherry/_lib/wherry-agent"
