# Wherry: informational responses, unkept connections, and the length of messages
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Dict

import pytest
from conftest import Server

import wherry


def hints(server: Server) -> str:
    head = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-N: 1\r\n\r\n"
    final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    steps = [{"raw": [["send", "HTTP/1.1 102 Processing\r\n\r\n"], ["send", head], ["send", final]]}]
    server.script("hints", steps)
    return server.url("/s/hints")


def test_R16_informational_responses_are_visible(server: Server, client: wherry.Client) -> None:
    # They were read and discarded.
    answer = client.get(hints(server))
    assert [one.status_code for one in answer.informational] == [102, 103]
    assert answer.informational[0].headers.get("link") is None
    assert answer.informational[1].headers["link"] == "</a.css>; rel=preload"
    assert answer.text == "ok" and "link" not in answer.headers
    assert client.get(server.url("/echo")).informational == ()
    with client.stream("GET", hints(server)) as streamed:
        assert [one.status_code for one in streamed.informational] == [102, 103]


def test_L3_informational_responses_are_in_the_log(server: Server, client: wherry.Client) -> None:
    with client.log("debug") as log:
        client.get(hints(server))
        log.end()
        lines = [record.text.partition("\n")[0] for record in log if record.event == "headers"]
    told = [line.rpartition(":")[2] for line in lines]
    assert told == ["102", "103", "200"]


@pytest.mark.parametrize("of_client", [True, False])
def test_C15_keep_alive_false_closes_each_connection(server: Server, of_client: bool) -> None:
    off: Dict[str, Any] = {"keep_alive": False}
    client_options, options = (off, {}) if of_client else ({}, off)
    with wherry.Client(**client_options) as client:
        for _ in range(3):
            assert client.get(server.url("/echo"), **options).ok
    log = server.log()
    assert len({one["connection"] for one in log}) == 3
    closing = [v for one in log for n, v in one["headers"] if n.lower() == "connection"]
    assert closing == ["close"] * 3


def test_C15_the_error_for_a_connection_header_names_the_option(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.ArgumentError, match="keep_alive") as caught:
        client.get(server.url("/echo"), headers={"Connection": "close"})
    assert caught.value.reason == "bad_header" and server.log() == []


def test_E3_a_message_truncates_a_long_URL(client: wherry.Client) -> None:
    # A message repeated an 80 MB URL.
    for url in ("http://[" + "a" * 5_000_000, "ftp://example.org/" + "b" * 5_000_000):
        with pytest.raises(wherry.WherryError) as caught:
            client.get(url)
        assert len(caught.value.message) < 700 and len(str(caught.value)) < 700
        assert url[:100] in caught.value.message
