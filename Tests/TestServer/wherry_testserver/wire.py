# Wherry: a TCP connection of the test server, with full control over its bytes.
# SPDX-License-Identifier: Apache-2.0
"""Reading, writing, pacing, and the ways to end a connection: FIN, RST and drop."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import termios
from typing import Callable, Optional

HIGH_WATER = 512 * 1024
HEAD_LIMIT = 4 * 1024 * 1024


class Gone(ConnectionError):
    """The peer has disconnected, so the current response ends."""


class Wire(asyncio.Protocol):
    """A connection with a byte buffer for input and a paced transport for output."""

    def __init__(self, accept: Callable[[Wire], None], tls: bool) -> None:
        self.accept = accept
        self.tls = tls
        self.loop = asyncio.get_running_loop()
        self.buffer = bytearray()
        self.eof = False
        self.lost = False
        self.holding = False
        self.transport: asyncio.Transport
        self._reader: Optional[asyncio.Future[None]] = None
        self._writer: Optional[asyncio.Future[None]] = None
        self._leaving: Optional[asyncio.Future[None]] = None
        self._writable = True
        self._reading = True

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.accept(self)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if len(self.buffer) >= HIGH_WATER and not self.tls:
            self._stop_reading()
        self._wake(self._reader)

    def eof_received(self) -> bool:
        self.eof = True
        self._wake(self._reader)
        self._wake(self._leaving)
        return not self.tls

    def connection_lost(self, error: Optional[Exception]) -> None:
        self.eof = True
        self.lost = True
        for waiter in (self._reader, self._writer, self._leaving):
            self._wake(waiter)

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._wake(self._writer)

    @staticmethod
    def _wake(waiter: Optional[asyncio.Future[None]]) -> None:
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # Reading

    def _stop_reading(self) -> None:
        if self._reading and not self.lost:
            self._reading = False
            self.transport.pause_reading()

    def hold(self) -> None:
        """Stops reading from the socket, so that the sender's window fills up."""
        self.holding = True
        self._stop_reading()

    def unhold(self) -> None:
        """Resumes reading."""
        self.holding = False
        if not self._reading and not self.lost and not self.transport.is_closing():
            self._reading = True
            self.transport.resume_reading()

    async def fill(self) -> bool:
        """Waits for more bytes. Returns False if no more will arrive."""
        if self.eof:
            return False
        if not self._reading and not self.holding:
            self.unhold()
        before = len(self.buffer)
        while len(self.buffer) == before and not self.eof:
            self._reader = self.loop.create_future()
            await self._reader
        return len(self.buffer) > before

    async def head(self) -> Optional[bytes]:
        """Returns the next headers up to the empty line, or None if the peer has disconnected."""
        start = 0
        while True:
            end = self.buffer.find(b"\r\n\r\n", start)
            if end >= 0:
                head = bytes(self.buffer[:end])
                del self.buffer[: end + 4]
                return head
            start = max(0, len(self.buffer) - 3)
            if len(self.buffer) > HEAD_LIMIT or not await self.fill():
                return None

    async def line(self) -> bytes:
        """Returns a line without its CRLF."""
        while True:
            end = self.buffer.find(b"\r\n")
            if end >= 0:
                line = bytes(self.buffer[:end])
                del self.buffer[: end + 2]
                return line
            if len(self.buffer) > HEAD_LIMIT or not await self.fill():
                raise Gone("the peer left inside a line")

    async def some(self, most: int) -> bytes:
        """Returns between 1 and ``most`` bytes."""
        if not self.buffer and not await self.fill():
            raise Gone("the peer left inside a body")
        piece = bytes(self.buffer[:most])
        del self.buffer[:most]
        return piece

    # Writing

    async def write(self, data: bytes) -> None:
        """Writes data, and waits while the peer's window and the buffer are full."""
        if self.lost:
            raise Gone("the peer left")
        self.transport.write(data)
        if self.transport.is_closing():
            # A write has failed. Yield to the loop, so that it can report the failure during a long
            # body.
            await asyncio.sleep(0)
        while not self._writable and not self.lost:
            self._writer = self.loop.create_future()
            await self._writer

    async def flush(self) -> None:
        """Waits until the peer's kernel has all bytes, so that a later RST cannot discard them."""
        sock = self.transport.get_extra_info("socket")
        lower = getattr(getattr(self.transport, "_ssl_protocol", None), "_transport", None)
        deadline = self.loop.time() + 600
        while not self.lost and self.loop.time() < deadline:
            queued = self.transport.get_write_buffer_size()
            if lower is not None:
                queued += lower.get_write_buffer_size()
            if not queued:
                kernel = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0\0\0\0")
                if struct.unpack("i", kernel)[0] == 0:
                    return
            await asyncio.sleep(0.001)

    async def sleep(self, seconds: float) -> None:
        """Sleeps. Raises `Gone` as soon as the peer disconnects."""
        if self.eof:
            raise Gone("the peer left")
        if seconds <= 0:
            return
        self._leaving = self.loop.create_future()
        timer = self.loop.call_later(seconds, self._wake, self._leaving)
        try:
            await self._leaving
        finally:
            timer.cancel()
            self._leaving = None
        if self.eof:
            raise Gone("the peer left")

    def nudge(self) -> None:
        """Ends a `sleep` early."""
        self._wake(self._leaving)

    # Endings

    async def fin(self) -> None:
        """Ends the connection normally: all bytes, then FIN (with close_notify over TLS)."""
        if not self.lost:
            self.transport.close()

    async def half_close(self, seconds: float) -> None:
        """Sends FIN now, then discards input, so that an RST does not discard the response."""
        if self.lost or self.tls:
            await self.fin()
            return
        await self.flush()
        if not self.lost and self.transport.can_write_eof():
            self.transport.write_eof()
        self.unhold()
        deadline = self.loop.time() + seconds
        while not self.eof and self.loop.time() < deadline:
            self.buffer.clear()
            try:
                await asyncio.wait_for(self.fill(), max(0.001, deadline - self.loop.time()))
            except asyncio.TimeoutError:
                break
        await self.fin()

    async def rst(self) -> None:
        """Ends the connection with RST, after all bytes have arrived."""
        await self.flush()
        if self.lost:
            return
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    async def drop(self) -> None:
        """Closes the socket without close_notify: TLS truncation."""
        await self.flush()
        if not self.lost:
            self.transport.abort()
