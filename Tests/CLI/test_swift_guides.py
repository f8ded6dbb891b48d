# Wherry: tests that the Swift samples in the guides work as described.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib
from typing import Any

from conftest import ROOT, Scope, field
from test_quickstarts import script
from test_swift_examples import run
from test_uploads import jpeg


def test_K2_K16_K17_the_caching_guide_works(server: Scope, tmp_path: pathlib.Path) -> None:
    feed = {"json": {"n": 7}, "headers": [["Cache-Control", "max-age=0"], ["ETag", '"a"']]}
    base = script(
        server,
        news=[{"json": {"n": number}} for number in (1, 2, 3)],
        feed=[feed, {"status": 304, "headers": [["ETag", '"a"']]}, {"status": 503}],
    )

    status, out, err = run("caching", base, tmp_path / "store")

    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "asked 1",
        "again 1 from_cache",
        "fresh 2",
        "first 2 from_cache",
        "then 3",
        "GET 200",
        "cleared 1",
        "asked 7",
        "validated 7 from_cache is_revalidated",
        "down 7 from_cache is_stale",
    ]
    asked = [one["path"].rpartition("/")[2] for one in server.requests()]
    assert asked == ["news"] * 3 + ["feed"] * 3


def test_D14_the_background_guide_works(server: Scope, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "big.iso"
    settings = {"WHERRY_AGENT": str(ROOT / ".build-examples/debug/wherry-agent"), "XDG_STATE_HOME": str(tmp_path / "state")}
    url = server.url("/bytes/300000?hold=100000&gate=g")

    begun = run("background", "start", url, target, **settings)
    server.wait("requests=1")
    listed = run("background", "list", **settings)
    server.steer("/_signal?gate=g")
    job = begun[1].strip()
    ended = run("background", "wait", job, **settings)
    again = run("background", "wait", job, **settings)

    assert (begun[0], begun[2]) == (0, "") and listed[1].split()[0] == job
    assert ended[:2] == (0, f"{target}\n") and target.stat().st_size == 300_000
    assert again[0] == 1 and again[2].startswith("not_found: ")
    assert run("background", "stop", **settings)[0] == 2


def test_C1_K2_U1_D12_the_guide_for_users_of_AFNetworking_works(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    steps: dict[str, list[Any]] = {
        "toutiao/index": [{"json": {"reason": "ok"}}],
        "wallpaper.jpg": [{"bytes": [300_000, 1, 0]}],
        "upload": [{"json": {}}],
        "missing": [{"status": 404, "body": "gone"}],
    }
    base = script(server, **steps)

    status, out, err = run("from-afnetworking", base, jpeg(tmp_path / "a.jpg"), tmp_path)

    assert status == 0, err
    assert out.splitlines() == ["200 false ok", "true", "200", str(tmp_path / "wallpaper.jpg"), "http_status 404 gone"]
    assert (tmp_path / "wallpaper.jpg").stat().st_size == 300_000 and "bytes sent" in err
    log = server.requests()
    assert len([one for one in log if one["target"].endswith("/index")]) == 1
    assert all(field(one, "token") == "1234" for one in log)


def test_the_tutorial_works(server: Scope, tmp_path: pathlib.Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    status, out, err = run("tutorial", server.url(""), jpeg(tmp_path / "a.jpg"), tmp_path, **cache)

    assert status == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("200 {") and '"query": [["page", "2"]]' in lines[0]
    assert lines[1:7] == ["http_status 404 no such note", "connect true", "hello", "200", "false", "true"]
    assert " bytes, sent as " in lines[7]
    assert lines[8:] == [f"complete: {tmp_path / 'big.bin'}", "20 [200]"]
    assert (tmp_path / "big.bin").stat().st_size == 20_000_000
    posted = next(one for one in server.requests() if one["method"] == "POST")
    assert field(posted, "X-App") == "tutorial"


def test_the_guide_for_users_of_Alamofire_works(server: Scope, tmp_path: pathlib.Path) -> None:
    steps: dict[str, list[Any]] = {
        "notes": [{"json": {"id": 7, "text": "hello"}}],
        "search": [{"body": "found"}],
        "locked": [{"status": 423}, {"body": "open"}],
        "photos": [{"json": {}}],
        "big.bin": [{"bytes": [300_000, 1, 0]}],
        "missing": [{"status": 404, "body": "gone"}],
    }

    status, out, err = run("from-alamofire", script(server, **steps), jpeg(tmp_path / "a.jpg"), tmp_path)

    assert status == 0, err
    assert out.splitlines() == [
        "7 hello",
        "found",
        "200",
        "200",
        str(tmp_path / "big.bin"),
        "http_status 404 gone",
        '{"id":7,"text":"stub"}',
    ]
    log = server.requests()
    assert [one["target"].rpartition("/")[2] for one in log] == [
        "notes",
        "search?q=skye",
        "locked",
        "locked",
        "photos",
        "big.bin",
        "missing",
    ]
    assert all(field(one, "X-App") == "demo" for one in log)
    assert [field(one, "X-Trace") for one in log] == [None, None, "7", "7", "7", None, "7"]
