# Wherry: tests of the test server's faults, control routes and lifetime.
# SPDX-License-Identifier: Apache-2.0
"""Tests of cuts, stalls, gates, scripts and the log, and of starting and stopping the servers."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from typing import Any, Tuple

from test_testserver import HERE, ServerCase
from wherry_testserver import pattern
from wherry_testserver.nginx import Nginx


class FaultsAndControl(ServerCase):
    def test_a_cut_happens_only_the_requested_number_of_times(self) -> None:
        target = "/bytes/1000?key=cut-once&cut=10&times=1"

        with self.assertRaises(http.client.IncompleteRead) as caught:
            self.ask(target)
        _, second = self.ask(target)

        self.assertEqual(len(caught.exception.partial), 10)
        self.assertEqual(len(second), 1000)

    def test_a_reset_follows_exactly_the_requested_bytes(self) -> None:
        answer = self.raw(b"GET /bytes/2000000?reset=1000000 HTTP/1.1\r\nHost: x\r\n\r\n")

        body = answer.partition(b"\r\n\r\n")[2]
        self.assertEqual(len(body), 1000000 + len(b"<RST>"))
        self.assertTrue(body.endswith(b"<RST>"))

    def test_absolute_offsets_count_from_the_start_of_the_file(self) -> None:
        with self.assertRaises(http.client.IncompleteRead) as caught:
            self.ask("/bytes/1000?cut_at=400", headers={"Range": "bytes=100-"})

        self.assertEqual(len(caught.exception.partial), 300)

    def test_a_first_status_is_replaced_by_the_next(self) -> None:
        target = "/bytes/10?key=first&status_first=503&times=2&retry_after=3"

        answers = [self.ask(target)[0] for _ in range(3)]

        self.assertEqual([a.status for a in answers], [503, 503, 200])
        self.assertEqual(answers[0].getheader("Retry-After"), "3")

    def test_a_token_is_valid_once(self) -> None:
        statuses = [self.ask("/bytes/10?once=abc")[0].status for _ in range(2)]

        self.assertEqual(statuses, [200, 403])

    def test_a_gate_holds_the_body_and_the_log_shows_it(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            sock.sendall(b"GET /@gated/bytes/100?hold=60&gate=g HTTP/1.1\r\nHost: x\r\n\r\n")
            during = self.json("/_wait?key=gated&sent=60")
            limited, _ = self.ask("/@gated/bytes/100?max_parallel=1")
            opened = self.json("/_signal?key=gated&gate=g")
        after = self.json("/_wait?key=gated&ended=2")

        self.assertEqual((during["sent"], during["active"]), (60, 1))
        self.assertEqual((limited.status, opened["waiting"]), (503, 1))
        self.assertEqual(after["peak_requests"], 2)

    def test_wait_gives_up_with_408(self) -> None:
        self.assertEqual(self.ask("/_wait?key=nobody&requests=1&timeout=0.05")[0].status, 408)

    def test_a_silent_response_ends_when_the_client_disconnects(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            sock.sendall(b"GET /@silent/silent HTTP/1.1\r\nHost: x\r\n\r\n")
            self.json("/_wait?key=silent&requests=1")
        self.json("/_wait?key=silent&ended=1&open_most=0")

        entry = self.json("/_log?key=silent")["requests"][0]
        self.assertEqual((entry["outcome"], entry["status"]), ("gone", 0))

    def test_an_early_response_does_not_wait_for_the_body(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            head = b"POST /sink?early=413 HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n"
            sock.sendall(head)
            answer = sock.recv(65536)

        self.assertTrue(answer.startswith(b"HTTP/1.1 413 "))

    def test_a_stalled_sink_accepts_no_more_than_the_buffers(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            size = 64 * 1024 * 1024
            sock.sendall(
                f"POST /@stalled/sink?stall=1&gate=go HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode()
            )
            self.json("/_wait?key=stalled&requests=1")
            sock.setblocking(False)
            taken, block = 0, bytes(65536)
            while taken < size:
                try:
                    taken += sock.send(block)
                except BlockingIOError:
                    break
            received = self.json("/_stats?key=stalled")["received"]
            self.json("/_signal?key=stalled&gate=go")
            sock.setblocking(True)
            while taken < size:
                taken += sock.send(block[: size - taken])
            answer = sock.recv(65536)

        self.assertEqual(received, 0)
        self.assertIn(f'"bytes": {size}'.encode(), answer)

    def test_a_body_is_cut_while_it_is_read(self) -> None:
        answer = self.raw(b"POST /sink?reset_body=3 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")

        self.assertEqual(answer, b"<RST>")

    def test_scripts_play_raw_bytes(self) -> None:
        steps = [{"raw": [["send", "HTTP/1.1 200 OK\r\n"], ["bytes", 5], ["fin"]]}, {"status": 418}]
        self.ask("/_script?key=s", "POST", json.dumps({"a/b": steps}))

        first = self.raw(b"GET /@s/s/a/b HTTP/1.1\r\nHost: x\r\n\r\n")
        second, _ = self.ask("/@s/s/a/b")

        self.assertEqual(first, b"HTTP/1.1 200 OK\r\n" + pattern.data(1, 0, 5))
        self.assertEqual(second.status, 418)

    def test_reset_clears_only_one_key(self) -> None:
        self.ask("/@one/echo")
        self.ask("/@two/echo")
        self.json("/_reset?key=one")

        self.assertEqual(self.json("/_stats?key=one")["requests"], 0)
        self.assertEqual(self.json("/_stats?key=two")["requests"], 1)
        self.assertEqual(self.json("/@one/echo")["attempt"], 1)

    def test_a_tunnel_leads_only_to_loopback(self) -> None:
        inner = "GET /text/inside?close=1 HTTP/1.1\r\nHost: x\r\n\r\n"
        through = self.raw(f"CONNECT 127.0.0.1:{self.port} HTTP/1.1\r\nHost: x\r\n\r\n{inner}".encode())
        refused = self.raw(b"CONNECT 192.0.2.1:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        self.assertTrue(through.startswith(b"HTTP/1.1 200 Connection established"))
        self.assertTrue(through.endswith(b"inside"))
        self.assertTrue(refused.startswith(b"HTTP/1.1 403"))

    def test_hundreds_of_connections_wait_at_once(self) -> None:
        sockets = []
        try:
            for _ in range(500):
                sock = socket.create_connection(("127.0.0.1", self.port), timeout=30)
                sock.sendall(b"GET /@many/text/x?gate=all HTTP/1.1\r\nHost: x\r\n\r\n")
                sockets.append(sock)
            self.json("/_wait?key=many&active=500")
            self.json("/_signal?key=many&gate=all")
            answers = [sock.recv(4096) for sock in sockets]
        finally:
            for sock in sockets:
                sock.close()

        self.assertTrue(all(a.startswith(b"HTTP/1.1 200") for a in answers))
        self.assertEqual(self.json("/_stats?key=many")["peak_connections"], 500)

    def test_invalid_requests_are_refused(self) -> None:
        for head in (b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n"):
            self.assertTrue(self.raw(head).startswith(b"HTTP/1.1 400"))
        self.assertEqual(self.ask("/nowhere")[0].status, 404)
        self.assertEqual(self.ask("/bytes/ten")[0].status, 400)


class Life(unittest.TestCase):
    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "wherry_testserver", *arguments]
        return subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def finish(self, process: subprocess.Popen[bytes]) -> Tuple[int, Any]:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        code = process.wait(30)
        process.stdout.close()
        return code, told

    def test_the_server_exits_when_idle(self) -> None:
        process = self.start("--idle-exit", "0.1")

        self.assertEqual(self.finish(process)[0], 0)
        assert process.stdin is not None
        process.stdin.close()

    def test_the_server_exits_when_its_parent_is_gone(self) -> None:
        gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                              capture_output=True, check=True)  # fmt: skip
        process = self.start("--parent-pid", gone.stdout.decode().strip())

        self.assertEqual(self.finish(process)[0], 0)
        assert process.stdin is not None
        process.stdin.close()

    def test_images_are_saved_under_their_bare_name(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            process = self.start("--save-dir", folder, "--announce", f"{folder}/announced")
            assert process.stdin is not None and process.stdout is not None
            process.stdout.readline()
            with open(f"{folder}/announced", encoding="utf-8") as file:
                port = json.load(file)["port"]
            body = (
                b'--b\r\nContent-Disposition: form-data; name="p"; filename="../../a.jpg"\r\n\r\npicture\r\n--b--\r\n'
            )
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            kind = {"Content-Type": "multipart/form-data; boundary=b"}
            connection.request("POST", "/upload-photo", body, kind)
            answer = json.loads(connection.getresponse().read())
            connection.close()
            process.stdin.close()
            self.assertEqual(process.wait(30), 0)
            process.stdout.close()
            with open(f"{folder}/a.jpg", "rb") as saved:
                self.assertEqual(saved.read(), b"picture")

        self.assertEqual([f["name"] for f in answer["files"]], ["a.jpg"])

    def test_TLS_certificates_have_the_properties_of_their_kind(self) -> None:
        for kind, reason in (
            ("good", None), ("wrong-name", "mismatch"), ("expired", "expired"),
            ("self-signed", "self"),
        ):  # fmt: skip
            process = self.start("--tls-make", kind)
            assert process.stdin is not None and process.stdout is not None
            told = json.loads(process.stdout.readline())
            context = ssl.create_default_context(cafile=told["ca"])
            connection = http.client.HTTPSConnection("localhost", told["tls_port"], timeout=30, context=context)
            try:
                connection.request("GET", "/text/secure")
                self.assertEqual(connection.getresponse().read(), b"secure")
                self.assertIsNone(reason)
            except ssl.SSLCertVerificationError as error:
                self.assertIsNotNone(reason, str(error))
                self.assertIn(reason or "", str(error))
            finally:
                connection.close()
                process.stdin.close()
                self.assertEqual(process.wait(30), 0)
                process.stdout.close()

    def test_nginx_serves_both_protocols_and_exits(self) -> None:
        with Nginx() as nginx:
            with urllib.request.urlopen(nginx.url("/64k.bin"), timeout=30) as response:
                body = response.read()
            context = ssl.create_default_context(cafile=nginx.ca)
            context.set_alpn_protocols(["h2"])
            with socket.create_connection(("127.0.0.1", nginx.tls_port), timeout=30) as sock:
                with context.wrap_socket(sock, server_hostname="localhost") as tls:
                    chosen = tls.selected_alpn_protocol()

        self.assertEqual(body, pattern.data(1, 0, 65536))
        self.assertEqual(chosen, "h2")
        self.assertIsNotNone(nginx.process.returncode)
        self.assertFalse(os.path.exists(nginx.folder))


if __name__ == "__main__":
    unittest.main()
