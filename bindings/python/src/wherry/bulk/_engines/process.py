# Wherry: the worker processes of the local engine
# SPDX-License-Identifier: Apache-2.0
"""`WorkerProcess` starts ``wherry.bulk._engines.worker``; `pickled` encodes the job for it."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any, Optional

from ..._errors import ArgumentError
from .._items import Shard
from .._steps import Map
from .._work import Job


class WorkerProcess:
    """A worker process, its current shard, and the thread that receives its messages."""

    def __init__(self, job: bytes) -> None:
        own, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "wherry.bulk._engines.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )  # fmt: skip
        self.connection = Connection(own.detach())
        self.shard: Optional[Shard] = None
        self.thread: Optional[threading.Thread] = None
        with contextlib.suppress(OSError):  # The worker has ended already. LocalEngine._started reports that.
            self.connection.send_bytes(job)

    def give(self, shard: Shard) -> None:
        self.shard = shard
        with contextlib.suppress(OSError):  # The thread notices the end of the worker.
            self.connection.send(("shard", shard))

    def hang_up(self) -> None:
        """Closes the connection, so that the process exits."""
        with contextlib.suppress(OSError):
            with socket.socket(fileno=os.dup(self.connection.fileno())) as twin:
                twin.shutdown(socket.SHUT_RDWR)
        if self.thread is not None:
            self.thread.join()
        self.connection.close()

    def end(self, until: float) -> str:
        """Waits for the process until a time, ends it if necessary, and returns how it ended."""
        for signal in (None, self.process.terminate, self.process.kill):
            if signal is not None:
                signal()
            try:
                self.process.wait(max(0.1, until - time.monotonic()))
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            self.process.wait()
        code = self.process.returncode
        return f"the worker was killed by signal {-code}" if code < 0 else f"the worker exited with status {code}"


def _has_descriptor(stream: Any) -> bool:
    try:
        return bool(stream.fileno() >= 0)
    except (AttributeError, OSError, ValueError):  # such as the streams of notebooks
        return False


def pickled(job: Job) -> bytes:
    """Returns the job for `WorkerProcess`. Raises ArgumentError if workers cannot import a function of the job."""
    try:
        import cloudpickle

        found: bytes = cloudpickle.dumps(job)
        return found
    except ImportError:
        pass
    functions = [step.function for step in job.steps if isinstance(step, Map) and callable(step.function)]
    if all(getattr(function, "__module__", None) != "__main__" for function in functions):
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
            return pickle.dumps(job)
    raise ArgumentError(
        f"workers cannot find {', '.join(getattr(each, '__qualname__', repr(each)) for each in functions)} of Map(). Put the "
        "function into a module, or install cloudpickle.",
        "bad_argument",
    )
