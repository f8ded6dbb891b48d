# Wherry: a program that knows nothing of the checkout
# SPDX-License-Identifier: Apache-2.0
"""usage: use.py ENVIRONMENT [CERTIFICATES [--system-roots]]

Uses the package that is installed in the virtual environment: requests, an upload, downloads, a background job, and the
command, if the package contains it. CERTIFICATES is a directory with ca.pem and server.pem, for HTTPS. With --system-roots,
ca.pem is also a root certificate of the system.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.server
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import zlib
from typing import Any

import wherry

#: For each wait, in seconds. Only a failure takes that long.
PATIENCE = 60
LARGE = bytes(range(256)) * 4096


class Server(http.server.ThreadingHTTPServer):
    """Returns the requested path, LARGE, or whether the body contains a JPEG image."""

    daemon_threads = True

    def __init__(self, certificates: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self.server_port}"
        if certificates:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(os.path.join(certificates, "server.pem"))
            self.socket = context.wrap_socket(self.socket, server_side=True)
            self.url = f"https://localhost:{self.server_port}"

    def __enter__(self) -> Server:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that disconnect, such as those that reject the certificate."""


class Handler(http.server.BaseHTTPRequestHandler):
    def reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.reply(LARGE if self.path == "/large" else self.path.encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(b"JPEG" if b"\xff\xd8\xff" in body else body)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


def png(side: int) -> bytes:
    """Returns a PNG file with a gradient."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(c for x in range(side) for c in (x % 256, y % 256, 128)) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


async def fetch(url: str) -> bytes:
    async with wherry.AsyncClient(trust_env=False) as client:
        return (await client.get(url)).content


def use(url: str, folder: str) -> None:
    """Sends requests, uploads an image, and downloads a file in this process and in the agent."""
    picture = os.path.join(folder, "picture.png")
    with open(picture, "wb") as file:
        file.write(png(300))
    with wherry.Client(base_url=url, trust_env=False) as client:
        assert client.get("sync").content == b"/sync"
        assert client.get(url.replace("//", "//b\u00fccher.") + "/idn").content == b"/idn"
        assert client.upload("photos", [picture], compression=wherry.Compression(0.5, format="jpeg")).content == b"JPEG"
        client.download("large", os.path.join(folder, "large"), sha256=hashlib.sha256(LARGE).hexdigest())
    assert asyncio.run(fetch(url + "/async")) == b"/async"

    state = os.path.join(folder, "state")
    with wherry.BackgroundSession("outside", state_directory=state, agent_idle=0.2, trust_env=False) as session:
        job = session.download(url + "/large", os.path.join(folder, "background"))
        done = session.wait(job, PATIENCE)
        assert done.state == "done", done
        session.acknowledge(job)
    for name in ("large", "background"):
        with open(os.path.join(folder, name), "rb") as file:
            assert file.read() == LARGE, name


def use_tls(url: str, certificates: str, system_roots: bool) -> None:
    with wherry.Client(base_url=url, trust_env=False, verify=os.path.join(certificates, "ca.pem")) as client:
        assert client.get("tls").content == b"/tls"
    with wherry.Client(base_url=url, trust_env=False) as client:
        try:
            assert client.get("roots").content == b"/roots"
            assert system_roots, "the certificate must not be trusted"
        except wherry.TLSError as error:
            assert not system_roots and error.reason == "untrusted", error


def use_command(environment: str, url: str) -> None:
    package = os.path.dirname(wherry.__file__)
    program = os.path.join(environment, "bin", "wherry")
    if not os.path.exists(os.path.join(package, "_lib", "wherry")):
        assert not os.path.exists(program), "a command without a program"
        return
    for command in ([program], [sys.executable, "-m", "wherry"]):
        done = subprocess.run([*command, "get", url + "/command"], capture_output=True, timeout=PATIENCE, check=False)
        assert done.stdout == b"/command", (done, url)


def check_files(environment: str) -> None:
    """All files belong to the environment, except the system's libraries."""
    assert wherry.__file__.startswith(environment + os.sep), wherry.__file__
    package = os.path.dirname(wherry.__file__)
    assert os.path.exists(os.path.join(package, "py.typed"))
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = {line.split()[-1] for line in maps if ".so" in line}
    assert {path for path in loaded if "libwherry" in path} == {os.path.join(package, "_lib", "libwherry.so.0")}, loaded
    libraries = package + ".libs"
    if os.path.isdir(libraries):
        for name in ("libcurl", "libjpeg", "libpng"):
            assert all(path.startswith(libraries + os.sep) for path in loaded if name in path), loaded


def main(environment: str, certificates: str | None = None, *options: str) -> None:
    socket.setdefaulttimeout(PATIENCE)
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        use(server.url, folder)
        use_command(environment, server.url)
    if certificates:
        with Server(certificates) as server:
            use_tls(server.url, certificates, "--system-roots" in options)
    check_files(environment)


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]), *sys.argv[2:])
