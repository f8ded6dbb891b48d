# Wherry: the test server's listeners, connections and lifetime.
# SPDX-License-Identifier: Apache-2.0
"""Accepts connections and passes each request to its route."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import time
import traceback
from typing import Any, Dict, List, Optional, Set

from . import routes
from .exchange import Exchange, Hangup, http_date
from .record import Record
from .request import BadRequest, Request
from .wire import Gone, Wire


class Gates:
    """Named gates at which responses wait until a test opens them."""

    def __init__(self) -> None:
        self.opened: Set[str] = set()
        self._waiting: Dict[str, Set[Wire]] = {}

    async def wait(self, name: str, wire: Wire) -> None:
        """Waits for a gate. Raises `Gone` if the peer disconnects first."""
        waiting = self._waiting.setdefault(name, set())
        waiting.add(wire)
        try:
            for _ in range(60):
                if name in self.opened:
                    return
                await wire.sleep(10)
        finally:
            waiting.discard(wire)
        raise Hangup("fin")

    def open(self, name: str) -> int:
        """Opens a gate permanently. Returns the number of waiters."""
        self.opened.add(name)
        waiting = self._waiting.pop(name, set())
        for wire in waiting:
            wire.nudge()
        return len(waiting)


class Server:
    """The complete server. It runs in one event loop."""

    def __init__(self, save_dir: Optional[str] = None) -> None:
        self.save_dir = save_dir
        self.record = Record()
        self.gates = Gates()
        self.scripts: Dict[str, List[Any]] = {}
        self.buckets: Dict[str, float] = {}
        self.uses: Dict[str, int] = {}
        self.store: Dict[str, Any] = {}
        self.wires: Dict[int, Wire] = {}
        self.last_event = time.monotonic()
        self._tasks: Set[asyncio.Task[None]] = set()
        self._next = 0
        self._date = (0, "")
        self._servers: List[asyncio.AbstractServer] = []

    async def listen(self, host: str, port: int, tls: Optional[ssl.SSLContext]) -> int:
        """Starts listening and returns the port."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self._complain(context))
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        server = await loop.create_server(lambda: Wire(self._accept, tls is not None), sock=sock, ssl=tls, backlog=4096)
        self._servers.append(server)
        return int(sock.getsockname()[1])

    async def listen_unix(self, path: str) -> str:
        """Starts listening on a Unix socket and returns its path."""
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(lambda: Wire(self._accept, False), path, backlog=64)
        self._servers.append(server)
        return path

    async def close(self) -> None:
        """Stops listening and drops all connections."""
        for server in self._servers:
            server.close()
        for wire in list(self.wires.values()):
            wire.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def date(self) -> str:
        """Returns the Date header, updated once a second."""
        now = int(time.time())
        if self._date[0] != now:
            self._date = (now, http_date(now))
        return self._date[1]

    @staticmethod
    def _complain(context: Dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, (OSError, ssl.SSLError)):
            return
        print("wherry_testserver:", context.get("message"), repr(error), file=sys.stderr)

    def _accept(self, wire: Wire) -> None:
        self._next += 1
        task = asyncio.ensure_future(self._serve(wire, self._next))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, wire: Wire, number: int) -> None:
        self.wires[number] = wire
        self.record.connected(number)
        index = 0
        how = "fin"
        try:
            while True:
                head = await wire.head()
                if head is None:
                    break
                self.last_event = time.monotonic()
                index += 1
                try:
                    request = Request(head)
                except BadRequest as error:
                    await wire.write(_refusal(error))
                    break
                if not await self._answer(wire, number, index, request):
                    break
        except Hangup as hangup:
            how = hangup.how
        except (Gone, OSError):
            how = "rst"
        finally:
            self.wires.pop(number, None)
            try:
                await {"rst": wire.rst, "drop": wire.drop}.get(how, wire.fin)()
            except OSError:
                wire.transport.abort()
            self.record.disconnected(number)
            self.last_event = time.monotonic()

    async def _answer(self, wire: Wire, number: int, index: int, request: Request) -> bool:
        """Processes a request. Returns False if the connection must be closed."""
        entry = self.record.begin(number, index, request)
        exchange = Exchange(self, wire, request, entry)
        outcome = "failed"
        try:
            await routes.dispatch(exchange)
            outcome = "answered"
            return await exchange.finish()
        except BadRequest as error:
            outcome = "bad_request"
            if not exchange.answered:
                await wire.write(_refusal(error))
            return False
        except Hangup as hangup:
            outcome = hangup.how
            raise
        except (Gone, OSError):
            outcome = "gone"
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except Exception:
            traceback.print_exc()
            if not exchange.answered:
                await wire.write(_refusal(BadRequest(traceback.format_exc()), 500))
            return False
        finally:
            self.record.end(entry, outcome)


def _refusal(error: BadRequest, status: int = 400) -> bytes:
    body = f"test server: {error}\n".encode("utf-8", "replace")
    head = f"HTTP/1.1 {status} Refused\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
