# Wherry: rows R29 and R31 of features.md, from Python: retries
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any, List, Tuple

import pytest
from conftest import Make, Server
from test_uploads import png

import wherry


def test_R29_requests_are_retried_up_to_the_requested_number(mock: wherry.MockTransport) -> None:
    mock.add(None, "http://h/a", times=2, status=503, headers={"Retry-After": "0"})
    mock.add(None, "*", content=b"ok")
    mock.advance(0)
    with wherry.Client(transport=mock, max_retries=2) as client:
        answers: list[wherry.Response] = []
        thread = threading.Thread(target=lambda: answers.append(client.get("http://h/a")))
        thread.start()
        while thread.is_alive():
            # Both waits together take a second and a half at most.
            mock.advance(0.5)
            thread.join(0.01)
        assert answers[0].content == b"ok"
        assert len(mock.requests) == 3


def test_R29_by_default_neither_a_GET_nor_a_POST_is_retried(mock: wherry.MockTransport) -> None:
    mock.add(None, "*", status=503)
    with wherry.Client(transport=mock) as client:
        assert client.get("http://h/").status_code == 503
        client.configure(max_retries=3)
        assert client.post("http://h/").status_code == 503
        assert len(mock.requests) == 2


def test_R29_a_POST_is_retried_if_allowed(mock: wherry.MockTransport) -> None:
    mock.add(None, "*", times=1, status=500)
    mock.add(None, "*", content=b"ok")
    with wherry.Client(transport=mock) as client:
        answer = client.post("http://h/", data=b"twice", max_retries=1, retry_unsafe_methods=True, metrics=True)
        assert answer.content == b"ok"
        assert [request.content for request in mock.requests] == [b"twice", b"twice"]
        assert answer.metrics is not None and answer.metrics.retries == 1


def test_R29_a_POST_is_not_retried_after_a_kept_connection_drops(server: Server, client: wherry.Client) -> None:
    # Each second request is read and dropped.
    server.script("kept", [{"json": {}}, {"raw": [["read_body"], ["fin"]]}] * 9)
    url = server.url("/s/kept")
    client.get(url)
    with pytest.raises(wherry.NetworkError) as caught:
        client.post(url, data=b"amount=1")
    assert caught.value.reason == "connection_reset"
    assert [one["method"] for one in server.log()] == ["GET", "POST"]
    assert client.post(url, data=b"amount=1").status_code == 200
    assert client.post(url, data=b"amount=1", retry_unsafe_methods=True).status_code == 200
    for _ in range(6):
        assert client.get(url).status_code == 200


def test_R29_a_negative_number_is_refused() -> None:
    with pytest.raises(wherry.ArgumentError):
        wherry.Client(max_retries=-2)


def test_R29_a_final_error_response_is_streamed_like_any_other(
    mock: wherry.MockTransport,
) -> None:
    mock.add(None, "*", status=503, content=b"no")
    mock.advance(0)
    with wherry.Client(transport=mock, max_retries=1) as client:
        seen: List[Tuple[int, bytes]] = []

        def ask() -> None:
            with client.stream("GET", "http://h/") as answer:
                seen.append((answer.status_code, answer.read()))

        thread = threading.Thread(target=ask)
        thread.start()
        while thread.is_alive():
            mock.advance(0.5)
            thread.join(0.01)
        assert seen == [(503, b"no")]
        assert len(mock.requests) == 2


# R31: retry functions


def test_R31_a_function_retries_now_later_or_never(make: Make, mock: wherry.MockTransport) -> None:
    mock.add(None, "http://h/a", times=3, status=404, text="not yet")
    mock.add(None, "http://h/a", content=b"at last")
    mock.add(None, "http://h/b", status=500)
    way = make(transport=mock, cache=False)
    seen: List[Tuple[Any, ...]] = []

    def decide(error: wherry.WherryError, retries: int) -> Any:
        assert isinstance(error, wherry.HTTPStatusError)
        text = None if error.response is None else error.response.text
        seen.append((error.http_status, retries, text, error.context))
        return 0 if retries < 3 else False

    answer = way.request("POST", "http://h/a", on_retry=decide, context="mine", metrics=True)
    assert answer.content == b"at last"
    assert answer.metrics is not None and answer.metrics.retries == 3
    assert seen == [(404, number, "not yet", "mine") for number in range(3)]
    assert way.get("http://h/b", on_retry=decide).status_code == 500
    assert len(mock.requests) == 4 + 4
    assert way.get("http://h/b", on_retry=lambda error, retries: False).status_code == 500
    assert len(mock.requests) == 9


