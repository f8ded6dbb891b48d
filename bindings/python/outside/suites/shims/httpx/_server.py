# Wherry: responses with a coded body, for the tests of decoders
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import http.server
import threading

import wherry


def received(status_code, fields, content):
    """The response that Wherry receives from a server which sends these fields and bytes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response_only(status_code)
            for name, value in fields:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        try:
            with wherry.Client(trust_env=False) as client:
                return client.get(f"http://127.0.0.1:{server.server_port}/")
        finally:
            thread.join()
