# Wherry: the Python samples in the guides work as described
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
from typing import Any, Dict, List

import pytest
from conftest import Server, field, script
from test_background import AGENT
from test_example_programs import run


def scripted(server: Server, **steps: List[Dict[str, Any]]) -> str:
    script(server, **steps)
    return f"{server.base}/@{server.key}/s"


def test_K2_K16_K17_the_caching_guide_works(server: Server, tmp_path: Any) -> None:
    feed = {"json": {"n": 7}, "headers": {"Cache-Control": "max-age=0", "ETag": '"a"'}}
    base = scripted(
        server,
        news=[{"json": {"n": number}} for number in (1, 2, 3)],
        feed=[feed, {"status": 304, "headers": {"ETag": '"a"'}}, {"status": 503}],
    )

    done = run("caching.py", base, tmp_path / "store")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "asked 1", "again 1 from_cache", "fresh 2", "first 2 from_cache", "then 3",
        "GET timed 200", "cleared 1",
        "asked 7", "validated 7 from_cache is_revalidated", "down 7 from_cache is_stale",
    ]  # fmt: skip
    asked = [one["path"].rpartition("/")[2] for one in server.log()]
    assert asked == ["news"] * 3 + ["feed"] * 3


@pytest.mark.skipif(not os.path.exists(AGENT), reason=f"{AGENT} is not built")
def test_D14_the_background_guide_works(server: Server, tmp_path: Any) -> None:
    gate, target = server.gate(), tmp_path / "big.iso"
    settings = {"WHERRY_AGENT": AGENT, "XDG_STATE_HOME": str(tmp_path / "state")}
    url = server.url("/bytes/300000", hold=100_000, gate=gate)

    begun = run("background.py", "start", url, target, **settings)
    server.wait(requests=1)
    listed = run("background.py", "list", **settings)
    server.open_gate(gate)
    job = begun.stdout.strip()
    ended = run("background.py", "wait", job, **settings)
    again = run("background.py", "wait", job, **settings)

    assert (begun.returncode, begun.stderr) == (0, "") and listed.stdout.split()[0] == job
    assert (ended.returncode, ended.stdout) == (0, f"{target}\n")
    assert os.path.getsize(target) == 300_000
    assert again.returncode == 1 and "not_found" in again.stderr
    assert run("background.py", "list", **settings).stdout == ""
    assert run("background.py", "stop", **settings).returncode == 2


def test_R1_R4_the_guide_for_users_of_requests_works(server: Server, tmp_path: Any) -> None:
    (tmp_path / "notes.txt").write_text("a note")
    base = scripted(
        server, search=[{"status": 503, "headers": {"Retry-After": "0"}}, *[{"json": {"n": 1}}] * 5],
        profile=[{"json": {}}, {"json": {}}],
        old=[{"status": 302, "headers": {"Location": "new"}}],
        new=[{"headers": [["Set-Cookie", "seen=1"], ["Link", '</page/2>; rel="next"']]}],
        notes=[{"json": {}}], form=[{"json": {}}], files=[{"json": {}}],
        large=[{"bytes": [300_000, 1, 0]}], lines=[{"body": "one\ntwo\n"}],
        missing=[{"status": 404, "body": "gone"}],
    )  # fmt: skip

    done = run("from_requests.py", base, tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("200 {'n': 1} application/json")
    assert lines[1] == "7 lang=en"
    assert lines[2:6] == ["one", "two", "GET [302]", "{'seen': '1'} /page/2 HTTP/1.1"]
    assert lines[6] == "True OK" and re.fullmatch(
        r"404 <SentRequest GET http://\S+/missing[?][.][.][.]> <Response \[404\]>", lines[7]
    )
    assert lines[8:] == ["[200, 200, 200]"]
    assert os.path.getsize(tmp_path / "large.bin") == 300_000
    log = server.log()
    names = [one["target"].rpartition("/")[2] for one in log]
    search = "search?q=skye&page=2"
    assert names[:5] == [search, search, "profile?lang=en", "profile?lang=en", "notes?lang=en"]
    assert names[5:9] == ["form?lang=en", "search?q=a&sort=a+b&lang=de", "files?lang=en", "large?lang=en"]
    assert sorted(names[9:]) == [
        "lines?lang=en", "missing?lang=en", "new", "old?lang=en", "search", "search", "search",
    ]  # fmt: skip
    assert field(log[0], "X-App") == ["demo"]
    assert field(log[0], "Authorization") == ["Basic bWU6c2VjcmV0"]
    assert [field(log[2], name) for name in ("X-Trace", "Cookie", "Authorization")] == [
        ["7"], ["session=abc"], ["Bearer token"],
    ]  # fmt: skip
    assert field(log[3], "Authorization") == []
    assert field(log[4], "Content-Type") == ["application/json"]
    assert field(log[5], "Content-Type") == ["application/x-www-form-urlencoded"]
    assert field(log[7], "Content-Type")[0].startswith("multipart/form-data")


def test_the_guide_for_users_of_httpx_works() -> None:
    done = run("from_httpx.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        """{'path': 'https://api.test/v1/notes', 'body': '{"text":"hello"}'}""", "[401, 200] new", "/hello",
    ]  # fmt: skip
