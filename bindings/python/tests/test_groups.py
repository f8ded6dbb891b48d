# Wherry: row R34 of features.md
# SPDX-License-Identifier: Apache-2.0
"""Groups of requests, blocking and with asyncio."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, List, Tuple

import pytest
from conftest import PATIENT, Make, Server, Way, until

import wherry


def filled(group: Any, server: Server, *paths: str) -> Any:
    for path in paths:
        group.get(server.url(path))
    return group


FIVE = ("/text/a", "/text/b", "/status/500", "/text/c", "/text/d")


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Any:
    loop = asyncio.new_event_loop()
    kind = wherry.Client if request.param == "sync" else wherry.AsyncClient
    made = Way(kind(**PATIENT), loop)
    try:
        yield made
        made.close()
    finally:
        loop.close()


def test_R34_a_group_returns_responses_in_the_order_of_adding(way: Way, server: Server) -> None:
    told: List[Tuple[int, int]] = []
    group = way.client.group(progress=lambda p: told.append((p.ended, p.count)))
    for number in range(5):
        assert group.get(server.url("/echo", n=number), tag="mine") == number

    answers = way.done(group.run())

    queries = [answer.json()["query"] for answer in answers]
    assert [["n", str(n)] in query for n, query in enumerate(queries)] == [True] * 5
    assert answers[0].tag == "mine"
    assert group.failed is None and not group.from_cache
    assert told[-1] == (5, 5) and told == sorted(told)
    assert way.client.count() == 0


def test_R34_fail_fast_names_the_failed_request_and_cancels_the_others(way: Way, server: Server) -> None:
    gate = server.gate()
    group = way.client.group()
    for path in FIVE:
        # The others wait for a gate that never opens.
        group.get(server.url(path) if "500" in path else server.url(path, gate=gate))

    with pytest.raises(wherry.HTTPStatusError) as caught:
        way.done(group.run())

    assert group.failed == 2
    assert str(caught.value).startswith("Request 3 of 5, GET ")
    assert "/status/500" in str(caught.value)
    assert caught.value.http_status == 500
    assert caught.value.response is not None and caught.value.response.status_code == 500
    assert isinstance(caught.value.underlying, wherry.HTTPStatusError)
    assert way.client.count() == 0


def test_R34_all_settled_continues_with_the_others(way: Way, server: Server) -> None:
    group = filled(way.client.group(all_settled=True), server, *FIVE)
    group.get("http://127.0.0.1:1/")

    answers = way.done(group.run())

    assert [one.status_code for one in answers[:5]] == [200, 200, 500, 200, 200]
    with pytest.raises(wherry.HTTPStatusError):
        answers[2].raise_for_status()
    assert isinstance(answers[5], wherry.NetworkError) and answers[5].reason == "connect"
    assert group.failed in (2, 5)
    assert len(server.log()) == 5


def test_R34_starting_twice_is_an_error_that_says_so(way: Way, server: Server) -> None:
    group = filled(way.client.group(), server, "/text/a")
    assert len(way.done(group.run())) == 1
    with pytest.raises(wherry.StateError, match="already started") as caught:
        way.done(group.run())
    assert caught.value.reason == "already_started"
    with pytest.raises(wherry.StateError):
        group.get(server.url("/text/b"))
    assert len(server.log()) == 1


def test_R34_an_invalid_member_prevents_all_from_being_sent(way: Way, server: Server) -> None:
    group = filled(way.client.group(), server, "/text/a")
    group.get("ftp://nowhere/")
    with pytest.raises(wherry.ArgumentError, match="Request 2 of 2 cannot be sent") as caught:
        way.done(group.run())
    assert caught.value.reason == "bad_url"
    assert server.log() == [] and way.client.count() == 0
    assert way.done(filled(way.client.group(), server).run()) == []


def test_R34_nested_groups_end_by_their_own_policies(way: Way, server: Server) -> None:
    inner = filled(way.client.group(all_settled=True), server, "/status/404", "/text/b")
    group = filled(way.client.group(), server, "/text/a")
    group.add(inner)
    group.add(inner)

    one, first, second = way.done(group.run())

    assert one.status_code == 200
    assert [[a.status_code for a in part] for part in (first, second)] == [[404, 200]] * 2
    failing = way.client.group()
    failing.add(filled(way.client.group(), server, "/text/a", "/status/503"))
    with pytest.raises(wherry.HTTPStatusError) as caught:
        way.done(failing.run())
    assert str(caught.value).startswith("Group 1 of 1 failed: Request 2 of 2, GET ")


def test_R34_a_response_reports_that_all_results_are_cached(make: Make, server: Server) -> None:
    way = make(cache=False)

    def run(*paths: str) -> Any:
        group = way.client.group()
        for path in paths:
            group.get(server.url(path), cache=60, cache_policy="use")
        way.done(group.run())
        return group

    assert not run("/text/a", "/text/b").from_cache
    assert run("/text/a", "/text/b").from_cache
    assert not run("/text/a", "/text/c").from_cache
    assert len(server.log()) == 3


def test_R34_an_exception_in_a_function_of_the_caller_ends_the_group(way: Way, server: Server) -> None:
    def broken(_: Any) -> None:
        raise LookupError("mine")

    group = filled(way.client.group(progress=broken), server, "/text/a")
    group.get(server.url("/text/b", gate=server.gate()))
    with pytest.raises(LookupError, match="mine"):
        way.done(group.run())
    group = way.client.group()
    group.get(server.url("/bytes/100000"), progress=broken)
    with pytest.raises(LookupError, match="mine"):
        way.done(group.run())


class TestRaisedAfterTheEnd:
    """A stub responds as soon as a group begins, so a member has ended when its events are read. An
    exception raised there once became a value among the responses, and the group succeeded.
    """

    @pytest.fixture
    def late(self, make: Make, mock: wherry.MockTransport) -> Way:
        mock.advance(0)
        mock.add(None, "http://h/now", content=b"x" * 1000)
        mock.add(None, "http://h/later", content=b"y", delay=10)
        return make(transport=mock, cache=False)

    def member(self, late: Way, group: Any, error: Exception) -> None:
        def broken(_: Any) -> None:
            until(lambda: late.client.count(tag="one") == 0)
            raise error

        group.get("http://h/now", tag="one", progress=broken)

    def test_R34_an_exception_ends_the_group_and_the_members_in_flight(self, late: Way) -> None:
        mine = wherry.StateError("mine", "wrong_state")
        for error in (LookupError("mine"), mine):
            group = late.client.group()
            group.get("http://h/later")
            self.member(late, group, error)
            with pytest.raises(type(error), match="mine"):
                late.done(group.run())
            assert group.failed == 1
            assert late.client.count() == 0

    def test_R34_an_exception_ends_the_group_after_all_members_have_ended(self, late: Way) -> None:
        group = late.client.group()
        group.get("http://h/now")
        self.member(late, group, LookupError("mine"))
        with pytest.raises(LookupError, match="mine"):
            late.done(group.run())
        assert group.failed == 1

    def test_R34_an_exception_is_a_value_in_an_all_settled_group(self, late: Way) -> None:
        inner = late.client.group()
        self.member(late, inner, LookupError("inner"))
        steps = late.client.chain(lambda chain, previous: None)
        self.member(late, steps, LookupError("step"))
        group = late.client.group(all_settled=True)
        self.member(late, group, LookupError("member"))
        group.add(inner)
        group.add(steps)
        group.get("http://h/now")
        *errors, answer = late.done(group.run())
        assert [str(error) for error in errors] == ["member", "inner", "step"]
        assert answer.status_code == 200 and group.failed == 2

    def test_R34_all_settled_groups_keep_exceptions_and_other_groups_propagate_them(
        self,
        late: Way,
    ) -> None:
        settled = late.client.group(all_settled=True)
        self.member(late, settled, LookupError("kept"))
        outer = late.client.group()
        outer.get("http://h/now")
        outer.add(settled)
        answer, (kept,) = late.done(outer.run())
        assert answer.status_code == 200 and isinstance(kept, LookupError)

        inner = late.client.chain(lambda chain, previous: None)
        batch = late.client.group()
        self.member(late, batch, LookupError("handed on"))
        inner.add(batch)
        inner.get("http://h/later")
        outer = late.client.group()
        outer.get("http://h/now")
        outer.add(inner)
        with pytest.raises(LookupError, match="handed on"):
            late.done(outer.run())
        assert outer.failed == 1 and late.client.count() == 0


def test_R34_members_can_have_streamed_bodies(way: Way, server: Server) -> None:
    group = way.client.group()
    for number in range(3):
        group.post(server.url("/sink"), content=iter([b"x" * 1000] * (number + 1)))
    assert [one.json()["bytes"] for one in way.done(group.run())] == [1000, 2000, 3000]


def test_R34_a_group_cannot_be_a_member_of_itself(client: wherry.Client) -> None:
    outer, inner = client.group(), client.group()
    outer.add(inner)
    for group, member in ((outer, outer), (inner, outer)):
        with pytest.raises(wherry.ArgumentError):
            group.add(member)


def test_R34_another_thread_cancels_the_complete_group(
    client: wherry.Client,
    server: Server,
) -> None:
    group = client.group(all_settled=True)
    for _ in range(3):
        group.get(server.url("/text/a", gate=server.gate()))

    def cancel() -> None:
        server.wait(requests=3)
        group.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(wherry.CancelledError):
        group.run()
    canceller.join()
    assert client.count() == 0


def test_R34_cancelling_the_task_cancels_the_complete_group(server: Server) -> None:
    async def main() -> None:
        async with wherry.AsyncClient(**PATIENT) as client:
            group = filled(client.group(), server)
            for _ in range(3):
                group.get(server.url("/text/a", gate=server.gate()))
            task = asyncio.ensure_future(group.run())
            await asyncio.get_running_loop().run_in_executor(None, lambda: server.wait(requests=3))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while client.count():
                await asyncio.sleep(0)

    asyncio.run(main())


def test_R34_closing_the_client_ends_its_groups(server: Server) -> None:
    async def main() -> None:
        client = wherry.AsyncClient(**PATIENT)
        group = client.group()
        group.get(server.url("/text/a", gate=server.gate()))
        task = asyncio.ensure_future(group.run())
        await asyncio.get_running_loop().run_in_executor(None, lambda: server.wait(requests=1))
        await client.aclose()
        with pytest.raises(wherry.CancelledError):
            await task

    asyncio.run(main())
