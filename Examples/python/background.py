# Wherry: a download that continues after this program exits
# SPDX-License-Identifier: Apache-2.0
"""A download that continues after this program exits.

python3 background.py start https://example.org/big.iso big.iso
python3 background.py list
python3 background.py wait JOB
"""

import os
import sys
from typing import Callable, Dict, List, Tuple

import wherry


def start(session: wherry.BackgroundSession, url: str, path: str) -> int:
    # guide: begin start
    job = session.download(url, os.path.abspath(path))
    print(job)  # the job id, for any later program
    # guide: end start
    return 0


def show(session: wherry.BackgroundSession) -> int:
    # guide: begin list
    for job in session.jobs():
        print(job.id, job.state, job.done_bytes, job.path)
    # guide: end list
    return 0


def wait(session: wherry.BackgroundSession, which: str) -> int:
    # guide: begin wait
    end = session.wait(which)
    session.acknowledge(end)  # succeeds for exactly one program
    if end.error is not None:
        print(end.error, file=sys.stderr)
        return 1
    print(end.path)
    # guide: end wait
    return 0


#: The function and the number of words of each command.
COMMANDS: Dict[str, Tuple[Callable[..., int], int]] = {
    "start": (start, 3), "list": (show, 1), "wait": (wait, 2),
}  # fmt: skip


def main(arguments: List[str]) -> int:
    if not arguments or arguments[0] not in COMMANDS or len(arguments) != COMMANDS[arguments[0]][1]:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with wherry.BackgroundSession("files") as session:
            return COMMANDS[arguments[0]][0](session, *arguments[1:])
    except wherry.WherryError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
