# Wherry: the tables shared by Swift and Python
# SPDX-License-Identifier: Apache-2.0
"""The cases are in Tests/Scenarios, so that every language shows the same behavior."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional
from urllib.parse import quote

import pytest
from conftest import ROOT, Server, start_server
from test_uploads import png

import wherry


def cases(name: str) -> List[Dict[str, Any]]:
    with open(os.path.join(ROOT, "Tests", "Scenarios", name), encoding="utf-8") as file:
        return list(json.load(file)["cases"])


def ask(client: wherry.Client, kind: str, url: str, path: Any) -> Any:
    """What /echo reports of a request, an upload, or a download."""
    if kind == "request":
        return client.get(url).json()
    if kind == "upload":
        return client.upload(url, png(2, 2)).json()
    with open(client.download(url, path), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("kind", ["request", "upload", "download"])
@pytest.mark.parametrize("case", cases("url-joins.json"), ids=str)
def test_C2_one_rule_joins_URLs_of_all_three_kinds(
    server: Server, tmp_path: Any, case: Dict[str, Any], kind: str
) -> None:
    there = server.base.replace("127.0.0.1", "localhost")

    def fill(text: Optional[str]) -> str:
        return (text or "").replace("{here}", server.base).replace("{there}", there)

    with wherry.Client(base_url=fill(case["base"])) as client:
        if "error" in case:
            with pytest.raises(wherry.WherryError) as caught:
                ask(client, kind, fill(case["url"]), tmp_path / "file")
            assert caught.value.reason == case["error"]
            assert os.listdir(tmp_path) == []
            return
        echo = ask(client, kind, fill(case["url"]), tmp_path / "file")
    host = there if case.get("host") == "there" else server.base
    assert echo["target"] == case["target"]
    assert dict(echo["headers"])["Host"] == host[len("http://") :]


@pytest.mark.parametrize("case", cases("query-encoding.json"), ids=str)
def test_R6_R7_queries_match_the_tables_byte_for_byte(server: Server, case: Dict[str, Any]) -> None:
    styles: Dict[str, Any] = {
        "array_style": ("brackets", "repeat", "index")[case.get("arrays", 0)],
        "member_style": ("brackets", "dots")[case.get("members", 0)],
        "bool_style": ("digits", "words")[case.get("bools", 0)],
    }
    with wherry.Client() as client:
        echo = client.get(server.base + "/echo", parameters=case["parameters"], **styles).json()
    with wherry.Client(**styles) as client:
        joined = client.get(server.base + "/echo?z=1", parameters=case["parameters"]).json()
    assert echo["target"].partition("?")[2] == case["query"]
    assert joined["target"].partition("?")[2] == "&".join(["z=1", case["query"]]).rstrip("&")


def test_SEC_U3_credentials_and_bodies_go_only_to_their_origin(
    server: Server,
) -> None:
    other = start_server()
    try:
        port = next(other)["port"]
        for number, case in enumerate(cases("redirects.json")):
            key = f"{server.key}-hop{number}"
            base = {
                "same": server.base,
                "host": server.base.replace("127.0.0.1", "localhost"),
                "port": f"http://127.0.0.1:{port}",
            }[case["to"]]
            hop(server, Server(base, key), case)
    finally:
        next(other, None)


def hop(server: Server, target: Server, case: Dict[str, Any]) -> None:
    url = server.url(f"/redirect-to?status={case['status']}&url={quote(target.url('/echo'), safe='')}")
    options: Dict[str, Any] = {
        "headers": {"Authorization": "Bearer s", "Cookie": "a=b", "X-Secret": "s"},
        "keep_auth_across_hosts": case.get("keep", False),
    }
    if case.get("body"):
        options["json"] = {"a": 1}
    with wherry.Client() as client:
        if "error" in case:
            with pytest.raises(wherry.WherryError) as caught:
                client.request(case["method"], url, **options)
            assert caught.value.reason == case["error"], case
            assert target.log() == [], case
            return
        client.request(case["method"], url, **options)
    last = target.log()[-1]
    names = {name.lower() for name, _ in last["headers"]}
    expected = case["expect"]
    assert last["method"] == expected["method"], case
    assert ("authorization" in names) == expected["credentials"], case
    assert ("cookie" in names) == expected["credentials"], case
    assert ("x-secret" in names) == expected["custom"], case
    assert (last["received"] > 0) == expected["body"], case
    assert ("content-type" in names) == expected["body"], case
