#!/usr/bin/env python3
# Wherry: the command `wherry` of the wheel
# SPDX-License-Identifier: Apache-2.0
"""Replaces this process with the program `wherry`, for `python -m wherry` and for the command that pip installs."""

import os
import signal
import sys


def main() -> None:
    import wherry  # from the environment, also when pip has installed this file as a command

    program = os.path.join(os.path.dirname(os.path.abspath(wherry.__file__)), "_lib", "wherry")
    os.environ.setdefault("WHERRY_PYTHON", sys.executable)  # for `wherry bulk`
    # Python ignores these signals, and a program inherits that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program, ["wherry", *sys.argv[1:]])
    except FileNotFoundError:
        sys.exit(f"wherry: this installation of the Python package contains no command: {program} does not exist")


if __name__ == "__main__":
    main()
