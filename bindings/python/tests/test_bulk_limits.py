# Wherry: connection limits of bulk jobs
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import random
from typing import Any, Dict, List, Tuple

import pytest

from wherry.bulk._limits import LEASE, LONGEST_PAUSE, HostGate, HostLimiter, HostRefused, Shares, Wanted


def shares(limiter: HostLimiter, now: float, worker: str, wanted: int, used: int = 0) -> int:
    return limiter.exchange(now, worker, {"a": (wanted, used)}, {})["a"][0]


def test_B5_a_worker_alone_gets_what_it_wants_up_to_the_limit() -> None:
    limiter = HostLimiter(6)

    assert shares(limiter, 0, "w1", 4) == 4
    assert shares(limiter, 1, "w1", 40) == 6
    assert limiter.exchange(2, "w1", {"b": (2, 0)}, {}) == {"b": (2, 0.0)}  # The limit is one of each host.
    assert shares(limiter, 3, "w2", 9) == 6  # "w1" released its share of "a" by not naming it.


def test_B5_workers_share_a_host_evenly_when_connections_become_free() -> None:
    limiter = HostLimiter(6)
    assert shares(limiter, 0, "w1", 9) == 6

    assert shares(limiter, 0, "w2", 9) == 0
    assert shares(limiter, 1, "w1", 9, used=6) == 3
    assert shares(limiter, 1, "w2", 9) == 0  # "w1" still has six connections open.
    assert shares(limiter, 2, "w1", 9, used=3) == 3
    assert shares(limiter, 2, "w2", 9) == 3


def test_B5_more_workers_than_connections_take_turns() -> None:
    limiter = HostLimiter(2)
    used = dict.fromkeys("vwxyz", 0)
    served = dict.fromkeys("vwxyz", 0)

    for now in range(100):
        for worker in used:
            used[worker] = shares(limiter, now, worker, 9)  # Its earlier requests have ended.
            served[worker] += used[worker]
            assert sum(used.values()) <= 2

    assert min(served.values()) > 0.6 * max(served.values()), served


def test_B5_a_silent_worker_loses_its_share() -> None:
    limiter = HostLimiter(2)
    assert shares(limiter, 0, "dead", 2) == 2

    assert shares(limiter, LEASE - 1, "alive", 2) == 0
    assert shares(limiter, LEASE, "alive", 2) == 2


def test_B5_a_pause_stops_a_host_for_all_workers_until_its_end() -> None:
    limiter = HostLimiter(2)
    assert shares(limiter, 0, "w1", 1) == 1

    assert limiter.exchange(1, "w2", {}, {"a": 10}) == {}
    assert limiter.exchange(2, "w1", {"a": (1, 0), "b": (1, 0)}, {}) == {"a": (0, 9.0), "b": (1, 0.0)}
    assert limiter.exchange(3, "w1", {"a": (1, 0)}, {"a": 1}) == {"a": (0, 8.0)}  # A later end stays.
    assert shares(limiter, 11, "w1", 1) == 1
    limiter.exchange(12, "w1", {}, {"a": 1e9})
    assert shares(limiter, 12 + LONGEST_PAUSE, "w1", 1) == 1


@pytest.mark.parametrize("seed", range(20))
def test_B5_open_connections_never_exceed_the_limit(seed: int) -> None:
    # Workers report, open as many connections as their share allows, close some, and die.
    chance = random.Random(seed)
    limiter = HostLimiter(chance.randint(1, 9))
    open_now: Dict[str, int] = {f"w{number}": 0 for number in range(chance.randint(1, 6))}
    for now in range(300):
        worker = chance.choice(sorted(open_now))
        if chance.random() < 0.02:
            name = f"w{now + 10}"  # The process dies with its connections; another takes its place.
            del open_now[worker]
            open_now[name], worker = 0, name
        open_now[worker] -= chance.randint(0, open_now[worker])
        wanted = open_now[worker] + chance.randint(0, 9)
        if wanted:
            share = shares(limiter, now * LEASE / 1000, worker, wanted, open_now[worker])
            open_now[worker] = max(open_now[worker], share)
        assert sum(open_now.values()) <= limiter.limit


