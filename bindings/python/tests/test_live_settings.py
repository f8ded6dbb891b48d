# Wherry: client attributes that are settings apply at once, and other attributes are refused
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import http.cookiejar
import pickle
from typing import Any, Dict, Optional

import pytest
from conftest import Server, field

import wherry


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("verify", "pass verify= to a new client"), ("max_retries", "client.configure(max_retries=...)"),
        ("max_redirects", "client.configure(max_redirects=...)"), ("proxies", "pass proxies= to a new client"),
        ("user_agent", "client.configure(user_agent=...)"), ("timeot", "did you mean client.timeout?"),
        ("storage_name", "pass storage_name= to a new client"), ("nothing_like_it", "a subclass"),
        ("adapt", "client.configure(adapt=...)"),
        ("trust_env", "it is read-only; pass trust_env= to a new client"),
        ("bases", "it is read-only; use client.configure(bases=...)"),
        ("cache", "it is read-only; use client.configure(cache=...)"), ("is_closed", "it is read-only"),
        ("storage", "it is read-only; pass storage_name= to a new client"), ("reachability", "it is read-only"),
    ],
)  # fmt: skip
def test_setting_an_unknown_attribute_is_refused_and_names_the_supported_way(
    client: wherry.Client, name: str, way: str
) -> None:
    # `client.verify = False` had no effect and no error.
    with pytest.raises(AttributeError) as caught:
        setattr(client, name, False)
    assert f"client.{name}" in str(caught.value) and way in str(caught.value)
    with wherry.Client() as other, pytest.raises(AttributeError):
        setattr(other, name, False)


def test_an_async_client_refuses_the_same_attributes() -> None:
    async def main() -> None:
        async with wherry.AsyncClient() as client:
            with pytest.raises(AttributeError, match="pass verify= to a new client"):
                client.verify = False  # type: ignore[attr-defined]

    asyncio.run(main())


def test_a_subclass_may_add_attributes_and_tests_may_replace_methods() -> None:
    class Mine(wherry.Client):
        def __init__(self) -> None:
            super().__init__()
            self.token = "a"

    with Mine() as client:
        client.token = "b"
        client.get = lambda url: url  # type: ignore
        assert client.get("x") == "x"  # type: ignore[comparison-overlap]
        with pytest.raises(AttributeError, match="verify="):
            client.verify = False  # type: ignore[attr-defined]


def test_headers_params_auth_and_base_apply_at_once(server: Server, client: wherry.Client) -> None:
    def told() -> Dict[str, Any]:
        answer: Dict[str, Any] = client.get("echo", params={"key": server.key}).json()
        return answer

    client.base_url = server.base
    client.headers["X-A"] = "1"
    client.headers.update({"X-B": "2"})
    client.params["p"] = "1"
    client.params.update({"q": [1, 2]})
    client.auth = ("me", "secret")
    first = told()
    assert field(first, "X-A") == ["1"] and field(first, "X-B") == ["2"]
    assert first["query"][:3] == [["p", "1"], ["q", "1"], ["q", "2"]]
    assert field(first, "Authorization") == ["Basic bWU6c2VjcmV0"]

    client.headers = {"X-C": "3"}
    client.params = "a+b"
    client.params["c"] = "d"
    client.auth = None
    second = told()
    assert [field(second, name) for name in ("X-A", "X-B", "X-C")] == [[], [], ["3"]]
    assert second["target"].startswith("/echo?a+b&c=d&")
    assert field(second, "Authorization") == []
    assert dict(client.params) == {"a b": "", "c": "d"} and dict(client.headers) == {"X-C": "3"}

    del client.params["a b"]
    client.params.pop("c")
    client.headers["x-c"] = None
    assert not client.params and not client.headers
    with pytest.raises(KeyError):
        del client.params["a b"]
    client.timeout = 5
    assert client.timeout == wherry.Timeout.of(5)


def cookies(client: wherry.Client, server: Server, url: Optional[str] = None) -> str:
    return ", ".join(field(client.get(url or server.url("/echo")).json(), "Cookie"))


def test_cookies_of_a_client_apply_at_once(server: Server, client: wherry.Client) -> None:
    client.cookies["a"] = "1"
    assert cookies(client, server) == "a=1"
    client.cookies.update({"b": "2"})
    client.cookies.set("c", "3", server.base)
    client.cookies.set("d", "4", domain="127.0.0.1", path="/echo")
    assert sorted(cookies(client, server).split("; ")) == ["a=1", "b=2", "c=3", "d=4"]
    assert client.cookies.get_dict() == {"a": "1", "b": "2", "c": "3", "d": "4"}
    assert dict(client.cookies) == client.cookies.get_dict() and "b" in client.cookies
    other = server.url("/echo").replace("127.0.0.1", "localhost")
    assert cookies(client, server, other) == "a=1; b=2"

    # Cookies set by the server take precedence over earlier ones set by the program.
    client.get(server.url("/cookies/set?a=new"))
    assert "a=new" in cookies(client, server) and client.cookies["a"] == "new"
    del client.cookies["a"]
    assert "a=" not in cookies(client, server) and "a" not in client.cookies
    client.cookies = {"z": "9"}
    assert cookies(client, server) == "z=9" and len(client.cookies) == 1
    client.cookies.clear()
    assert cookies(client, server) == "" and not client.cookies
    with pytest.raises(KeyError):
        del client.cookies["z"]


def test_a_new_client_takes_cookies_and_pickles_them(server: Server) -> None:
    with wherry.Client(cookies={"a": "1"}, base_url=server.base) as client:
        assert cookies(client, server) == "a=1"
        assert cookies(client, server, "echo") == "a=1"
        with pickle.loads(pickle.dumps(client)) as copy:
            assert cookies(copy, server) == "a=1"
    jar = http.cookiejar.CookieJar()
    for domain in ("127.0.0.1", "example.org", ""):
        jar.set_cookie(http.cookiejar.Cookie(
            0, "of_" + (domain[:1] or "any"), "1", None, False, domain, bool(domain), False, "/", True, False,
            None, False, None, None, {}))  # fmt: skip
    with wherry.Client(cookies=jar) as client:
        assert sorted(cookies(client, server).split("; ")) == ["of_1=1", "of_any=1"]


def test_cookies_of_an_async_client_apply_at_once(server: Server) -> None:
    async def main() -> str:
        async with wherry.AsyncClient() as client:
            client.cookies["a"] = "1"
            return ", ".join(field((await client.get(server.url("/echo"))).json(), "Cookie"))

    assert asyncio.run(main()) == "a=1"


def test_request_cookies_do_not_follow_a_redirect_to_another_host(server: Server, client: wherry.Client) -> None:
    client.cookies["a"] = "1"
    other = server.url("/echo").replace("127.0.0.1", "localhost")
    answer = client.get(server.url("/redirect/1"), params={"to": other})
    assert answer.url.startswith("http://localhost") and field(answer.json(), "Cookie") == []


@pytest.mark.parametrize("pair", [("a=", "b"), ("a", "b;c"), ("", "b"), ("a", "b\n")])
def test_an_invalid_cookie_is_refused(client: wherry.Client, pair: Any) -> None:
    with pytest.raises(wherry.ArgumentError):
        client.cookies[pair[0]] = pair[1]
    number: Any = 5
    with pytest.raises(TypeError, match="cookie"):
        client.cookies["a"] = number
