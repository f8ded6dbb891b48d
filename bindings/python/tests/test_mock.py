# Wherry: tests without a network
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Type

import pytest

import wherry


def test_R39_rules_match_oldest_first_and_for_their_count(
    mock: wherry.MockTransport,
) -> None:
    mock.add("GET", "http://api.test/items", json={"page": 1}, times=1)
    mock.add("GET", "http://api.test/items", json={"page": 2})
    mock.add(None, "http://api.test/*", 404, text="grün", headers={"X-A": "b"})

    with wherry.Client(base_url="http://api.test", transport=mock) as client:
        pages = [client.get("items").json()["page"] for _ in range(3)]
        other = client.delete("nothing")

    assert pages == [1, 2, 2]
    assert (other.status_code, other.text, other.headers["x-a"]) == (404, "grün", "b")
    assert other.headers["content-type"] == "text/plain; charset=utf-8"


def test_R39_a_mock_records_its_requests(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        client.post("http://api.test/x", params={"a": 1}, json={"b": 2}, headers={"X-C": "3"})

    (asked,) = mock.requests
    assert (asked.method, asked.url) == ("POST", "http://api.test/x?a=1")
    assert asked.json() == {"b": 2}
    assert asked.headers["x-c"] == "3"
    assert asked.headers["content-type"].startswith("application/json")


def test_R39_a_request_without_a_matching_rule_never_leaves_the_process(
    mock: wherry.MockTransport,
) -> None:
    with wherry.Client(transport=mock) as client:
        with pytest.raises(wherry.NetworkError) as caught:
            client.get("http://api.test/")
    assert caught.value.reason == "connect"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("resolve", wherry.NetworkError),
        ("truncated", wherry.NetworkError),
        ("untrusted", wherry.TLSError),
        ("idle_timeout", wherry.TimeoutError),
    ],
)
def test_R39_failures_look_like_real_ones(
    mock: wherry.MockTransport, reason: str, kind: Type[wherry.WherryError]
) -> None:
    mock.fail("GET", "*", reason)
    with wherry.Client(transport=mock) as client:
        with pytest.raises(kind) as caught:
            client.get("http://api.test/")
    assert caught.value.reason == reason


def test_R39_the_test_moves_the_clock(mock: wherry.MockTransport) -> None:
    mock.add("GET", "*", text="late", delay=3600)
    mock.advance(0)
    with wherry.Client(transport=mock, timeout=None) as client, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.get, "http://api.test/")
        while not mock.requests:
            assert not waiting.done()
            threading.Event().wait(0.001)
        mock.advance(3599)
        assert not waiting.done()
        mock.advance(1)
        assert waiting.result(120).text == "late"


def test_R39_asyncio_and_streams_work_with_mocks_too(mock: wherry.MockTransport) -> None:
    mock.add("GET", "*", content=b"x" * 100000)

    async def main() -> int:
        async with wherry.AsyncClient(transport=mock) as client:
            whole = await client.get("http://api.test/")
            async with client.stream("GET", "http://api.test/") as answer:
                return len(whole.content) + len(await answer.aread())

    assert asyncio.run(main()) == 200000


def test_R39_all_tests_of_this_file_pass_without_a_network(request: pytest.FixtureRequest) -> None:
    alone = ["unshare", "-rn"]
    try:
        subprocess.run([*alone, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a program cannot be started without a network here: {error}")
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "--deselect",
        request.node.nodeid,
    ]  # fmt: skip
    down = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    unplugged = [*alone, sys.executable, "-c", down]

    refused = subprocess.run(unplugged, capture_output=True, text=True, timeout=600)
    done = subprocess.run([*alone, *command], capture_output=True, text=True, cwd=request.config.rootpath, timeout=600)

    assert refused.returncode != 0 and "unreachable" in refused.stderr
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr


def test_a_client_with_a_mock_cannot_be_pickled(mock: wherry.MockTransport) -> None:
    with wherry.Client(transport=mock) as client:
        with pytest.raises(TypeError):
            pickle.dumps(client)
