# Wherry: queued downloads, group totals, and server times, with both clients
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from conftest import PATIENCE, PATIENT, Server

import wherry

SIZE = 1_060_921


def order(server: Server) -> str:
    """The names of the downloads in request order."""
    return "".join(entry["target"].split("name=")[1][0] for entry in server.log())


def test_D25_downloads_wait_in_a_queue_and_can_be_moved(server: Server, tmp_path: Any) -> None:
    with wherry.Client(max_downloads=1, **PATIENT) as client:
        gates = {name: server.gate() + name for name in "abcde"}
        all = {
            name: client.start_download(
                server.url(f"/bytes/{SIZE}", hold=400_000, gate=gates[name], name=name),
                tmp_path / name, priority=5 if name == "d" else 0, tag="all",
            )
            for name in "abcde"
        }  # fmt: skip
        server.wait(requests=1)

        assert [each.place for each in all.values()] == [None, 1, 2, 0, 3]
        assert all["b"].state == "queued"
        all["c"].prioritize(7)
        all["e"].move(1)
        assert [each.place for each in all.values()] == [None, 3, 0, 2, 1]
        with pytest.raises(wherry.ArgumentError):
            all["c"].prioritize(101)
        with pytest.raises(wherry.ArgumentError):
            all["c"].move(-1)
        all["d"].cancel()
        with pytest.raises(wherry.CancelledError):
            all["d"].wait(PATIENCE)
        all["c"].pause()
        assert all["c"].state == "paused"
        for name in "ae":
            server.open_gate(gates[name])
            all[name].wait(PATIENCE)
        server.wait(requests=3)
        all["c"].resume()
        for name in "bc":
            server.open_gate(gates[name])
        for name in "bc":
            all[name].wait(PATIENCE)

        assert order(server) == "aebc"
        assert server.ask("/_stats")["peak_requests"] == 1
        # D29: finished downloads stay in the group total.
        client.wait(tag="all", timeout=PATIENCE)
        sum = client.progress(tag="all")
        assert (sum.done_bytes, sum.fraction) == (4 * SIZE, 1.0)
        for each in all.values():
            each.close()


def test_D25_the_limit_applies_at_once(server: Server, tmp_path: Any) -> None:
    with wherry.Client(**PATIENT) as client:
        client.configure(max_downloads=1)
        gate = server.gate()
        all = [client.start_download(server.url("/bytes/10", gate=gate, name=name), tmp_path / name) for name in "abc"]
        server.wait(requests=1)
        assert [each.state for each in all[1:]] == ["queued"] * 2
        client.configure(max_downloads=0)
        server.wait(active=3)
        server.open_gate(gate)
        assert [each.wait(PATIENCE) for each in all] == [str(tmp_path / n) for n in "abc"]
        for each in all:
            each.close()
    with pytest.raises(wherry.ArgumentError):
        wherry.Client(max_downloads=-1)


def test_D25_D29_asyncio_has_queues_and_group_totals_too(server: Server, tmp_path: Any) -> None:
    async def load() -> None:
        async with wherry.AsyncClient(max_downloads=1, **PATIENT) as client:
            gate = server.gate()
            all = [
                client.start_download(server.url("/bytes/1000", gate=gate, name=name), tmp_path / name, tag="t")
                for name in "abc"
            ]
            all[2].move(0)
            await all[1].pause()
            assert all[1].state == "paused" and all[2].place == 0
            server.open_gate(gate)
            await all[0]
            await all[2]
            assert client.progress(tag="t").done_bytes == 2000
            all[1].resume()
            await all[1]

    asyncio.run(load())
    assert order(server) == "acb"


@pytest.mark.parametrize("keeps", [False, True])
def test_D28_a_file_gets_the_server_time_on_request(server: Server, tmp_path: Any, keeps: bool) -> None:
    with wherry.Client(server_time=not keeps, **PATIENT) as client:
        path = client.download(server.url("/bytes/10"), tmp_path / "a", server_time=keeps)
    # 2024-01-01, as the server says.
    assert (os.stat(path).st_mtime == 1_704_067_200) is keeps
