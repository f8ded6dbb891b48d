# Wherry: tests of secrets from files, where other users cannot see them.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib

import pytest
from conftest import Scope, field, wherry


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_a_bearer_token_comes_from_a_file(
    server: Scope,
    tmp_path: pathlib.Path,
    source: str,
) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    argument = f"@{tmp_path / 'token'}" if source == "file" else "@-"

    result = wherry("get", server.url("/echo"), "--bearer", argument, input=b"s3cret\r\n")

    assert field(result.json, "Authorization") == "Bearer s3cret"


def test_headers_come_from_a_file(server: Scope, tmp_path: pathlib.Path) -> None:
    (tmp_path / "fields").write_text("X-Key: s3cret\n\nAccept:\nX-Two: a: b\n")

    result = wherry("get", server.url("/echo"), "-H", f"@{tmp_path / 'fields'}", "-H", "X-Three: 3")

    assert [field(result.json, name) for name in ("X-Key", "Accept", "X-Two", "X-Three")] == [
        "s3cret",
        None,
        "a: b",
        "3",
    ]


def test_an_invalid_header_line_is_named_and_not_shown(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "fields").write_text("X-Key: 1\ns3cret\n")

    result = wherry("get", server.url("/echo"), "--header", f"@{tmp_path / 'fields'}")

    assert result.status == 2 and "Line 2" in result.err and "s3cret" not in result.err
    assert server.requests() == []


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_fields_and_parameters_come_from_files(
    server: Scope,
    tmp_path: pathlib.Path,
    source: str,
) -> None:
    (tmp_path / "a=b").write_text("p@ss=1 \n")
    path = tmp_path / "a=b" if source == "file" else "-"

    result = wherry("post", server.url("/echo"), "--field", "user=@skye", "--field", f"pass@{path}", input=b"p@ss=1 \n")
    assert result.json["form"] == [["user", "@skye"], ["pass", "p@ss=1 "]]

    result = wherry("get", server.url("/echo"), "--param", f"key@{path}", input=b"p@ss=1 ")
    assert result.json["query"] == [["key", "p@ss=1 "]]


def test_a_text_field_of_an_upload_comes_from_a_file(server: Scope, tmp_path: pathlib.Path) -> None:
    from test_uploads import jpeg

    (tmp_path / "pass").write_text("s3cret\n")
    result = wherry("upload", server.url("/echo"), jpeg(tmp_path / "a.jpg"), "--field", f"pass@{tmp_path / 'pass'}")

    assert next(part for part in result.json["parts"] if part["name"] == "pass")["text"] == "s3cret"


def test_standard_input_serves_only_one_option(server: Scope) -> None:
    result = wherry("post", server.url("/echo"), "--bearer", "@-", "--json", "@-", input=b"1")

    assert result.status == 2 and "one option only" in result.err
    assert server.requests() == []


def test_a_missing_file_is_named(server: Scope) -> None:
    result = wherry("get", server.url("/echo"), "--bearer", "@/nowhere/token")

    assert result.status == 7 and "/nowhere/token" in result.err and server.requests() == []
