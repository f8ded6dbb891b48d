# Wherry: network routes, and settings from a file: rows C10, C19, C20
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import json
import pathlib
import pickle
import urllib.parse
from typing import Any, Iterator

import pytest
from conftest import Server, field, run_python, start_server

import wherry


def elsewhere(server: Server, host: str) -> str:
    return server.url("/echo").replace("127.0.0.1", host)


def test_C19_a_host_with_a_given_address_is_not_looked_up(server: Server) -> None:
    port = urllib.parse.urlsplit(server.base).port
    resolve = {f"a.example:{port}": "127.0.0.1", "b.example:80": ["127.0.0.1", "::1"]}
    with wherry.Client(resolve=resolve, proxy="") as client:
        echo = client.get(elsewhere(server, "a.example")).json()
        assert field(echo, "host") == [f"a.example:{port}"]
        with pytest.raises(wherry.NetworkError) as caught:
            client.get(elsewhere(server, "c.invalid"))
        assert caught.value.reason == "resolve"
    with pytest.raises(wherry.ArgumentError) as refused:
        wherry.Client(resolve={"a.example": "127.0.0.1"})
    assert refused.value.reason == "bad_value"


def test_C19_connections_use_the_given_interface(server: Server) -> None:
    with wherry.Client(interface="lo", proxy="") as client:
        assert client.get(server.url("/echo")).status_code == 200
    with wherry.Client(interface="none0", proxy="") as client:
        with pytest.raises(wherry.NetworkError) as caught:
            client.get(server.url("/echo"))
        assert caught.value.reason == "connect"


@pytest.fixture
def socket_path() -> Iterator[str]:
    for told in start_server():
        yield str(told["unix"])


def test_C19_a_unix_socket_serves_every_host(socket_path: str) -> None:
    with wherry.Client(unix_socket=pathlib.Path(socket_path)) as client:
        assert field(client.get("http://container/echo").json(), "host") == ["container"]

    async def ask() -> Any:
        async with wherry.AsyncClient(unix_socket=socket_path) as client:
            return (await client.get("http://container/echo")).json()

    assert field(asyncio.run(ask()), "host") == ["container"]


def test_C19_SEC_U9_only_the_proxy_gets_its_credentials(server: Server) -> None:
    basic = ["Basic bmFtZTpodW50ZXI6NA=="]
    with wherry.Client(proxy=server.base, proxy_auth=("name", "hunter:4")) as client:
        assert field(client.get(server.url("/echo")).json(), "proxy-authorization") == basic
        assert "hunter" not in repr(client)
    for hosts in ("127.0.0.1", ["example.com", "127.0.0.0/8"], "*"):
        with wherry.Client(proxy=server.base, proxy_auth=("name", "hunter4"), no_proxy=hosts) as client:
            assert field(client.get(server.url("/echo")).json(), "proxy-authorization") == []
    with pytest.raises(wherry.ArgumentError):
        wherry.Client(proxy_auth=("a:b", "c"))
    with pytest.raises(TypeError):
        wherry.Client(proxy_auth="ab")  # type: ignore[arg-type]


