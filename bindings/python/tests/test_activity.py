# Wherry: an activity indicator
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from typing import Any, List

import pytest

import wherry


def test_L13_the_indicator_shows_after_a_second_and_hides_0_17_s_after_the_last_request(
    mock: wherry.MockTransport,
) -> None:
    """The test moves the clock: when `advance` returns, everything due has happened."""
    mock.advance(0)
    mock.add(None, "*", text="late", delay=3)

    async def main() -> None:
        async with wherry.AsyncClient(transport=mock) as client:
            activity = client.activity()
            asked = [asyncio.ensure_future(client.get("http://api.test/")) for _ in range(3)]
            await asyncio.sleep(0)
            mock.advance(0.999)
            assert activity.read(0) is None
            mock.advance(0.001)
            assert await activity.__anext__() == 3
            mock.advance(2)
            await asyncio.gather(*asked)
            mock.advance(0.169)
            assert activity.read(0) is None
            mock.advance(0.001)
            assert activity.read(0) == 0
        # The client is closed.
        assert [count async for count in activity] == []
        activity.close()

    asyncio.run(main())


def test_L13_the_delays_are_settings_and_closing_hides(mock: wherry.MockTransport) -> None:
    mock.advance(0)
    mock.add(None, "*", text="late", delay=60)

    async def main() -> None:
        async with wherry.AsyncClient(transport=mock) as client:
            asked = asyncio.ensure_future(client.get("http://api.test/"))
            await asyncio.sleep(0)
            first = client.activity(show_after=0)
            mock.advance(0)
            assert first.read(0) == 1
            # A new reader ends the previous one.
            second = client.activity(show_after=0.01, hide_after=0)
            assert list(first) == []
            mock.advance(0.01)
            assert second.read(0) == 1
            for bad in (-1, float("nan")):
                with pytest.raises(wherry.ArgumentError):
                    client.activity(bad)
        assert list(second) == [0]
        with pytest.raises(wherry.CancelledError):
            await asked
        first.close()
        second.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["activity", "log"])
@pytest.mark.parametrize("is_thread", [False, True])
def test_L13_closing_ends_a_waiting_iteration(mock: wherry.MockTransport, kind: str, is_thread: bool) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with wherry.AsyncClient(transport=mock) as client:
            reader: Any = getattr(client, kind)()

            async def read() -> List[Any]:
                return [told async for told in reader]

            async def close() -> None:
                reader.close()

            reading = asyncio.ensure_future(read())
            # The iteration is waiting once the loop has reached this line.
            await asyncio.sleep(0)
            assert reader._queue._waits and not reading.done()
            if is_thread:
                await loop.run_in_executor(None, reader.close)
            else:
                await asyncio.ensure_future(close())
            assert await reading == []
            assert not reader._queue._waits
            # The loop holds no leftover state: another reader gets the changes.
            other = getattr(client, kind)()
            other.end()
            assert [told async for told in other] == []

    asyncio.run(main())
