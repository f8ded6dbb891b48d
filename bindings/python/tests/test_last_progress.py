# Wherry: the final progress report of uploads and downloads
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, List

import pytest
from conftest import Server
from test_uploads import png

import wherry


# The final report was sent twice: with the last byte, and at the end or with the response.
@pytest.mark.parametrize("rate", [None, 4_000_000])
def test_D9_a_complete_download_is_reported_once_and_time_left_matches_the_speed(
    server: Server, client: wherry.Client, tmp_path: Any, rate: Any
) -> None:
    told: List[wherry.Progress] = []
    query = {} if rate is None else {"rate": rate}
    client.download(server.url("/bytes/2000000", **query), tmp_path / "a", progress=told.append)

    assert [report.done_bytes for report in told].count(2_000_000) == 1
    for report in told:
        if report.bytes_per_second:
            assert report.remaining is not None


@pytest.mark.parametrize("separate", [0, 2])
def test_U10_a_complete_upload_is_reported_once(server: Server, client: wherry.Client, separate: int) -> None:
    told: List[wherry.Progress] = []
    pictures = [png(600, 400, seed) for seed in (1, 2)]
    client.upload(server.url("/sink", rate=1_000_000), pictures, separate=separate, progress=told.append)

    assert [report.fraction for report in told].count(1.0) == 1
