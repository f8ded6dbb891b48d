# Wherry: a program that knows nothing of the checkout
# SPDX-License-Identifier: Apache-2.0
"""usage: use.py ENVIRONMENT: wherry and its library lie in there, and work."""

from __future__ import annotations

import asyncio
import http.server
import os
import sys
import threading

import wherry


class Hello(http.server.BaseHTTPRequestHandler):
    """Answers with the path that was asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


async def ask(url: str) -> bytes:
    async with wherry.AsyncClient(trust_env=False) as client:
        return (await client.get(url)).content


def main(environment: str) -> None:
    assert wherry.__file__.startswith(environment + os.sep), wherry.__file__
    assert os.path.exists(os.path.join(os.path.dirname(wherry.__file__), "py.typed"))
    with http.server.HTTPServer(("127.0.0.1", 0), Hello) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}"
        try:
            with wherry.Client(base_url=base, trust_env=False) as client:
                assert client.get("sync").content == b"/sync"
            assert asyncio.run(ask(base + "/async")) == b"/async"
        finally:
            server.shutdown()
            thread.join()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = {line.split()[-1] for line in maps if "libwherry" in line}
    package = os.path.dirname(wherry.__file__)
    assert loaded == {os.path.join(package, "_lib", "libwherry.so.0")}, loaded


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]))