# requests and httpx apply NO_PROXY of the environment only to proxies of the environment.
def test_C19_no_proxy_of_the_environment_is_for_its_proxies(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("http_proxy", server.base)
    url = server.url("/echo")
    given: Any
    for given, target in (
        ({"proxy": server.base}, url), ({"proxies": {"http": server.base}}, url), ({}, None),
        ({"proxy": server.base, "no_proxy": "127.0.0.1"}, None),
    ):  # fmt: skip
        with wherry.Client(**given) as client:
            seen = client.get(url).json()["target"]
        assert seen == target if target else seen.startswith("/"), given
    with pytest.raises(TypeError, match="proxy="):
        wherry.Client(proxies="http://p:1")  # type: ignore[arg-type]


def test_C19_each_scheme_has_its_own_proxy(server: Server) -> None:
    url = server.url("/echo")
    for proxies, is_proxied in (
        ({"http": server.base, "https": "http://127.0.0.1:1"}, True),
        ({"http://": server.base}, True),
        ({"https": server.base}, False),
        ({"all": "http://127.0.0.1:1", "http": None}, False),
        ({"all://": server.base, "no_proxy": "127.0.0.1"}, False),
        ({}, False),
    ):
        with wherry.Client(proxies=proxies, trust_env=False) as client:
            target = client.get(url).json()["target"]
            assert target.startswith("http://") is is_proxied, proxies
            with pickle.loads(pickle.dumps(client)) as copy:
                assert copy.get(url).json()["target"] == target
    with wherry.Client(proxies={"https": "http://127.0.0.1:1"}) as client:
        with pytest.raises(wherry.NetworkError, match="the proxy http://127.0.0.1:1:"):
            client.get("https://h.invalid/")
    with pytest.raises(wherry.ArgumentError, match="chooses by scheme"):
        wherry.Client(proxies={"http://example.org": "http://p:1"})
    with pytest.raises(wherry.ArgumentError, match="^proxies=: proxy_https "):
        wherry.Client(proxies={"https": "ftp://p:1"})
    with pytest.raises(TypeError, match="not both"):
        wherry.Client(proxy="http://p:1", proxies={"all": "http://p:1"})


def test_C19_exceptions_have_every_form_and_come_from_the_environment_too(server: Server) -> None:
    port = urllib.parse.urlsplit(server.base).port
    forms = {
        "127.0.0.1": True, f"127.0.0.1:{port}": True, "127.0.0.1:1": False, "127.0.0.0/8": True,
        "10.0.0.0/8": False, "a.example, *": True, "::1": False, ".0.0.1": False,
    }  # fmt: skip
    for entry, is_direct in forms.items():
        with wherry.Client(proxy=server.base, no_proxy=entry) as client:
            target = client.get(server.url("/echo")).json()["target"]
            assert target.startswith("/") is is_direct, entry
    source = f"""
import wherry
with wherry.Client() as client:
    print(client.get({server.url("/echo")!r}).json()["target"][:4])
"""
    for name in ("no_proxy", "NO_PROXY"):
        for entry, start in ((f"127.0.0.1:{port}", "/ech"), ("127.0.0.1:1", "http")):
            done = run_python(source, env={"http_proxy": server.base, name: entry})
            assert done.stdout.strip() == start, done.stderr
    with pytest.raises(wherry.ArgumentError, match="list of hosts without a proxy"):
        wherry.Client(no_proxy="http://h.org")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_C19_international_names_are_resolved_in_every_locale(server: Server, locale: str) -> None:
    place = f"b\u00fccher.example:{urllib.parse.urlsplit(server.base).port}"
    url = server.url("/echo").replace(server.base[len("http://") :], place)
    source = f"""
import wherry
with wherry.Client(resolve={{{place!r}: "127.0.0.1"}}, trust_env=False) as client:
    print(dict(client.get({url!r}).json()["headers"])["Host"])
with wherry.Client(resolve={{{place!r}: "127.0.0.1"}}, proxy={"http://" + place!r}) as client:
    print(client.get({server.url("/echo")!r}).json()["target"][:7])
"""
    done = run_python(source, env={"LC_ALL": locale, "PYTHONIOENCODING": "utf-8"})
    assert done.stdout.split() == [place.replace("b\u00fccher", "xn--bcher-kva"), "http://"], done.stderr


def test_C19_an_invalid_proxy_is_refused_and_a_failing_one_is_named() -> None:
    with pytest.raises(wherry.ArgumentError, match="^proxy ") as refused:
        wherry.Client(proxy="ftp://h:1")
    assert refused.value.reason == "bad_value"
    with wherry.Client(proxy="http://name:hunter4@127.0.0.1:1") as client:
        with pytest.raises(wherry.NetworkError, match="the proxy http://127.0.0.1:1:") as caught:
            client.get("http://h.invalid/")
    assert "h.invalid" not in str(caught.value) and "hunter4" not in str(caught.value)


def configuration(folder: pathlib.Path, **settings: Any) -> pathlib.Path:
    path = folder / "config.json"
    path.write_text(json.dumps(settings, ensure_ascii=False), encoding="utf-8")
    return path


def test_C20_a_settings_file_gives_the_same_requests_in_every_language(server: Server, tmp_path: pathlib.Path) -> None:
    path = configuration(
        tmp_path, base_url=server.base + "/", app_name="Fähre", app_version="2",
        headers={"X-A": "1", "X-B": "2"}, compressed=False, parameters={"p": [1, 2], "key": server.key},
        array_style=1, first_byte_timeout_ms=200, bearer_token="t1",
    )  # fmt: skip
    with wherry.Client(config=path, headers={"X-B": "3"}) as client:
        echo = client.get("echo").json()
        assert echo["target"].endswith(f"/echo?key={server.key}&p=1&p=2")
        assert field(echo, "user-agent")[0].startswith("Fahre/2 (Linux ")
        assert field(echo, "accept-encoding") == ["identity"]
        assert field(echo, "x-a") + field(echo, "x-b") == ["1", "3"]
        assert field(echo, "authorization") == ["Bearer t1"]
        assert client.get("echo?q=1").json()["query"][0] == ["q", "1"]
        with pytest.raises(wherry.TimeoutError):
            client.get("silent")
    with wherry.Client(config=str(path), auth=("u", "p"), timeout=600) as client:
        assert field(client.get("echo").json(), "authorization")[0].startswith("Basic ")
        assert client.get("delay/400").status_code == 200


def test_C20_the_environment_may_name_the_settings_file(
    server: Server,
    tmp_path: pathlib.Path,
) -> None:
    path = configuration(tmp_path, headers={"X-A": "1"})
    source = f"""
import wherry
for given in (True, None):
    with wherry.Client(config=given) as client:
        print(dict(client.get({server.url("/echo")!r}).json()["headers"]).get("X-A"))
"""
    done = run_python(source, env={"WHERRY_CONFIG": str(path)})
    assert done.stdout.split() == ["1", "None"], done.stderr


def test_C20_an_invalid_entry_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        wherry.Client(config=configuration(tmp_path, timeout=3))
    assert caught.value.reason == "bad_option" and "timeout" in str(caught.value)


def test_C10_an_application_identifies_itself_if_configured(server: Server) -> None:
    source = f"""
import wherry
with wherry.Client(app_name="Demo", send_languages=True) as client:
    fields = dict(client.get({server.url("/echo")!r}).json()["headers"])
    print(fields["User-Agent"].split()[0], fields["Accept-Language"])
"""
    done = run_python(source, env={"LC_ALL": "de_AT.UTF-8", "LANGUAGE": "de_AT:en"})
    assert done.stdout.strip() == "Demo/1 de-AT, en;q=0.9", done.stderr
    with wherry.Client() as client:
        fields = dict(client.get(server.url("/echo")).json()["headers"])
        assert "Accept-Language" not in fields
        assert fields["User-Agent"] == f"Wherry/{wherry.__version__}"


def test_C19_C20_a_pickled_client_uses_the_same_route(server: Server, socket_path: str, tmp_path: pathlib.Path) -> None:
    with wherry.Client(unix_socket=socket_path, no_proxy=["a"], proxy_auth=("u", "p")) as client:
        with pickle.loads(pickle.dumps(client)) as copy:
            assert field(copy.get("http://container/echo").json(), "host") == ["container"]
    path = configuration(tmp_path, base_url=server.base + "/", headers={"X-A": "1"})
    with wherry.Client(config=path, timeout=None) as client:
        assert client.timeout == wherry.Timeout.of(None)
        with pickle.loads(pickle.dumps(client)) as copy:
            assert field(copy.get(server.url("/echo")[len(server.base) + 1 :]).json(), "x-a") == ["1"]
