# Wherry: a worker process of the local engine
# SPDX-License-Identifier: Apache-2.0
"""usage: python -m wherry.bulk._engines.worker DESCRIPTOR

Receives the job and then shards over the socket, and sends receipts. Exits when the driver exits.
"""

from __future__ import annotations

import asyncio
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Union

from ..._errors import WherryError
from .._coordination import Reply, Report
from .._store import Receipt
from .._work import process
from . import prepared


def main() -> None:
    """Processes shards until the connection ends."""
    connection = Connection(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the driver, which ends its workers.
    try:
        job = pickle.loads(connection.recv_bytes())
    except EOFError:
        return
    except Exception as error:
        advice = "Put the functions of Map() into a module, or install cloudpickle."
        connection.send(("failed", f"the steps cannot be imported: {type(error).__name__}: {error}. {advice}"))
        return

    # With one thread, no exchange can overtake another, even one that was cancelled.
    exchanges = ThreadPoolExecutor(1)

    def ask(worker: str, report: Report) -> Reply:
        connection.send(("exchange", (worker, report)))
        reply: Reply = connection.recv()
        return reply

    async def exchange(worker: str, report: Report) -> Reply:
        return await asyncio.get_running_loop().run_in_executor(exchanges, ask, worker, report)

    try:
        connection.send(("versions", prepared(job.steps)))
    except (ImportError, WherryError) as error:
        connection.send(("failed", getattr(error, "message", None) or str(error)))
        return
    while True:
        try:
            _, shard = connection.recv()
        except EOFError:
            return
        try:
            outcome: Union[Receipt, str] = process(job, shard, exchange)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        # After an exchange that was cancelled.
        exchanges.submit(connection.send, ("outcome", outcome)).result()


if __name__ == "__main__":
    main()
