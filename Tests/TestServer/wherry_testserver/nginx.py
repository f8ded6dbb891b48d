# Wherry: nginx for tests and benchmarks.
# SPDX-License-Identifier: Apache-2.0
"""nginx on free loopback ports: HTTP/1.1, HTTPS with HTTP/2, test certificates and static files.

``python3 -m wherry_testserver.nginx [--root FOLDER] [--workers N]`` prints one JSON line (``port``,
``tls_port``, ``ca``, ``root``, ``pid``) and stops nginx when its standard input ends. From Python::

    with Nginx() as nginx:
        nginx.url("/ok"), nginx.tls_url("/ok"), nginx.ca
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any, Dict, Optional

from . import certs, pattern

HERE = os.path.dirname(os.path.abspath(__file__))
PR_SET_PDEATHSIG = 1


class NginxMissing(RuntimeError):
    """nginx is not installed on this machine; ``scripts/setup`` installs it."""


def find() -> str:
    """Returns the path of the nginx program."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    found = shutil.which("nginx", path=path)
    if found is None:
        raise NginxMissing("nginx is not installed: run scripts/setup")
    return found


class Nginx:
    """A running nginx. It stops with `stop`, after the ``with`` block, or with this process.

    ``connections`` limits the connections of each worker. RLIMIT_NOFILE of this process limits them too.
    """

    def __init__(
        self, root: Optional[str] = None, workers: int = 1, kind: str = "good", connections: int = 4096
    ) -> None:
        program = find()
        self.folder = tempfile.mkdtemp(prefix="wherry-nginx-")
        try:
            os.chmod(self.folder, 0o755)  # If root runs nginx, the workers use another user.
            self.root = root or os.path.join(self.folder, "root")
            if root is None:
                _fill(self.root)
            self.certificates = certs.make(self.folder, kind)
            self.ca = self.certificates["ca"]
            self.process = self._start(program, workers, connections)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _start(self, program: str, workers: int, connections: int) -> subprocess.Popen[bytes]:
        """Starts nginx with inherited listening sockets, as an nginx upgrade does. No other process
        can take the ports, and early clients wait in the backlog.
        """
        listeners = [socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(2)]
        try:
            self.port, self.tls_port = (sock.getsockname()[1] for sock in listeners)
            path = os.path.join(self.folder, "nginx.conf")
            self._configure(path, workers, connections)
            for sock in listeners:
                sock.setblocking(False)  # nginx does not make inherited sockets non-blocking.
            handed = tuple(sock.fileno() for sock in listeners)
            log = os.path.join(self.folder, "error.log")
            process = subprocess.Popen(
                [program, "-p", self.folder, "-c", path, "-e", log], pass_fds=handed,
                env={**os.environ, "NGINX": "".join(f"{number};" for number in handed)},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                preexec_fn=_die_with_parent,
            )  # fmt: skip
        finally:
            for sock in listeners:
                sock.close()
        if not _answers(self.port):
            process.terminate()
            words = process.communicate()[1].decode(errors="replace")
            raise RuntimeError(f"nginx did not start: {words}")
        return process

    def _configure(self, path: str, workers: int, connections: int) -> None:
        with open(os.path.join(HERE, "nginx.conf.in"), encoding="utf-8") as file:
            text = file.read()
        values = {
            "WORKERS": str(workers), "CONNECTIONS": str(connections), "DIR": self.folder, "ROOT": self.root,
            "PORT": str(self.port), "TLS_PORT": str(self.tls_port),
            "CERT": self.certificates["cert"], "KEY": self.certificates["key"],
        }  # fmt: skip
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def url(self, path: str) -> str:
        """Returns a plain HTTP URL."""
        return f"http://127.0.0.1:{self.port}{path}"

    def tls_url(self, path: str) -> str:
        """Returns an HTTPS URL. The certificate is for localhost and 127.0.0.1."""
        return f"https://localhost:{self.tls_port}{path}"

    def stop(self) -> None:
        """Stops nginx and removes its folder. A second call has no effect."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Nginx:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


def _fill(root: str) -> None:
    """Creates the static files: 1k to 16m bytes of the pattern with seed 1, and a small text."""
    os.mkdir(root)
    for name, size in (("1k", 1 << 10), ("64k", 1 << 16), ("1m", 1 << 20), ("16m", 1 << 24)):
        with open(os.path.join(root, name + ".bin"), "wb") as file:
            for piece in pattern.stream(1, 0, size):
                file.write(piece)
    with open(os.path.join(root, "hello.txt"), "w", encoding="utf-8") as text:
        text.write("hello\n" * 100)


def _answers(port: int) -> bool:
    """Waits for nginx's first response. False if nginx exited, or did not respond for a minute."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
            sock.sendall(b"GET /ok HTTP/1.0\r\n\r\n")
            return sock.recv(1) != b""
    except OSError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="wherry_testserver.nginx")
    parser.add_argument("--root", help="folder of static files; made when missing")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kind", choices=certs.KINDS, default="good", help="of certificate")
    parser.add_argument("--max-life", type=float, default=7200)
    options = parser.parse_args()
    try:
        nginx = Nginx(options.root, options.workers, options.kind)
    except NginxMissing as error:
        print(json.dumps({"missing": str(error)}), flush=True)
        return 3
    told: Dict[str, Any] = {"port": nginx.port, "tls_port": nginx.tls_port, "pid": os.getpid()}
    told.update(nginx.certificates, root=nginx.root)
    print(json.dumps(told), flush=True)
    leave = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leave.set())

    def read() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            pass
        leave.set()

    threading.Thread(target=read, daemon=True).start()
    leave.wait(options.max_life)
    nginx.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