class Desk:
    """Answers the exchanges of gates, when the test lets it."""

    def __init__(self, limiter: HostLimiter) -> None:
        self.limiter = limiter
        self.now = 0.0
        self.asked: List[Tuple[Wanted, Dict[str, float]]] = []
        self.waiting = asyncio.Event()

    async def exchange(self, worker: str, wanted: Wanted, pauses: Dict[str, float]) -> Shares:
        self.asked.append((wanted, pauses))
        self.waiting.set()
        return self.limiter.exchange(self.now, worker, wanted, pauses)


def gate_test(limit: int, main: Any) -> None:
    async def run() -> None:
        desk = Desk(HostLimiter(limit))
        gate = HostGate("w", desk.exchange)
        task = asyncio.ensure_future(gate.run())
        try:
            await asyncio.wait_for(main(gate, desk), 60)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def test_B5_a_gate_admits_as_many_requests_as_its_share() -> None:
    async def main(gate: HostGate, desk: Desk) -> None:
        inside = peak = 0

        async def request() -> None:
            nonlocal inside, peak
            async with gate.turn("a"):
                inside += 1
                peak = max(peak, inside)
                for _ in range(3):
                    await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*[request() for _ in range(50)])
        assert peak == 3 and inside == 0

    gate_test(3, main)


def test_B5_a_cancelled_request_gives_its_turn_to_the_next() -> None:
    async def main(gate: HostGate, desk: Desk) -> None:
        async def hold(event: asyncio.Event) -> None:
            async with gate.turn("a"):
                await event.wait()

        first, last = asyncio.Event(), asyncio.Event()
        tasks = [asyncio.ensure_future(hold(event)) for event in (first, asyncio.Event(), last)]
        await asyncio.sleep(0)
        await desk.waiting.wait()
        tasks[1].cancel()
        last.set()
        first.set()
        await tasks[0]
        await tasks[2]
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]

    gate_test(1, main)


def test_B5_a_lost_limiter_ends_the_gate() -> None:
    async def lost(*arguments: Any) -> Shares:
        raise EOFError

    async def main() -> None:
        await HostGate("w", lost).run()

    with pytest.raises(EOFError):
        asyncio.run(main())


def test_B5_one_burst_of_refusals_is_one_pause() -> None:
    # Each response that arrived while the gate asked the limiter counted as another pause.
    class SlowDesk(Desk):
        begun = 0

        async def exchange(self, worker: str, wanted: Wanted, pauses: Dict[str, float]) -> Shares:
            self.begun += 1
            for _ in range(10):
                await asyncio.sleep(0)
            return await super().exchange(worker, wanted, pauses)

    async def main() -> None:
        desk = SlowDesk(HostLimiter(4))
        gate = HostGate("w", desk.exchange)
        exchanges = asyncio.ensure_future(gate.run())
        answers = [asyncio.Event() for _ in range(4)]
        inside = 0

        async def request(answer: asyncio.Event) -> None:
            nonlocal inside
            async with gate.turn("a"):
                inside += 1
                await answer.wait()
                gate.pause("a", 5)

        tasks = [asyncio.ensure_future(request(answer)) for answer in [*answers, asyncio.Event()]]
        while inside < 4:
            await asyncio.sleep(0)
        for task, answer in zip(tasks, answers):
            begun = desk.begun
            answer.set()
            await task
            while desk.begun == begun:  # The next response arrives while the gate asks the limiter.
                await asyncio.sleep(0)
        assert not tasks[4].done()  # It waits for the end of the pause.
        for task in (exchanges, tasks[4]):
            task.cancel()
        await asyncio.gather(exchanges, tasks[4], return_exceptions=True)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_B5_a_host_that_refuses_again_and_again_is_given_up() -> None:
    async def main(gate: HostGate, desk: Desk) -> None:
        for _ in range(3):
            async with gate.turn("a"):
                gate.pause("a", 0)
        with pytest.raises(HostRefused, match="3 times"):
            async with gate.turn("a"):
                pass
        gate.succeeded("a")
        async with gate.turn("a"):
            pass

    gate_test(4, main)
