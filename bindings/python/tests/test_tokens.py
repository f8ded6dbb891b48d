# Wherry: row R32 of features.md, from Python: one token refresh for all requests that got a 401
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

import pytest
from conftest import Make, Server, field

import wherry


def hits(server: Server, path: str) -> int:
    return sum(one["path"].endswith(path) for one in server.log())


def test_R32_fifty_requests_get_a_401_one_new_token_and_fifty_responses(server: Server) -> None:
    asked: List[int] = []

    def refresh(response: wherry.Response) -> str:
        asked.append(response.status_code)
        # From the same client, whose requests call this function.
        token: str = client.post(server.url("/token")).json()["access_token"]
        return token

    settings: Any = {"auth": wherry.Bearer("stale"), "refresh_token": refresh}
    with wherry.Client(**settings) as client, ThreadPoolExecutor(50) as pool:
        urls = [server.url("/protected")] * 50
        assert [one.status_code for one in pool.map(client.get, urls)] == [200] * 50
        assert asked == [401] and hits(server, "/token") == 1
        assert isinstance(client.auth, wherry.Bearer) and client.auth.token == "token-1"
        # Later requests use the token from the start.
        before = hits(server, "/protected")
        assert client.get(urls[0]).status_code == 200
        assert hits(server, "/protected") == before + 1
        client.auth = None
        assert client.get(urls[0], refresh_token=None).status_code == 401


def test_R32_an_attempt_with_a_new_token_counts_as_a_retry(server: Server) -> None:
    # Only attempts after a failure were counted.
    def refresh(response: wherry.Response) -> str:
        return str(client.post(server.url("/token")).json()["access_token"])

    settings: Any = {"auth": wherry.Bearer("stale"), "refresh_token": refresh}
    with wherry.Client(**settings) as client:
        answer = client.get(server.url("/protected"), metrics=True)
        assert answer.metrics is not None and answer.metrics.retries == 1
        answer = client.get(server.url("/protected"), metrics=True)
        assert answer.metrics is not None and answer.metrics.retries == 0


def test_R29_every_attempt_after_the_first_one_of_a_URL_counts_as_a_retry(server: Server) -> None:
    # Answers to a challenge and further base URLs were not counted.
    def retries(answer: wherry.Response) -> int:
        assert answer.status_code == 200 and answer.metrics is not None
        return answer.metrics.retries

    bases = {"down": "http://127.0.0.1:1/", "up": server.base + "/echo"}
    digest: Any = {"auth": wherry.DigestAuth("skye", "p"), "metrics": True}
    with wherry.Client(bases=bases, trust_env=False) as client:
        # The second time the nonce is known.
        for expected in (1, 0):
            url = server.url("/auth/digest/skye/p")
            assert retries(client.get(url, **digest)) == expected
        assert retries(client.get("x", base=["down", "up"], metrics=True)) == 1
        assert retries(client.get(server.url("/redirect/2"), metrics=True)) == 0


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_R32_fifty_async_requests_share_one_token_refresh(server: Server, kind: str) -> None:
    asked: List[int] = []

    def tell(response: wherry.Response) -> str:
        asked.append(response.status_code)
        return "token-1"

    async def refresh(response: wherry.Response) -> wherry.Bearer:
        asked.append(response.status_code)
        answer = await client.post(server.url("/token"))
        return wherry.Bearer(answer.json()["access_token"])

    client: Any = None

    async def main() -> None:
        nonlocal client
        function: Any = refresh if kind == "coroutine" else tell
        async with wherry.AsyncClient(auth=wherry.Bearer("stale"), refresh_token=function) as client:
            if kind == "plain":
                await client.post(server.url("/token"))
            url = server.url("/protected")
            answers = await asyncio.gather(*(client.get(url) for _ in range(50)))
            assert [one.status_code for one in answers] == [200] * 50

    asyncio.run(main())
    assert asked == [401] and hits(server, "/token") == 1


