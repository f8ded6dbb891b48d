# Wherry: certificates for the tests, created with the openssl command.
# SPDX-License-Identifier: Apache-2.0
"""Creates a CA and server and client certificates in a folder that is deleted after the tests."""

from __future__ import annotations

import os
import subprocess
from typing import Dict

KINDS = ("good", "wrong-name", "expired", "self-signed")
NAMES = "subjectAltName=DNS:localhost,DNS:*.localhost,IP:127.0.0.1,IP:::1"


def openssl(folder: str, *arguments: str) -> None:
    """Runs openssl in the folder. Reports its output only on failure."""
    done = subprocess.run(["openssl", *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(arguments)}: {done.stderr.decode()}")


def make(folder: str, kind: str = "good") -> Dict[str, str]:
    """Creates ca.pem, server.pem and server.key of a kind, and client.pem and client.key.

    Returns their paths under ``ca``, ``cert``, ``key``, ``client_cert`` and ``client_key``.
    """
    if kind not in KINDS:
        raise ValueError(f"{kind} is none of {KINDS}")
    for name in ("ca", "server", "client"):
        key = f"{name}.key"
        openssl(folder, "ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", key)
    openssl(
        folder, "req", "-x509", "-new", "-key", "ca.key", "-days", "30", "-out", "ca.pem",
        "-subj", "/CN=Wherry test CA", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    )  # fmt: skip
    names = "subjectAltName=DNS:elsewhere.example" if kind == "wrong-name" else NAMES
    if kind == "self-signed":
        openssl(
            folder, "req", "-x509", "-new", "-key", "server.key", "-days", "30",
            "-out", "server.pem", "-subj", "/CN=localhost", "-addext", names,
        )  # fmt: skip
    else:
        _issue(folder, "server", "localhost", names, -1 if kind == "expired" else 30)
    _issue(folder, "client", "wherry client", "extendedKeyUsage=clientAuth", 30)
    paths = {"ca": "ca.pem", "cert": "server.pem", "key": "server.key"}
    paths.update({"client_cert": "client.pem", "client_key": "client.key"})
    return {name: os.path.join(folder, file) for name, file in paths.items()}


def _issue(folder: str, name: str, subject: str, extension: str, days: int) -> None:
    with open(os.path.join(folder, f"{name}.ext"), "w", encoding="utf-8") as file:
        file.write(f"{extension}\nbasicConstraints=CA:FALSE\n")
    request = ["-key", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={subject}"]
    openssl(folder, "req", "-new", *request)
    openssl(
        folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
        "-CAcreateserial", "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem",
    )  # fmt: skip
