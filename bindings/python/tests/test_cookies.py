# Wherry: the cookies of a client
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import http.cookiejar
import os
from typing import Any, List

import pytest
from conftest import Make, Server, field

import wherry


def sent(answer: wherry.Response) -> List[str]:
    return field(answer.json(), "cookie")


def test_C14_a_cookie_is_sent_back_unless_cookies_are_off(make: Make, server: Server) -> None:
    way, echo = make(), server.url("/echo")
    way.get(server.url("/cookies/set", a="1", attributes="Path=/"))
    assert sent(way.get(echo)) == ["a=1"]
    assert sent(way.get(echo, cookies=False)) == []
    assert sent(way.get(echo, cookies={"b": "2", "c": "3"})) == ["b=2; c=3; a=1"]
    assert sent(way.get(echo, cookies={"a": "2"})) == ["a=2"]
    assert sent(way.get(echo, cookies={})) == ["a=1"]
    assert sent(way.get(echo, headers={"Cookie": "z=9"}, cookies={"y": "8"})) == ["z=9"]
    off = make(cookies=False)
    off.get(server.url("/cookies/set", a="1"))
    assert sent(off.get(echo)) == [] and len(off.client.cookies) == 0
    assert sent(off.get(echo, cookies={"b": "2"})) == ["b=2"]
    with pytest.raises(wherry.ArgumentError):
        way.get(echo, cookies={"a": "1; b=2"})


# The functions of the module shared the cookies of all callers.
def test_C14_isolated_cookies_last_for_one_request_and_its_redirects(make: Make, server: Server) -> None:
    echo = server.url("/echo")
    cookie = server.url("/redirect-to", url=echo, cookie="b=2; Path=/")
    assert sent(wherry.get(cookie)) == ["b=2"]
    assert sent(wherry.get(cookie, cookies={"y": "8"})) == ["y=8; b=2"]
    assert sent(wherry.get(echo)) == []
    way = make(cookies="isolated")
    assert sent(way.get(cookie)) == ["b=2"] and sent(way.get(echo)) == []
    assert len(way.client.cookies) == 0
    with pytest.raises(wherry.ArgumentError, match="isolated"):
        make(cookies="shared")
    with pytest.raises(TypeError, match="headers="):
        way.get(echo, cookies="a=1")


# Setting one cookie restored the others, which the server had changed or deleted.
def test_C14_a_server_changes_and_deletes_cookies_of_the_program(make: Make, server: Server) -> None:
    way, echo = make(), server.url("/echo")
    cookies = way.client.cookies
    cookies["sid"], cookies["old"] = "1", "1"
    assert sent(way.get(echo)) == ["sid=1; old=1"]
    way.get(server.url("/cookies/set", sid="2", attributes="Path=/"))
    way.get(server.url("/cookies/set", old="1", attributes="Path=/; Max-Age=0"))
    cookies["lang"] = "en"
    assert sent(way.get(echo)) == ["sid=2; lang=en"]
    cookies["sid"] = "3"
    assert sorted(sent(way.get(echo))[0].split("; ")) == ["lang=en", "sid=3"]
    cookies.delete("sid")
    assert "sid" not in cookies and sent(way.get(echo)) == ["lang=en"]
    # Another host has deleted nothing.
    assert sent(way.get(echo.replace("127.0.0.1", "localhost"))) == ["old=1; lang=en"]


def test_C14_each_redirect_gets_the_cookies_of_its_host(
    client: wherry.Client,
    server: Server,
) -> None:
    away = server.url("/echo").replace("127.0.0.1", "localhost")
    assert sent(client.get(server.url("/redirect-to", url=away, cookie="a=1; Path=/"))) == []
    home = server.url("/redirect-to", url=server.url("/echo"), cookie="b=2; Path=/")
    assert sent(client.get(home)) == ["a=1; b=2"]


def test_C14_cookies_are_listed_added_cleared_and_saved(client: wherry.Client, server: Server, tmp_path: Any) -> None:
    client.cookies.set("a", "1", server.url("/"))
    client.cookies.set("b", "2", "https://a.example.org/", "Domain=example.org; Path=/; Max-Age=60; Secure")
    assert len(client.cookies) == 2 and client.cookies["a"] == "1"
    wide = next(cookie for cookie in client.cookies if cookie.name == "b")
    assert wide.domain == "example.org" and wide.secure and not wide.host_only and wide.expires
    assert client.cookies.get("none") is None
    with pytest.raises(KeyError):
        client.cookies["none"]
    path = tmp_path / "jar"
    client.cookies.save(path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    theirs = http.cookiejar.MozillaCookieJar(str(path))
    theirs.load(ignore_discard=True, ignore_expires=True)
    assert sorted(cookie.name for cookie in theirs) == ["a", "b"]
    client.cookies.clear(server.url("/"))
    assert sent(client.get(server.url("/echo"))) == []
    client.cookies.clear()
    assert list(client.cookies) == []
    client.cookies.load(path)
    assert sent(client.get(server.url("/echo"))) == ["a=1"]
    with pytest.raises(wherry.FileError):
        client.cookies.load(tmp_path / "none")


def test_SEC_U8_a_cookie_that_a_host_may_not_set_is_refused(client: wherry.Client) -> None:
    for url, attributes in [
        ("http://a.co.uk/", "Domain=co.uk"), ("http://a.org/", "Domain=b.org"),
        ("http://a.org./", "Path=/"), ("http://a.org/", "Secure"),
    ]:  # fmt: skip
        with pytest.raises(wherry.ArgumentError) as caught:
            client.cookies.set("a", "1", url, attributes)
        assert caught.value.reason == "bad_value"


def test_cookies_of_a_request_may_be_an_iterator(server: Server) -> None:
    # It was read for `Response.request`, and nothing was sent.
    pairs: Any = iter([("a", "1"), ("b", "2")])
    with wherry.Client() as client:
        answer = client.get(server.url("/echo"), cookies=pairs)
        assert field(answer.json(), "Cookie") == ["a=1; b=2"] == answer.request.headers.get_list("Cookie")


def test_a_cookie_is_popped_and_a_cookie_object_is_set_as_in_requests(client: wherry.Client) -> None:
    client.cookies["a"] = "1"
    client.cookies.set("b", "2", domain="api.test")
    assert client.cookies.pop("a") == "1" and client.cookies.pop("b", None) == "2" and not client.cookies
    assert client.cookies.pop("a", None) is None
    with pytest.raises(KeyError):
        client.cookies.pop("a")

    class Morsel:
        name, value, domain, path = "c", "3", "api.test", "/p"

    client.cookies.set_cookie(Morsel())
    assert [(each.name, each.domain, each.path) for each in client.cookies] == [("c", "api.test", "/p")]
