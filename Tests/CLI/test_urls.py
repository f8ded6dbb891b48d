# Wherry: tests of URLs as they are typed.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json
import pathlib

import pytest
from conftest import PATIENT_DOWNLOAD, Scope, wherry


def bare(url: str) -> str:
    assert url.startswith("http://")
    return url.removeprefix("http://")


def test_only_a_scheme_at_the_start_counts(server: Scope) -> None:
    # `://` anywhere in the URL prevented the default scheme.
    for path in ("/echo?next=https://example.org/", "/echo#a://b"):
        result = wherry("get", bare(server.url(path)))
        assert result.status == 0 and result.json["method"] == "GET", result
    assert server.requests()[0]["target"].endswith("/echo?next=https://example.org/")


@pytest.mark.parametrize(
    "url, right",
    [
        ("http:/127.0.0.1:1/a", "http://127.0.0.1:1/a"),
        ("https:/example.org", "https://example.org"),
        ("HTTP:/example.org", "http://example.org"),
        ("http:example.org", "http://example.org"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [["get"], ["download"], ["cache", "show"], ["cache", "list"], ["cache", "clear"], ["jobs", "pause", "--url"]],
)
def test_a_scheme_without_slashes_is_reported(url: str, right: str, command: list[str]) -> None:
    # http:/host became http://http:/host: a host named http was looked up.
    result = wherry(*command, url)

    assert result.status == 2 and "no // after http" in result.err and f"Write {right}" in result.err, result.err


def test_every_command_completes_its_URLs(server: Scope, tmp_path: pathlib.Path) -> None:
    # Only requests did: `cache show example.org` did not find the entry of `get example.org`.
    store = ("--cache-directory", tmp_path / "store")
    url = server.url("/cache?control=max-age=3600")
    body = wherry("get", bare(url), "--cache-policy", "protocol", *store).out
    assert wherry("cache", "show", bare(url), *store).out == body != b""
    assert len(wherry("cache", "list", bare(url), *store).text.splitlines()) == 1
    assert wherry("cache", "clear", bare(url), "--json-output", *store).json["deleted"] == 1

    from wherry_testserver import pattern

    digest = hashlib.sha256(pattern.data(1, 0, 1000)).hexdigest()
    done = wherry(
        "download",
        server.url("/status/500"),
        "-o",
        tmp_path / "file",
        "--sha256",
        digest,
        "--mirror",
        bare(server.url("/bytes/1000")),
        "--retries",
        "0",
    )
    assert done.status == 0 and (tmp_path / "file").stat().st_size == 1000, done

    session = ("--state-dir", tmp_path / "state")
    held = server.url("/bytes/1000?hold=1&gate=never")
    begun = wherry("download", held, "-o", tmp_path / "held", *PATIENT_DOWNLOAD, "--background", *session)
    assert begun.status == 0, begun
    cancelled = wherry("jobs", "cancel", "--url", bare(server.url("/bytes/1000")), "--json-output", *session)
    assert json.loads(cancelled.text)["state"] == "cancelled"
    assert wherry("jobs", "clean", *session).status == 0