def test_R31_without_a_decision_max_retries_applies(make: Make, mock: wherry.MockTransport) -> None:
    mock.add(None, "*", status=503, headers={"Retry-After": "0"})
    way = make(transport=mock, cache=False)
    seen: List[int] = []

    def nothing(error: wherry.WherryError, retries: int) -> None:
        seen.append(retries)

    assert way.get("http://h/", on_retry=nothing).status_code == 503
    assert seen == [0] and len(mock.requests) == 1
    assert way.get("http://h/", on_retry=nothing, max_retries=2).status_code == 503
    assert seen == [0, 0, 1, 2] and len(mock.requests) == 4


@pytest.mark.parametrize(("answer", "least"), [(40.5, 40.5), (True, 0.0)], ids=["40.5 s", "as usual"])
def test_R31_a_function_can_delay_by_seconds_or_by_the_usual_wait(
    mock: wherry.MockTransport, answer: Any, least: float
) -> None:
    mock.add(None, "*", times=1, status=404)
    mock.add(None, "*", content=b"ok")
    mock.advance(0)
    with wherry.Client(transport=mock, on_retry=lambda error, retries: answer) as client:
        answers: List[wherry.Response] = []
        thread = threading.Thread(target=lambda: answers.append(client.put("http://h/")))
        thread.start()
        passed = 0.0
        while thread.is_alive():
            assert len(mock.requests) <= 1 or passed >= least
            mock.advance(0.5)
            passed += 0.5
            thread.join(0.005)
        assert answers[0].content == b"ok" and passed >= least


def test_R31_a_dropped_connection_has_no_response(make: Make, mock: wherry.MockTransport) -> None:
    mock.fail(None, "*", "connection_reset", times=1)
    mock.add(None, "*", content=b"ok")
    seen: List[wherry.WherryError] = []

    def decide(error: wherry.WherryError, retries: int) -> int:
        seen.append(error)
        return 0

    way = make(transport=mock, cache=False, on_retry=decide)
    assert way.request("POST", "http://h/", data=b"x").content == b"ok"
    assert [(error.reason, error.response) for error in seen] == [("connection_reset", None)]
    assert [one.content for one in mock.requests] == [b"x", b"x"]


def test_R31_an_exception_or_an_invalid_result_ends_the_request(make: Make, mock: wherry.MockTransport) -> None:
    mock.add(None, "*", status=500)
    way = make(transport=mock, cache=False)

    def fails(error: wherry.WherryError, retries: int) -> None:
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        way.get("http://h/", on_retry=fails)
    with pytest.raises(TypeError, match="on_retry="):
        way.get("http://h/", on_retry=lambda *_: "soon")
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="on_retry="):
            way.get("http://h/", on_retry=lambda *_: seconds)
    with pytest.raises(TypeError, match="on_retry="):
        way.get("http://h/", on_retry=7)
    assert len(mock.requests) == 5


def test_R31_a_request_may_disable_the_function_of_its_client(make: Make, mock: wherry.MockTransport) -> None:
    mock.add(None, "*", status=500)
    seen: List[int] = []

    def decide(error: wherry.WherryError, retries: int) -> Any:
        seen.append(retries)
        return 0 if retries == 0 else False

    way = make(transport=mock, cache=False, on_retry=decide)
    assert way.get("http://h/").status_code == 500 and seen == [0, 1]
    assert way.get("http://h/", on_retry=None).status_code == 500 and seen == [0, 1]
    way.client.configure(on_retry=None)
    assert way.get("http://h/").status_code == 500 and seen == [0, 1]
    assert len(mock.requests) == 4
    with pytest.raises(TypeError, match="on_retry="):
        way.client.configure(on_retry=7)


@pytest.mark.parametrize("way", ["request", "stream", "pages", "endpoint", "upload"])
@pytest.mark.parametrize("kind", ["sync", "async", "coroutine"])
def test_R31_requests_of_every_kind_call_the_function(mock: wherry.MockTransport, way: str, kind: str) -> None:
    mock.add(None, "http://h/*", times=2, status=423)
    mock.add(None, "http://h/*", json=[1])
    seen: List[int] = []

    def plain(error: wherry.WherryError, retries: int) -> int:
        seen.append(retries)
        return 0

    async def later(error: wherry.WherryError, retries: int) -> int:
        await asyncio.sleep(0)
        return plain(error, retries)

    def blocking() -> Any:
        with wherry.Client(transport=mock, on_retry=plain) as client:
            if way == "request":
                return client.get("http://h/a").json()
            if way == "upload":
                return client.upload("http://h/a", png(8, 8)).json()
            if way == "stream":
                with client.stream("GET", "http://h/a") as stream:
                    assert stream.status_code == 200
                    return json.loads(stream.read())
            if way == "pages":
                with client.pages("http://h/a") as pages:
                    pages.load_next()
                    return pages.items
            with wherry.Endpoint(client, "http://h", "a", "GET") as endpoint:
                return endpoint.access().json()

    async def waiting() -> Any:
        function = later if kind == "coroutine" else plain
        async with wherry.AsyncClient(transport=mock, on_retry=function) as client:
            if way == "request":
                return (await client.get("http://h/a")).json()
            if way == "upload":
                return (await client.upload("http://h/a", png(8, 8))).json()
            if way == "stream":
                async with client.stream("GET", "http://h/a") as stream:
                    assert stream.status_code == 200
                    return json.loads(await stream.aread())
            if way == "pages":
                async with client.pages("http://h/a") as pages:
                    await pages.load_next()
                    return pages.items
            async with wherry.AsyncEndpoint(client, "http://h", "a", "GET") as endpoint:
                return (await endpoint.access()).json()

    assert (blocking() if kind == "sync" else asyncio.run(waiting())) == [1]
    assert seen == [0, 1]
    assert len(mock.requests) == 3


