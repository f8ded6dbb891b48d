# Wherry: the command line of the test server.
# SPDX-License-Identifier: Apache-2.0
"""``python3 -m wherry_testserver --port 0`` prints ``{"port": N, "pid": ...}`` and serves.

It exits at EOF of its standard input (a pipe), when the given parent process has ended, after
``--idle-exit`` seconds without an event, after ``--max-life`` seconds, and on SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import ssl
import stat
import sys
import tempfile
import threading
import time
from typing import Dict

from . import certs
from .server import Server


def main() -> int:
    parser = argparse.ArgumentParser(prog="wherry_testserver", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 (default) takes a free one")
    parser.add_argument("--announce", help="also write the JSON line to this file, atomically")
    parser.add_argument("--idle-exit", type=float, default=600, help="seconds; 0 is never")
    parser.add_argument("--max-life", type=float, default=7200, help="seconds; 0 is unbounded")
    parser.add_argument("--parent-pid", type=int, default=0, help="leave when this process is gone")
    parser.add_argument("--tls-cert", help="PEM chain; serves HTTPS too, on tls_port")
    parser.add_argument("--tls-key")
    parser.add_argument("--tls-port", type=int, default=0)
    parser.add_argument("--tls-client-ca", help="PEM; demand a client certificate of this CA")
    parser.add_argument("--tls-make", choices=certs.KINDS, help="make certificates of that kind")
    parser.add_argument("--tls-demand-client", action="store_true", help="with --tls-make")
    parser.add_argument("--save-dir", help="folder for /upload-photo")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wherry-test-") as folder:
        told: Dict[str, object] = {}
        if options.tls_make:
            paths = certs.make(folder, options.tls_make)
            told.update(paths)
            options.tls_cert, options.tls_key = paths["cert"], paths["key"]
            if options.tls_demand_client:
                options.tls_client_ca = paths["ca"]
        try:
            asyncio.run(serve(options, told, f"{folder}/socket"))
        except KeyboardInterrupt:
            return 130
    return 0


async def serve(options: argparse.Namespace, told: Dict[str, object], unix: str) -> None:
    """Serves until there is a reason to exit. Adds the ports to the announcement."""
    loop = asyncio.get_running_loop()
    leave = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, leave.set)
    watch_stdin(loop, leave)
    server = Server(options.save_dir)
    told["pid"] = os.getpid()
    told["port"] = await server.listen(options.host, options.port, None)
    told["unix"] = await server.listen_unix(unix)
    if options.tls_cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.tls_cert, options.tls_key)
        if options.tls_client_ca:
            tls.load_verify_locations(options.tls_client_ca)
            tls.verify_mode = ssl.CERT_REQUIRED
        told["tls_port"] = await server.listen(options.host, options.tls_port, tls)
    announce(options.announce, told)
    begun = time.monotonic()
    while not leave.is_set():
        try:
            await asyncio.wait_for(leave.wait(), 1)
        except asyncio.TimeoutError:
            now = time.monotonic()
            idle = now - server.last_event if not server.wires else 0
            if options.idle_exit and idle > options.idle_exit:
                break
            if options.max_life and now - begun > options.max_life:
                break
            if options.parent_pid and not alive(options.parent_pid):
                break
    await server.close()


def announce(path: str, line: object) -> None:
    """Announces the ports to the parent process."""
    text = json.dumps(line)
    if path:
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(path + ".new", path)
    print(text, flush=True)


def watch_stdin(loop: asyncio.AbstractEventLoop, leave: asyncio.Event) -> None:
    """Sets ``leave`` at EOF of standard input, if that is a pipe or a socket."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return

    def read() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            pass
        try:
            loop.call_soon_threadsafe(leave.set)
        except RuntimeError:
            pass  # The loop has already ended.

    threading.Thread(target=read, daemon=True).start()


def alive(pid: int) -> bool:
    """Returns whether a process with this ID exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


if __name__ == "__main__":
    sys.exit(main())
