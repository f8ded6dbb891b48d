# Wherry: rate limits for starting requests
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import json
import pathlib
from typing import Any, Dict, List

import pytest

import wherry


def test_R38_twenty_requests_at_five_per_second_take_three_seconds(
    mock: wherry.MockTransport,
) -> None:
    """The test moves the clock: when `advance` returns, everything due has happened."""
    mock.advance(0)
    mock.add(None, "*", text="here")

    async def main() -> None:
        async with wherry.AsyncClient(transport=mock, rate_limit=5) as client:
            asked = [asyncio.ensure_future(client.get(f"http://api.test/{number}")) for number in range(20)]
            await asyncio.sleep(0)  # Each request has been sent as far as the limit allows.
            mock.advance(0)
            started = 5
            for _ in range(15):
                assert len(mock.requests) == started
                mock.advance(0.199)
                assert len(mock.requests) == started
                mock.advance(0.001)
                started += 1
            assert [response.text for response in await asyncio.gather(*asked)] == ["here"] * 20
            assert len(mock.requests) == 20

    asyncio.run(main())


def test_R38_rate_limits_are_settings_of_a_client_and_of_a_file(
    mock: wherry.MockTransport, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"rate_limit": 1, "rate_interval_ms": 60_000}))
    mock.advance(0)
    mock.add(None, "*", text="here")

    async def main() -> None:
        async with wherry.AsyncClient(config=path, transport=mock) as client:
            asked = [asyncio.ensure_future(client.get("http://api.test/")) for _ in range(6)]
            await asyncio.sleep(0)
            mock.advance(59)
            assert len(mock.requests) == 1
            # The new limit applies at once, also to waiting requests.
            client.configure(rate_limit=0)
            await asyncio.gather(*asked)
            assert len(mock.requests) == 6
        async with wherry.AsyncClient(transport=mock, host_rate_limit=2, rate_burst=1, rate_interval=10) as client:
            asked = [asyncio.ensure_future(client.get("http://api.test/")) for _ in range(3)]
            await asyncio.sleep(0)
            for count in (7, 8, 9):
                mock.advance(0)
                assert len(mock.requests) == count
                mock.advance(4.999)
                assert len(mock.requests) == count
                mock.advance(0.001)
            await asyncio.gather(*asked)

    asyncio.run(main())
    # The limits that help(wherry.Settings) documents.
    most: Dict[str, Any] = {
        "rate_limit": 1_000_000, "host_rate_limit": 1_000_000, "rate_burst": 10_000,
        "rate_interval": 86_400,
    }  # fmt: skip
    with wherry.Client(**most):
        pass
    refused: List[Any] = [{"rate_limit": -1}, {"rate_interval": 0}]
    refused += [{name: limit + 1} for name, limit in most.items()]
    for bad in refused:
        with pytest.raises(wherry.ArgumentError):
            wherry.Client(**bad)


@pytest.mark.parametrize("limit", [0.5, 1.5, float("inf"), float("nan"), "a few"])
def test_R38_a_rate_that_is_not_an_integer_is_refused_and_named(limit: Any) -> None:
    with pytest.raises(wherry.ArgumentError, match="rate_limit= must be a whole number, not") as caught:
        wherry.Client(rate_limit=limit)
    assert caught.value.reason == "bad_value"
    with wherry.Client(rate_limit=2.0) as client:  # type: ignore[arg-type]
        with pytest.raises(wherry.ArgumentError, match="max_retries= must be a whole number"):
            client.configure(max_retries=limit)
        with pytest.raises(wherry.ArgumentError, match="max_retries= must be a whole number"):
            client.get("http://127.0.0.1:9/", max_retries=limit)
