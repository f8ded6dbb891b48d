# Wherry: forks a process for each program, after the imports
# SPDX-License-Identifier: Apache-2.0
"""usage: exit_server.py SETUP

Runs the code SETUP, imports wherry, and then runs programs, one at a time. Each line of standard input is a
JSON object with the code of a program (`code`), its argument (`argument`), and the file for its output
(`output`). The program runs in a forked child that ends as Python does. Prints the wait status of each.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> str:
    """Serves programs. Returns the code of one in each child, and "" at the end."""
    for line in sys.stdin:
        program = json.loads(line)
        pid = os.fork()
        if pid == 0:
            target = os.open(program["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            for descriptor in (1, 2):
                os.dup2(target, descriptor)
            os.close(target)
            sys.argv = ["", program["argument"]]
            return str(program["code"])
        print(os.waitpid(pid, 0)[1], flush=True)
    return ""


exec(sys.argv[1], {"__name__": "setup"})
import wherry  # noqa: E402, F401

exec(main(), {"__name__": "__main__"})