def test_R32_without_a_new_token_every_401_is_final(server: Server) -> None:
    asked: List[int] = []

    def nothing(response: wherry.Response) -> None:
        asked.append(1)

    settings: Any = {"auth": wherry.Bearer("stale"), "refresh_token": nothing}
    with wherry.Client(**settings) as client, ThreadPoolExecutor(50) as pool:
        urls = [server.url("/protected")] * 50
        assert [one.status_code for one in pool.map(client.get, urls)] == [401] * 50
        assert 1 <= len(asked) <= 5 and hits(server, "/protected") == 50
        assert isinstance(client.auth, wherry.Bearer) and client.auth.token == "stale"


def test_R32_a_failed_refresh_is_reported_to_the_requests_that_wait(
    make: Make,
    server: Server,
) -> None:
    def fails(response: wherry.Response) -> None:
        raise KeyError("logged out")

    way = make(auth=wherry.Bearer("stale"), refresh_token=fails, cache=False)
    with pytest.raises(KeyError, match="logged out"):
        way.get(server.url("/protected"))
    with pytest.raises(TypeError, match="refresh_token="):
        way.get(server.url("/protected"), refresh_token=lambda response: 7)
    with pytest.raises(wherry.ArgumentError) as caught:
        way.get(server.url("/protected"), refresh_token=lambda response: "a\r\nb")
    assert caught.value.reason == "bad_header"
    assert hits(server, "/protected") == 3


def test_R32_a_rejected_token_is_replaced_once_more(make: Make, server: Server) -> None:
    asked: List[int] = []

    def useless(response: wherry.Response) -> str:
        asked.append(1)
        return f"useless{len(asked)}"

    way = make(auth=wherry.Bearer("stale"), refresh_token=useless, cache=False)
    assert way.get(server.url("/protected")).status_code == 401
    assert len(asked) == 2 and hits(server, "/protected") == 3


def test_R32_a_request_inside_the_refresh_does_not_wait_for_itself(
    make: Make,
    server: Server,
) -> None:
    seen: List[int] = []
    with wherry.Client(auth=wherry.Bearer("stale")) as client:

        def refresh(response: wherry.Response) -> None:
            seen.append(client.get(server.url("/protected")).status_code)

        client.configure(refresh_token=refresh)
        assert client.get(server.url("/protected")).status_code == 401
    assert seen == [401] and hits(server, "/protected") == 2


def test_R32_a_request_with_an_Authorization_header_does_not_call_the_function(
    make: Make,
    server: Server,
) -> None:
    asked: List[int] = []

    def refresh(response: wherry.Response) -> None:
        asked.append(1)

    way = make(auth=wherry.Bearer("stale"), refresh_token=refresh, cache=False)
    url = server.url("/protected")
    assert way.get(url, auth=wherry.Bearer("mine")).status_code == 401
    assert way.get(url, headers={"Authorization": "Bearer mine"}).status_code == 401
    assert asked == [] and hits(server, "/protected") == 2
    assert way.get(url).status_code == 401 and asked == [1]


def test_R32_after_a_cancelled_refresh_the_next_request_refreshes(server: Server) -> None:
    async def main() -> None:
        entered = asyncio.Event()

        async def refresh(response: wherry.Response) -> str:
            if not entered.is_set():
                entered.set()
                await asyncio.Event().wait()
            answer = await client.post(server.url("/token"))
            return str(answer.json()["access_token"])

        async with wherry.AsyncClient(auth=wherry.Bearer("stale"), refresh_token=refresh) as client:
            asker = asyncio.ensure_future(client.get(server.url("/protected")))
            await entered.wait()
            other = asyncio.ensure_future(client.get(server.url("/protected")))
            while sum(one.state == "waiting" for one in client.transfers()) < 2:
                await asyncio.sleep(0)
            asker.cancel()
            assert (await other).status_code == 200
            with pytest.raises(asyncio.CancelledError):
                await asker

    asyncio.run(main())


def test_R32_a_client_can_change_from_a_token_to_other_credentials(client: wherry.Client, server: Server) -> None:
    def sent() -> List[str]:
        return field(client.get(server.url("/echo")).json(), "authorization")

    for auth, expected in (
        (wherry.Bearer("a"), ["Bearer a"]), (("u", "p"), ["Basic dTpw"]),
        (wherry.Bearer("b"), ["Bearer b"]), (wherry.DigestAuth("u", "p"), []),
        (wherry.Bearer("c"), ["Bearer c"]), (None, []),
    ):  # fmt: skip
        client.auth = auth
        assert sent() == expected
