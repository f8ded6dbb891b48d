# Wherry: a certificate authority for the tests, including invalid certificates.
# SPDX-License-Identifier: Apache-2.0
"""Creates valid and invalid server certificates with the openssl command, and serves them.

``python3 -m wherry_testserver.authority`` prints one JSON line and serves until its standard input
ends. The line contains the plain port of a scripted server, its TLS port, and the files that tests
need. The server name of a TLS connection selects the certificate: ``expired.localhost`` gets the
certificate of kind ``expired``. Further ports support only TLS 1.1 or TLS 1.2, require a client
certificate, staple an OCSP response, or use a certificate whose common name is an address.
"""

from __future__ import annotations

import argparse
import asyncio
import asyncio.sslproto
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Optional

from .__main__ import announce, watch_stdin
from .certs import openssl
from .server import Server

#: The configuration of openssl's ca command.
CONFIG = """[ca]
default_ca=all
[all]
database=index.txt
serial=serial
new_certs_dir=.
default_md=sha256
default_crl_days=30
policy=any
unique_subject=no
[any]
commonName=supplied
"""

LEAF = "basicConstraints=CA:FALSE\n"
CA = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"


class Authority:
    """A folder of keys and certificates. Each kind has ``KIND.chain`` and ``KIND.key``."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.kinds: List[str] = []
        self._serial = 4096
        self._write("ca.cnf", CONFIG)
        self._write("index.txt", "")
        for root in ("ca", "stranger"):
            self._key(root)
            openssl(
                folder, "req", "-x509", "-new", "-key", f"{root}.key", "-days", "30", "-out",
                f"{root}.pem", "-subj", f"/CN=Wherry {root}", "-addext",
                "keyUsage=critical,keyCertSign,cRLSign",
            )  # fmt: skip

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _write(self, name: str, text: str) -> None:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def _read(self, name: str) -> str:
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def _key(self, name: str, bits: int = 0) -> None:
        if bits:
            openssl(self.folder, "genrsa", "-traditional", "-out", f"{name}.key", str(bits))
        else:
            openssl(self.folder, "ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", f"{name}.key")

    def issue(
        self,
        name: str,
        names: str = "",
        *,
        subject: str = "",
        by: str = "ca",
        days: int = 30,
        extra: str = LEAF,
        start: str = "",
        digest: str = "sha256",
        bits: int = 0,
        key: str = "",
    ) -> None:
        """Creates NAME.pem, and NAME.key unless ``key`` names an existing key."""
        if not key:
            self._key(name, bits)
        elif key != name:
            shutil.copy(self.path(f"{key}.key"), self.path(f"{name}.key"))
        self._write(f"{name}.ext", extra + (f"subjectAltName={names}\n" if names else ""))
        openssl(
            self.folder, "req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr",
            "-subj", f"/CN={subject or name}",
        )  # fmt: skip
        self._serial += 1
        if start:
            self._write("serial", f"{self._serial:04X}\n")
            openssl(
                self.folder, "ca", "-batch", "-notext", "-config", "ca.cnf", "-in", f"{name}.csr",
                "-cert", f"{by}.pem", "-keyfile", f"{by}.key", "-startdate", start,
                "-enddate", "20991231000000Z", "-extfile", f"{name}.ext", "-out", f"{name}.pem",
            )  # fmt: skip
        else:
            openssl(
                self.folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.pem", "-CAkey",
                f"{by}.key", "-set_serial", str(self._serial), "-days", str(days), f"-{digest}",
                "-extfile", f"{name}.ext", "-out", f"{name}.pem",
            )  # fmt: skip

    def serve(self, kind: str, *chain: str) -> None:
        """Writes the chain of a kind: the server's certificate, followed by ``chain``."""
        self.kinds.append(kind)
        self._write(f"{kind}.chain", "".join(self._read(f"{name}.pem") for name in (kind, *chain)))

    def leaf(self, kind: str, names: Optional[str] = None, **how: object) -> None:
        """Creates and serves a certificate issued directly by its issuer, without intermediates."""
        self.issue(kind, f"DNS:{kind}.localhost" if names is None else names, **how)  # type: ignore[arg-type]
        self.serve(kind)

    def make_all(self) -> None:
        """Creates all kinds."""
        self.leaf("good", "DNS:good.localhost,DNS:localhost,IP:127.0.0.1")
        # A new certificate for the same key, and one for a new key.
        self.leaf("renewed", "DNS:renewed.localhost", key="good")
        self.leaf("rotated")
        self.leaf("expired", days=-1)
        self.leaf("not-yet", start="20980101000000Z")
        self.leaf("wrong-name", "DNS:elsewhere.example")
        self.leaf("unknown-root", by="stranger")
        self._key("self-signed")
        openssl(
            self.folder, "req", "-x509", "-new", "-key", "self-signed.key", "-days", "30", "-out",
            "self-signed.pem", "-subj", "/CN=self-signed.localhost", "-addext",
            "subjectAltName=DNS:self-signed.localhost",
        )  # fmt: skip
        self.serve("self-signed")
        self.issue("inter", extra=CA)
        self.issue("inter-expired", extra=CA, days=-1)
        self.issue("inter-narrow", extra=CA + "nameConstraints=critical,permitted;DNS:.example.org\n")
        self.leaf("chained", by="inter")
        self.serve("chained", "inter")
        self.leaf("missing-intermediate", by="inter")
        self.leaf("expired-intermediate", by="inter-expired")
        self.serve("expired-intermediate", "inter-expired")
        self.leaf("narrow", by="inter-narrow")
        self.serve("narrow", "inter-narrow")
        # Issued by a leaf certificate, which is not a CA.
        self.leaf("by-a-leaf", by="good")
        self.serve("by-a-leaf", "good")
        # Followed by the valid certificates of a chain that the leaf does not belong to.
        self.leaf("stuffed", by="stranger")
        self.serve("stuffed", "good", "inter")
        self.leaf("weak-key", bits=1024)
        self.leaf("sha1", digest="sha1")
        self.leaf("wrong-usage", extra=LEAF + "extendedKeyUsage=clientAuth\n")
        self.leaf("revoked")
        self.leaf("wide", "DNS:*.localhost")
        self.leaf("levels", "DNS:*.levels.localhost")
        self.leaf("partial", "DNS:f*.partial.localhost")
        self.leaf("inner", "DNS:a.*.inner.localhost")
        self.leaf("star", "DNS:*")
        self.leaf("cn-only", "", subject="cn-only.localhost")
        self.leaf("cn-email", "email:cn-email@localhost", subject="cn-email.localhost")
        self.leaf("cn-address", "", subject="127.0.0.1")
        self.leaf("cn-and-san", "DNS:elsewhere.example", subject="cn-and-san.localhost")
        name = b"nul.localhost\0.elsewhere.example"
        der = bytes([0x30, len(name) + 2, 0x82, len(name)]) + name
        self.leaf("nul", "DER:" + der.hex(":"))
        self._make_clients()
        self._make_lists()

    def _make_clients(self) -> None:
        self.issue("client", subject="wherry client", extra=LEAF + "extendedKeyUsage=clientAuth\n")
        self.issue("alien", subject="alien", by="stranger", extra=LEAF)
        openssl(
            self.folder, "pkcs12", "-export", "-in", "client.pem", "-inkey", "client.key", "-out",
            "client.p12", "-passout", "pass:open sesame",
        )  # fmt: skip
        openssl(
            self.folder, "ec", "-in", "client.key", "-aes256", "-passout", "pass:open sesame",
            "-out", "client.locked.key",
        )  # fmt: skip
        self._write("client.both.pem", self._read("client.pem") + self._read("client.key"))
        openssl(self.folder, "x509", "-in", "good.pem", "-outform", "DER", "-out", "good.der")
        openssl(self.folder, "x509", "-in", "good.pem", "-pubkey", "-noout", "-out", "good.pub")
        os.mkdir(self.path("roots"))
        shutil.copy(self.path("ca.pem"), self.path("roots"))
        openssl(self.folder, "rehash", "roots")
        os.mkdir(self.path("pins"))
        shutil.copy(self.path("good.der"), self.path("pins/good.cer"))
        shutil.copy(self.path("rotated.pem"), self.path("pins/rotated.pem"))

    def _make_lists(self) -> None:
        arguments = ("-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key")
        openssl(self.folder, "ca", *arguments, "-revoke", "revoked.pem")
        openssl(self.folder, "ca", *arguments, "-gencrl", "-out", "crl.pem")
        # The OCSP responder answers only for certificates in the index.
        serial = self._ask("good", "-serial").split("=")[1]
        with open(self.path("index.txt"), "a", encoding="utf-8") as file:
            file.write(f"V\t20991231000000Z\t\t{serial}\tunknown\t/CN=good\n")
        for kind in ("good", "revoked"):
            openssl(
                self.folder, "ocsp", "-index", "index.txt", "-CA", "ca.pem", "-rsigner", "ca.pem",
                "-rkey", "ca.key", "-issuer", "ca.pem", "-cert", f"{kind}.pem", "-ndays", "7",
                "-respout", f"{kind}.ocsp", "-noverify",
            )  # fmt: skip

    def _ask(self, name: str, what: str) -> str:
        command = ["openssl", "x509", "-in", f"{name}.pem", "-noout", what]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip()

    def pin(self, name: str) -> str:
        """Returns the pin of a certificate's key, computed only by openssl."""
        script = (
            f"openssl x509 -in {name}.pem -pubkey -noout | openssl pkey -pubin -outform DER"
            " | openssl dgst -sha256 -binary | openssl base64"
        )
        done = subprocess.run(["sh", "-c", script], cwd=self.folder, check=True, capture_output=True, text=True)
        return "sha256/" + done.stdout.strip()

    def context(self, kind: str, demands: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Weak keys and digests must be served, because the client must reject them.
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        context.load_cert_chain(self.path(f"{kind}.chain"), self.path(f"{kind}.key"))
        if demands:
            context.load_verify_locations(self.path("ca.pem"))
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def by_name(self, demands: bool = False) -> ssl.SSLContext:
        """Returns a context that serves the kind named by the label before ``localhost``."""
        contexts = {kind: self.context(kind, demands) for kind in self.kinds}

        def choose(connection: ssl.SSLObject, name: Optional[str], _: ssl.SSLContext) -> None:
            labels = (name or "localhost").rstrip(".").lower().split(".")
            connection.context = contexts.get(labels[-2] if len(labels) > 1 else "", contexts["good"])

        first = self.context("good", demands)
        first.sni_callback = choose
        return first


class Leftovers(asyncio.Protocol):
    """Reads the remaining bytes of a connection with a failed handshake until the client closes it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def connection_lost(self, _: Optional[BaseException]) -> None:
        self._transport.close()


def tell_alerts() -> None:
    """Makes asyncio send the alert of a failed handshake, as real servers do. By default, asyncio
    drops the alert and resets the connection.
    """
    kind: Any = asyncio.sslproto.SSLProtocol
    complete = kind._on_handshake_complete

    def completed(protocol: Any, error: Optional[BaseException]) -> None:
        transport = protocol._transport
        if error is None or transport is None or transport.is_closing():
            complete(protocol, error)
            return
        protocol._process_outgoing()
        if transport.can_write_eof():
            transport.write_eof()
        protocol._handshake_timeout_handle.cancel()
        # The waiter of the handshake gets the error, but closes nothing.
        protocol._state = asyncio.sslproto.SSLProtocolState.UNWRAPPED
        protocol._wakeup_waiter(error)
        transport.set_protocol(Leftovers(transport))

    kind._on_handshake_complete = completed


class Staple:
    """An ``openssl s_server`` that staples an OCSP response."""

    def __init__(self, authority: Authority, kind: str) -> None:
        command = [
            "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", f"{kind}.pem", "-key",
            f"{kind}.key", "-cert_chain", "ca.pem", "-status_file", f"{kind}.ocsp", "-www",
        ]  # fmt: skip
        # With -www, s_server never reads its standard input, so it does not notice the end of the
        # input.
        self.process = subprocess.Popen(
            command, cwd=authority.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("ACCEPT"):
                self.port = int(line.rsplit(":", 1)[1])
                return
        raise RuntimeError("openssl s_server printed no port")

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


async def run(authority: Authority, report: Dict[str, object]) -> None:
    """Serves until standard input ends."""
    loop = asyncio.get_running_loop()
    leave = asyncio.Event()
    watch_stdin(loop, leave)
    tell_alerts()
    server = Server(None)
    report["port"] = await server.listen("127.0.0.1", 0, None)
    report["tls_port"] = await server.listen("127.0.0.1", 0, authority.by_name())
    old = authority.context("good")
    # Intentionally deprecated versions.
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    report["tls11_port"] = await server.listen("127.0.0.1", 0, old)
    middle = authority.context("good")
    middle.maximum_version = ssl.TLSVersion.TLSv1_2
    report["tls12_port"] = await server.listen("127.0.0.1", 0, middle)
    anonymous = authority.context("good")
    anonymous.maximum_version = ssl.TLSVersion.TLSv1_2
    anonymous.set_ciphers("ADH:@SECLEVEL=0")
    report["anonymous_port"] = await server.listen("127.0.0.1", 0, anonymous)
    report["client_port"] = await server.listen("127.0.0.1", 0, authority.by_name(demands=True))
    address = authority.context("cn-address")
    report["address_port"] = await server.listen("127.0.0.1", 0, address)
    announce("", report)
    await leave.wait()
    await server.close()


def main() -> int:
    argparse.ArgumentParser(prog="wherry_testserver.authority", description=__doc__).parse_args()
    import warnings

    warnings.simplefilter("ignore", DeprecationWarning)
    with tempfile.TemporaryDirectory(prefix="wherry-authority-") as folder:
        authority = Authority(folder)
        authority.make_all()
        staples = {kind: Staple(authority, kind) for kind in ("good", "revoked")}
        try:
            pins = {kind: authority.pin(kind) for kind in (*authority.kinds, "inter", "ca")}
            report: Dict[str, object] = {"pid": os.getpid(), "folder": folder, "pins": pins}
            for kind, staple in staples.items():
                report[f"staple_{kind}_port"] = staple.port
            asyncio.run(run(authority, report))
        finally:
            for staple in staples.values():
                staple.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
