# Wherry: tests of the test server's basic routes.
# SPDX-License-Identifier: Apache-2.0
"""Run with ``python3 -m unittest discover -s Tests/TestServer`` (or pytest)."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import unittest
import zlib
from typing import Any, Dict, Optional, Tuple

from wherry_testserver import payloads

HERE = os.path.dirname(os.path.abspath(__file__))


class ServerCase(unittest.TestCase):
    """Starts one server for the class."""

    process: subprocess.Popen[bytes]
    port: int

    @classmethod
    def setUpClass(cls) -> None:
        command = [sys.executable, "-m", "wherry_testserver", "--port", "0"]
        cls.process = subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert cls.process.stdout is not None
        cls.port = json.loads(cls.process.stdout.readline())["port"]

    @classmethod
    def tearDownClass(cls) -> None:
        assert cls.process.stdin is not None and cls.process.stdout is not None
        cls.process.stdin.close()
        assert cls.process.wait(20) == 0
        cls.process.stdout.close()

    def ask(
        self,
        target: str,
        method: str = "GET",
        body: Any = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> Tuple[http.client.HTTPResponse, bytes]:
        """Sends a request on a separate connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, target, body=body, headers=headers or {})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def json(self, target: str, **more: Any) -> Any:
        return json.loads(self.ask(target, **more)[1])

    def raw(self, data: bytes) -> bytes:
        """Sends raw bytes and reads until the connection ends, possibly with an RST."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            sock.sendall(data)
            answer = b""
            while True:
                try:
                    piece = sock.recv(65536)
                except ConnectionResetError:
                    return answer + b"<RST>"
                if not piece:
                    return answer
                answer += piece


class Basics(ServerCase):
    def test_echo_reports_the_request(self) -> None:
        answer = self.json("/echo?a=1&a=%20", method="POST", body=b'{"x": 2}')

        self.assertEqual(answer["method"], "POST")
        self.assertEqual(answer["query"], [["a", "1"], ["a", " "]])
        self.assertEqual(answer["json"], {"x": 2})

    def test_parameters_do_not_affect_echo_and_affect_its_faulty_twin(self) -> None:
        plain, body = self.ask("/echo/below?length=3&header=nonsense")
        faulty, _ = self.ask("/faulty-echo?header=X-A:b")

        self.assertEqual((plain.status, json.loads(body)["path"]), (200, "/echo/below"))
        self.assertEqual(faulty.getheader("X-A"), "b")

    def test_echo_parses_a_form(self) -> None:
        body = (
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
            b'--b\r\nContent-Disposition: form-data; name="p"; filename="x%22y.jpg"\r\n'
            b"Content-Type: image/jpeg\r\n\r\n\xff\xd8\r\n\r\n--b--\r\n"
        )
        headers = {"Content-Type": "multipart/form-data; boundary=b"}

        parts = self.json("/echo", method="POST", body=body, headers=headers)["parts"]

        self.assertEqual([p["name"] for p in parts], ["a", "p"])
        self.assertEqual(parts[0]["text"], "1")
        self.assertEqual(parts[1]["filename"], 'x"y.jpg')
        self.assertEqual(parts[1]["sha256"], hashlib.sha256(b"\xff\xd8\r\n").hexdigest())

    def test_a_malformed_form_is_refused(self) -> None:
        headers = {"Content-Type": "multipart/form-data; boundary=b"}

        response, _ = self.ask("/echo", "POST", b"--b\r\nno end", headers)

        self.assertEqual(response.status, 400)

    def test_keep_alive_counts_requests_on_a_connection(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        indexes = []
        for _ in range(3):
            connection.request("GET", "/echo")
            indexes.append(json.loads(connection.getresponse().read())["index"])
        connection.close()

        self.assertEqual(indexes, [1, 2, 3])

    def test_a_chunked_body_is_read_and_100_continue_is_sent(self) -> None:
        answer = self.raw(
            b"POST /sink HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
            b"Expect: 100-continue\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        )

        self.assertTrue(answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"))
        self.assertIn(b'"bytes": 5', answer)

    def test_statuses_without_a_body_send_none(self) -> None:
        for status in (204, 304):
            response, body = self.ask(f"/status/{status}?body=never")
            self.assertEqual((response.status, body), (status, b""))
            self.assertIsNone(response.getheader("Content-Length"))

    def test_an_informational_status_comes_before_the_final_one(self) -> None:
        answer = self.raw(b"GET /status/103?close=1 HTTP/1.1\r\nHost: x\r\n\r\n")

        self.assertIn(b"HTTP/1.1 103 Early Hints\r\n", answer)
        self.assertIn(b"\r\n\r\nHTTP/1.1 200 OK\r\n", answer)

    def test_HEAD_has_the_headers_but_no_body(self) -> None:
        response, body = self.ask("/bytes/1000", "HEAD")

        self.assertEqual((response.getheader("Content-Length"), body), ("1000", b""))

    def test_a_header_bomb_has_the_requested_size(self) -> None:
        answer = self.raw(b"GET /headers?count=300&size=1000&close=1 HTTP/1.1\r\nHost: x\r\n\r\n")

        self.assertEqual(answer.count(b"\r\nX-Field-"), 300)

    def test_redirects_keep_count_status_and_host(self) -> None:
        response, _ = self.ask("/redirect/2?status=307&host=localhost")
        last, _ = self.ask("/redirect/1")

        self.assertEqual(response.status, 307)
        location = f"http://localhost:{self.port}/redirect/1?status=307&host=localhost"
        self.assertEqual(response.getheader("Location"), location)
        self.assertEqual(last.getheader("Location"), "/echo")

    def test_cookies_are_set_and_listed(self) -> None:
        response, _ = self.ask("/cookies/set?a=1&attributes=Path%3D/;HttpOnly")
        shown = self.json("/cookies", headers={"Cookie": "a=1; b=2"})

        self.assertEqual(response.getheader("Set-Cookie"), "a=1; Path=/;HttpOnly")
        self.assertEqual(shown["cookies"], [["a", "1"], ["b", "2"]])

    def test_the_encodings_decode_to_the_same_text(self) -> None:
        plain = payloads.PLAIN

        self.assertEqual(gzip.decompress(self.ask("/gzip")[1]), plain)
        self.assertEqual(zlib.decompress(self.ask("/deflate")[1]), plain)
        self.assertEqual(zlib.decompress(self.ask("/deflate?raw=1")[1], -15), plain)

    def test_auth_accepts_only_the_right_credentials(self) -> None:
        pair = "Basic " + base64.b64encode(b"u:p").decode()

        self.assertEqual(self.ask("/auth/basic/u/p")[0].status, 401)
        given = {"Authorization": pair}
        self.assertEqual(self.ask("/auth/basic/u/p", headers=given)[0].status, 200)
        self.assertEqual(self.ask("/auth/basic/u/q", headers=given)[0].status, 401)

    def test_digest_auth_follows_RFC_7616(self) -> None:
        target = "/auth/digest/u/p?algorithm=SHA-256"
        challenge = self.ask(target)[0].getheader("WWW-Authenticate") or ""
        nonce = challenge.partition('nonce="')[2].partition('"')[0]

        def answer(password: str) -> int:
            first = _hex(f"u:wherry:{password}")
            proof = _hex(f"{first}:{nonce}:00000001:c:auth:{_hex('GET:' + target)}")
            field = (
                f'Digest username="u", realm="wherry", nonce="{nonce}", uri="{target}", '
                f'qop=auth, nc=00000001, cnonce="c", response="{proof}"'
            )
            return self.ask(target, headers={"Authorization": field})[0].status

        self.assertEqual((answer("p"), answer("q")), (200, 401))

    def test_a_new_token_replaces_the_old_one(self) -> None:
        self.json("/@tokens/token")
        self.json("/@tokens/token")
        statuses = [
            self.ask("/@tokens/protected", headers={"Authorization": f"Bearer token-{n}"})[0].status for n in (1, 2)
        ]

        self.assertEqual(statuses, [401, 200])

    def test_a_cached_response_is_revalidated(self) -> None:
        first, body = self.ask("/@cache/cache?control=max-age%3D1&etag=x")
        again, none = self.ask("/@cache/cache?control=max-age%3D1&etag=x", headers={"If-None-Match": '"x"'})

        self.assertEqual((first.status, json.loads(body)["hit"]), (200, 1))
        self.assertEqual((again.status, none, again.getheader("ETag")), (304, b"", '"x"'))

    def test_tus_resumes_at_its_offset(self) -> None:
        made, _ = self.ask("/tus", "POST", b"", {"Upload-Length": "10"})
        where = made.getheader("Location") or ""
        kind = {"Content-Type": "application/offset+octet-stream"}

        first = self.ask(where, "PATCH", b"01234", {**kind, "Upload-Offset": "0"})[0]
        wrong = self.ask(where, "PATCH", b"56789", {**kind, "Upload-Offset": "4"})[0]
        offset = self.ask(where, "HEAD")[0].getheader("Upload-Offset")
        self.ask(where, "PATCH", b"56789", {**kind, "Upload-Offset": "5"})

        self.assertEqual((first.status, wrong.status, offset), (204, 409, "5"))
        self.assertEqual(self.json(where)["sha256"], hashlib.sha256(b"0123456789").hexdigest())


class AuthorityCase(unittest.TestCase):
    """Checks the certificates with Python's TLS, as far as it supports them."""

    def test_the_server_name_selects_the_certificate_and_failed_handshakes_send_an_alert(
        self,
    ) -> None:
        command = [sys.executable, "-m", "wherry_testserver.authority"]
        process = subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        told = json.loads(process.stdout.readline())
        ca = os.path.join(told["folder"], "ca.pem")

        def fault(host: str, port: str = "tls_port") -> str:
            context = ssl.create_default_context(cafile=ca)
            try:
                with socket.create_connection(("127.0.0.1", told[port]), 60) as plain:
                    with context.wrap_socket(plain, server_hostname=f"{host}.localhost") as secure:
                        secure.sendall(b"GET /echo HTTP/1.0\r\n\r\n")
                        return secure.recv(12).decode()
            except ssl.SSLError as error:
                return str(error)

        for host, words in (
            ("good", "HTTP/1.1 200"), ("chained", "HTTP/1.1 200"), ("renewed", "HTTP/1.1 200"),
            ("expired", "expired"), ("not-yet", "not yet valid"), ("wrong-name", "mismatch"),
            ("self-signed", "self-signed"), ("missing-intermediate", "unable to get local issuer"),
            ("narrow", "permitted subtree"), ("wrong-usage", "purpose"),
        ):  # fmt: skip
            self.assertIn(words, fault(host), host)
        self.assertIn("alert protocol version", fault("good", "tls11_port"))
        self.assertIn("certificate required", fault("good", "client_port"))
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)
        self.assertFalse(os.path.exists(told["folder"]))
        process.stdout.close()


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    unittest.main()