def test_R31_a_coroutine_function_needs_an_async_client(mock: wherry.MockTransport) -> None:
    mock.add(None, "*", status=500)

    async def decide(error: wherry.WherryError, retries: int) -> int:
        return 0

    with wherry.Client(transport=mock) as client:
        with pytest.raises(TypeError, match="AsyncClient"):
            client.get("http://h/", on_retry=decide)
        for keyword in ("on_retry", "refresh_token", "on_credentials", "store"):
            options: Any = {keyword: decide}
            with pytest.raises(TypeError, match=keyword):
                client.download("http://h/", "/nowhere", **options)
    assert len(mock.requests) == 1


def test_R31_a_late_decision_is_ignored(make: Make, mock: wherry.MockTransport) -> None:
    mock.add(None, "*", status=500)
    mock.advance(0)
    way = make(transport=mock, cache=False)

    def slow(error: wherry.WherryError, retries: int) -> Any:
        mock.advance(31)
        return 0 if retries == 0 else False

    assert way.get("http://h/", on_retry=slow).status_code == 500
    assert len(mock.requests) == 1
    assert way.get("http://h/", on_retry=slow, hook_timeout=32).status_code == 500
    assert len(mock.requests) == 3
    way.client.configure(hook_timeout=32)
    assert way.get("http://h/", on_retry=slow).status_code == 500
    assert len(mock.requests) == 5


def test_R31_an_abandoned_coroutine_is_cancelled(
    mock: wherry.MockTransport,
) -> None:
    mock.add(None, "*", status=500)
    mock.advance(0)

    async def main() -> List[str]:
        told: List[str] = []
        asked, left = asyncio.Event(), asyncio.Event()

        async def never(error: wherry.WherryError, retries: int) -> None:
            asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                told.append("cancelled")
                raise
            finally:
                left.set()

        async with wherry.AsyncClient(transport=mock) as client:
            request = asyncio.ensure_future(client.get("http://h/", on_retry=never))
            await asked.wait()
            mock.advance(30)
            assert (await request).status_code == 500
            await left.wait()
        return told

    assert asyncio.run(main()) == ["cancelled"]
    assert len(mock.requests) == 1


def test_R31_the_range_of_accepted_statuses_defines_a_failure(make: Make, mock: wherry.MockTransport) -> None:
    for status in (204, 304, 404, 500):
        mock.add(None, f"http://h/{status}", status=status)
    seen: List[int] = []

    def decide(error: wherry.WherryError, retries: int) -> bool:
        seen.append(error.http_status)
        return False

    way = make(transport=mock, cache=False, on_retry=decide)
    assert way.get("http://h/304").ok and not way.get("http://h/404").ok
    assert seen == [404]
    way.client.configure(accept_status_range=(200, 404))
    assert way.get("http://h/404").raise_for_status().ok and seen == [404]
    assert not way.get("http://h/500").ok and seen == [404, 500]
    least = way.get("http://h/304", accept_status_range=range(200, 300))
    with pytest.raises(wherry.HTTPStatusError):
        least.raise_for_status()
    assert way.get("http://h/204", accept_status_range=range(200, 300)).ok
    assert way.get("http://h/500", accept_status_range=(200, 299), accept_status=[500]).ok
    assert not way.get("http://h/404", accept_status_range=None).ok
    for wrong, kind in (((300, 200), ValueError), ((0, 99), ValueError), (404, TypeError)):
        with pytest.raises(kind):
            way.get("http://h/204", accept_status_range=wrong)
        with pytest.raises(kind):
            way.client.configure(accept_status_range=wrong)
    assert way.get("http://h/404").ok
