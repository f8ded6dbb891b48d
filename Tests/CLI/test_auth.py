# Wherry: tests of user names and passwords on the command line.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib

import pytest
from conftest import Scope, field, wherry


def test_R20_a_user_is_sent_as_Basic_or_as_Digest(server: Scope) -> None:
    result = wherry("get", server.url("/echo"), "-u", "skye:p:1")
    assert field(result.json, "Authorization") == "Basic c2t5ZTpwOjE="

    result = wherry("get", server.url("/auth/digest/skye/p"), "--user", "skye:p", "--digest")
    assert result.json["scheme"] == "digest"

    for scheme in ("digest", "basic"):
        result = wherry("get", server.url(f"/auth/{scheme}/skye/p"), "--user", "skye:p", "--anyauth")
        assert result.json["scheme"] == scheme

    result = wherry("get", server.url("/echo"), "--oauth2-bearer", "t")
    assert field(result.json, "Authorization") == "Bearer t"


def test_R20_a_password_comes_from_a_file_and_is_not_shown(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "user").write_text("skye:s3cret\n")
    result = wherry("get", server.url("/auth/basic/skye/other"), "--user", f"@{tmp_path / 'user'}", "--debug")
    assert result.status != 0 and "401" in result.err
    assert "s3cret" not in result.err and "c2t5ZTpzM2NyZXQ" not in result.err

    (tmp_path / "user").write_text("s3cret\n")
    result = wherry("get", server.url("/echo"), "--user", f"@{tmp_path / 'user'}")
    assert result.status == 2 and "s3cret" not in result.err


@pytest.mark.parametrize(
    "arguments", [["--digest"], ["-u", "a:b", "--digest", "--anyauth"], ["-u", "a"], ["-u", "a:b", "--bearer", "t"]]
)
def test_R20_invalid_credentials_are_refused(server: Scope, arguments: list[str]) -> None:
    result = wherry("get", server.url("/echo"), *arguments)
    assert result.status == 2 and server.requests() == []


def test_R20_credentials_come_from_a_netrc_file(server: Scope, tmp_path: pathlib.Path) -> None:
    (tmp_path / ".netrc").write_text('machine 127.0.0.1\n  login skye\n  password "p 1"\n')
    (tmp_path / "other").write_text("default login other password p2\n")
    home = str(tmp_path)

    result = wherry("get", server.url("/echo"), "-n", HOME=home)
    assert field(result.json, "Authorization") == "Basic c2t5ZTpwIDE="
    result = wherry("get", server.url("/echo"), "--netrc-file", str(tmp_path / "other"), HOME=home)
    assert field(result.json, "Authorization") == "Basic b3RoZXI6cDI="
    result = wherry("get", server.url("/echo"), "--netrc", "-u", "a:b", HOME=home)
    assert field(result.json, "Authorization") == "Basic YTpi"
    result = wherry("get", server.url("/echo"), "--netrc", "--bearer", "t", HOME=home)
    assert field(result.json, "Authorization") == "Bearer t"
    assert field(wherry("get", server.url("/echo"), HOME=home).json, "Authorization") is None

    (tmp_path / ".netrc").write_text("machine h.org\nlogin a\npasswd s3cret\n")
    failed = wherry("get", server.url("/echo"), "--netrc", HOME=home)
    assert failed.status != 0 and ".netrc, line 3: " in failed.err and "s3cret" not in failed.err
    missing = wherry("get", server.url("/echo"), "--netrc-file", str(tmp_path / "none"))
    assert missing.status != 0 and str(tmp_path / "none") in missing.err


@pytest.mark.parametrize("query", ["algorithm=SHA-512-256", "qop=auth-int", "qop=auth-int&algorithm=SHA-512-256-sess"])
def test_R20_Digest_supports_RFC_7616(server: Scope, tmp_path: pathlib.Path, query: str) -> None:
    (tmp_path / "a").write_bytes(bytes(100_000))
    result = wherry(
        "post",
        server.url(f"/auth/digest/skye/p?{query}"),
        "--data",
        f"@{tmp_path / 'a'}",
        "--user",
        "skye:p",
        "--digest",
    )
    assert result.status == 0 and result.json["size"] == 100_000
