# Wherry: configuration, by row
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import ctypes
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List, Optional

import pytest
from conftest import Server, field, run_python, start_server
from test_uploads import png

import wherry
from wherry._native import codes
from wherry._native.library import lib


def test_C1_a_changed_timeout_applies_from_the_next_request(server: Server) -> None:
    with wherry.Client(timeout=600) as client:
        assert client.get(server.url("/json")).status_code == 200

        client.timeout = wherry.Timeout(first_byte=0.2)

        with pytest.raises(wherry.TimeoutError) as caught:
            client.get(server.url("/silent"))
        assert isinstance(caught.value, TimeoutError)


def test_C1_the_module_has_a_default_client(server: Server) -> None:
    assert wherry.get(server.url("/json")).json()["code"] == 0
    assert wherry.client() is wherry.client()
    assert wherry.post(server.url("/echo"), json=[1]).json()["json"] == [1]


@pytest.mark.parametrize(
    ("base", "url", "joined"),
    [
        ("http://h.test/v1", "foo", "http://h.test/v1/foo"),
        ("http://h.test/v1/", "foo", "http://h.test/v1/foo"),
        ("http://h.test/v1", "/foo", "http://h.test/foo"),
        ("http://h.test/v1", "http://o.test/x", "http://o.test/x"),
        ("http://h.test/v1", "foo?a=b", "http://h.test/v1/foo?a=b"),
    ],
)
def test_C2_one_rule_joins_base_and_URL(mock: wherry.MockTransport, base: str, url: str, joined: str) -> None:
    mock.add(None, "*")
    with wherry.Client(base_url=base, transport=mock) as client:
        answer = client.get(url)

    assert mock.requests[0].url == joined
    assert answer.url == joined


def test_C2_a_relative_URL_without_a_base_is_refused_before_sending(client: wherry.Client) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.get("foo")
    assert caught.value.reason == "bad_url"


def test_C3_ignore_base_changes_the_identifier_too(client: wherry.Client) -> None:
    client.base_url = "http://v.juhe.cn"
    nobody = "507e6fd9699c311e1e11850905939715"

    with_base = client.identifier("GET", "toutiao/index")
    without = client.identifier("GET", "http://v.juhe.cn/toutiao/index", ignore_base=True)

    assert with_base == (
        "b4b36793efabad54a14389cf09bc8133_a6a72ddee1dd86825cb5707c500784f5_7b65261ff298c6a386c89a632bd17b39_"
    )
    assert without.startswith(nobody + "_")


def test_C3_downloads_and_uploads_can_ignore_the_base_URL_too(server: Server, tmp_path: Any) -> None:
    with wherry.Client(base_url="http://127.0.0.1:1/elsewhere/") as client:
        url = server.url("/echo")
        client.download(url, tmp_path / "file", ignore_base=True)
        client.upload(url, png(2, 2), ignore_base=True)
        assert client.get(url, ignore_base=True).ok
        for call in (
            lambda: client.download("echo", tmp_path / "other", ignore_base=True),
            lambda: client.upload("echo", png(2, 2), ignore_base=True),
            lambda: client.get("echo", ignore_base=True),
        ):
            with pytest.raises(wherry.ArgumentError) as caught:
                call()
            assert caught.value.reason == "bad_url"
    assert [told["path"] for told in server.log()] == ["/echo"] * 3
    assert os.listdir(tmp_path) == ["file"]


def test_C4_a_base_is_selected_by_name_and_an_unknown_name_sends_nothing(server: Server) -> None:
    bases = {"upload": server.base + "/echo/up", "cdn": server.base + "/echo/cdn/"}
    with wherry.Client(base_url=server.base, bases=bases) as client:
        for base, path in ((None, "/echo/x"), ("upload", "/echo/up/x"), ("cdn", "/echo/cdn/x")):
            answer = client.get("echo/x" if base is None else "x", base=base)
            assert answer.json()["path"] == path
            assert answer.url == server.base + path
        with pytest.raises(wherry.ArgumentError) as caught:
            client.get("x", base="nowhere")
        assert caught.value.reason == "not_found"
        client.configure(bases={"nowhere": server.base + "/echo/late", "cdn": None})
        assert client.get("x", base="nowhere").json()["path"] == "/echo/late/x"
        with pytest.raises(wherry.ArgumentError):
            client.get("x", base="cdn")
        assert client.bases == {"upload": bases["upload"], "nowhere": server.base + "/echo/late"}
        client.base_url = ""
        assert client.get("x", base="upload").url == server.base + "/echo/up/x"


def test_C4_a_client_reaches_three_servers_by_name(server: Server) -> None:
    servers = [start_server() for _ in range(2)]
    try:
        ports = [next(one)["port"] for one in servers]
        upload, cdn = (Server(f"http://127.0.0.1:{port}", server.key) for port in ports)
        bases = {"upload": upload.base, "cdn": cdn.base}
        with wherry.Client(base_url=server.base, bases=bases) as client:
            for name in (None, "upload", "cdn", ["cdn", "upload"]):
                assert client.get("echo", base=name, params={"key": server.key}).ok
            client.post("sink", base="upload", params={"key": server.key}, content=b"x")
            with pytest.raises(wherry.ArgumentError) as caught:
                client.get("echo", base="elsewhere", params={"key": server.key})
            assert caught.value.reason == "not_found"
        found = [[told["path"] for told in one.log()] for one in (server, upload, cdn)]
        assert found == [["/echo"], ["/echo", "/sink"], ["/echo", "/echo"]]
    finally:
        for running in servers:
            next(running, None)  # Ends the connection.


def test_C4_the_client_tries_the_next_base_if_one_is_unreachable(server: Server) -> None:
    mine = server.url("/echo/mine").partition("?")[0]
    bases = {"down": "http://127.0.0.1:1/", "up": mine}
    params = {"key": server.key}
    with wherry.Client(bases=bases) as client:
        answer = client.post("x", base=["down", "up"], params=params, json={"n": 1})
        assert answer.json()["path"] == "/echo/mine/x" and answer.json()["json"] == {"n": 1}
        assert answer.url.startswith(mine + "/x")
        with pytest.raises(wherry.NetworkError) as caught:
            client.get("x", base=["down", "down"])
        assert caught.value.reason == "connect"
        with pytest.raises(wherry.ArgumentError):
            client.get("x", base=["up", "nowhere"])
    assert len(server.log()) == 1

    async def main() -> str:
        async with wherry.AsyncClient(bases=bases) as client:
            return (await client.get("x", base=("down", "up"), params=params)).url

    assert asyncio.run(main()).startswith(mine + "/x")


def test_C5_the_parameters_of_a_request_override_default_parameters(server: Server) -> None:
    with wherry.Client(parameters={"app": "demo", "page": 1}) as client:
        query = client.get(server.url("/echo"), parameters={"page": 2}).json()["query"]
        body = client.post(server.url("/echo"), parameters={"page": 2}).json()["json"]
        given = client.post(server.url("/echo"), json=[1, 2]).json()
        bare = client.get(server.url("/echo"), default_parameters=False).json()["query"]
        client.set_parameter("app", None)
        later = client.get(server.url("/echo")).json()["query"]

    assert ["app", "demo"] in query and ["page", "2"] in query and ["page", "1"] not in query
    assert body["app"] == "demo" and body["page"] == 2
    assert given["json"] == [1, 2]
    assert ["app", "demo"] in given["query"] and ["page", "1"] in given["query"]  # The parameters were lost.
    assert [name for name, _ in bare] == ["key"]
    assert ["app", "demo"] not in later and ["page", "1"] in later


def test_C6_every_byte_restarts_the_idle_timeout(server: Server) -> None:
    with wherry.Client(timeout=wherry.Timeout(idle=1)) as client:
        with pytest.raises(wherry.TimeoutError):
            client.get(server.url("/bytes/1000", stall=10, seconds=600))

    # If the machine stalls for as long as the timeout, the test runs again with doubled timeouts.
    limit = 1
    while True:
        with wherry.Client(timeout=wherry.Timeout(idle=limit)) as client:
            try:
                whole = client.get(server.url("/drip", bytes=16, interval_ms=100 * limit))
                break
            except wherry.TimeoutError:
                assert limit < 64
                limit *= 2

    assert whole.content == b"*" * 16
    assert whole.elapsed.total_seconds() > limit


def test_C6_a_total_timeout_covers_the_complete_request(
    server: Server,
    client: wherry.Client,
) -> None:
    with pytest.raises(wherry.TimeoutError):
        client.get(server.url("/drip", bytes=1000, interval_ms=50), timeout=wherry.Timeout(total=0.3))


def test_C7_debug_can_change_at_any_time_and_prints_nothing_while_off(server: Server) -> None:
    code = (
        "import sys, wherry\n"
        "url = sys.argv[1] if len(sys.argv) > 1 else %r\n"
        "with wherry.Client() as client:\n"
        "    client.get(url)\n"
        "    client.configure(debug=%r)\n"
        "    client.get(url)\n"
    )
    silent = run_python(code % (server.url("/json"), False))
    loud = run_python(code % (server.url("/json"), True))

    assert (silent.returncode, silent.stderr, silent.stdout) == (0, "", "")
    assert loud.returncode == 0
    assert "/json" in loud.stderr


def test_C8_headers_are_added_replaced_removed_and_cleared(server: Server) -> None:
    def sent(client: wherry.Client, name: str) -> List[str]:
        fields = client.get(server.url("/echo")).json()["headers"]
        return [value for field, value in fields if field.lower() == name]

    with wherry.Client(headers={"X-Token": "one"}) as client:
        assert sent(client, "x-token") == ["one"]
        client.headers["x-token"] = "two"
        assert sent(client, "x-token") == ["two"]
        assert client.headers["X-TOKEN"] == "two"
        del client.headers["X-Token"]
        assert sent(client, "x-token") == []
        client.headers.update({"A-1": "a", "B-2": "b"})
        client.headers.clear()
        assert sent(client, "a-1") == [] and len(client.headers) == 0


def test_C8_requests_uploads_and_downloads_send_a_header_until_it_is_removed(server: Server, tmp_path: Any) -> None:
    def sent(name: str) -> List[List[str]]:
        """The values of that header in each kind of transfer."""
        before = len(server.log())
        client.get(server.url("/echo"))
        client.upload(server.url("/echo"), png(2, 2))
        client.download(server.url("/bytes/10"), tmp_path / "file", overwrite=True)
        return [field(told, name) for told in server.log()[before:]]

    with wherry.Client(headers={"X-Token": "one"}) as client:
        assert sent("x-token") == [["one"]] * 3
        client.headers["x-TOKEN"] = "two"
        assert sent("x-token") == [["two"]] * 3
        del client.headers["X-Token"]
        assert sent("x-token") == [[]] * 3
        client.headers.update({"A-1": "a", "B-2": "b"})
        assert sent("a-1") == [["a"]] * 3 and sent("b-2") == [["b"]] * 3
        client.headers.clear()
        assert sent("a-1") == sent("b-2") == [[]] * 3


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
def test_C8_line_breaks_and_NUL_in_a_header_are_refused(client: wherry.Client, value: str) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.headers["X-Token"] = value
    assert caught.value.reason == "bad_header"
    with pytest.raises(wherry.ArgumentError):
        client.get("http://127.0.0.1:1/", headers={"X-Token": value})
    assert len(client.headers) == 0


def test_C9_a_header_of_the_request_wins_and_None_removes_it(server: Server) -> None:
    with wherry.Client(headers={"X-Level": "client", "Accept": "a/b"}) as client:
        own = client.get(server.url("/echo"), headers={"x-level": "request"}).json()["headers"]
        none = client.get(server.url("/echo"), headers={"X-Level": None}).json()["headers"]

    assert [v for n, v in own if n.lower() == "x-level"] == ["request"]
    assert [v for n, v in own if n.lower() == "accept"] == ["a/b"]
    assert [v for n, v in none if n.lower() == "x-level"] == []


@pytest.mark.parametrize("name", ["User-Agent", "Accept"])
def test_C9_a_header_set_at_three_levels_is_sent_once_with_the_value_of_the_request(
    server: Server,
    name: str,
) -> None:
    def sent(client: wherry.Client, **headers: Optional[str]) -> List[str]:
        fields = {key.replace("_", "-"): value for key, value in headers.items()}
        return field(client.get(server.url("/echo"), headers=fields).json(), name.lower())

    own: Any = {name.upper().replace("-", "_"): "request"}
    none: Any = {name.lower().replace("-", "_"): None}
    with wherry.Client() as plain:
        (built_in,) = sent(plain)
        assert built_in and sent(plain, **own) == ["request"] and sent(plain, **none) == []
    with wherry.Client(headers={name.lower(): "client"}) as client:
        assert sent(client) == ["client"]
        assert sent(client, **own) == ["request"]
        assert sent(client, **none) == []
        del client.headers[name]
        assert sent(client) == [built_in]


def test_C11_the_app_version_can_be_set_on_a_client(client: wherry.Client) -> None:
    client.configure(app_version="2.1")
    with pickle.loads(pickle.dumps(client)) as copy:
        again = pickle.loads(pickle.dumps(copy))
        assert again.__getstate__()["app_version"] == "2.1"
        again.configure(app_version=None)
        assert again.__getstate__()["app_version"] is None
        again.close()


def test_C15_a_host_never_sees_more_connections_than_allowed(server: Server) -> None:
    with wherry.Client(max_per_host=4) as client, ThreadPoolExecutor(12) as threads:
        url = server.url("/delay/5")
        answers = list(threads.map(lambda _: client.get(url).status_code, range(60)))

    stats = server.ask("/_stats")
    assert answers == [200] * 60
    assert stats["connections"] <= 4


def test_C16_progress_runs_in_the_waiting_thread(server: Server, client: wherry.Client) -> None:
    threads = set()

    client.get(
        server.url("/bytes/200000", drip=50000, interval_ms=20),
        progress=lambda _: threads.add(threading.get_ident()),
    )

    assert threads == {threading.get_ident()}


def test_C18_settings_can_change_during_requests(server: Server, client: wherry.Client) -> None:
    url = server.url("/json")
    over = threading.Event()

    def change(number: int) -> int:
        changes = 0
        while not over.is_set():
            client.headers[f"X-{number}"] = str(changes)
            client.timeout = 600 + changes % 3
            changes += 1
        return changes

    with ThreadPoolExecutor(8) as threads:
        changing = [threads.submit(change, number) for number in range(4)]
        asking = [threads.submit(lambda: client.get(url).status_code) for _ in range(300)]
        try:
            codes = [future.result() for future in asking]
        finally:
            over.set()

    assert codes == [200] * 300
    assert all(future.result() > 0 for future in changing)


def test_a_client_pickles_as_its_configuration(server: Server) -> None:
    settings: Any = {"headers": {"X-A": "1"}, "params": {"p": "q"}, "parameters": {"d": 4}}
    with wherry.Client(base_url=server.base, auth=("u", "p"), timeout=(3, 4), max_redirects=2, **settings) as client:
        client.headers["X-B"] = "2"
        copy = pickle.loads(pickle.dumps(client))
    with copy:
        told = copy.get("/echo").json()
        fields = {name.lower(): value for name, value in told["headers"]}

        assert copy.base_url == server.base
        assert copy.timeout == wherry.Timeout.of((3, 4))
        assert fields["x-a"] == "1" and fields["x-b"] == "2"
        assert fields["authorization"] == "Basic dTpw"
        assert sorted(map(tuple, told["query"])) == [("d", "4"), ("p", "q")]


def test_an_unknown_setting_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="no setting 'colour'"):
        wherry.Client(colour="red")  # type: ignore[call-arg]


def test_a_closed_client_reports_that_it_is_closed() -> None:
    client = wherry.Client()
    client.close()
    client.close()

    with pytest.raises(wherry.StateError) as caught:
        client.get("http://127.0.0.1:1/")
    assert caught.value.reason == "closed"
    assert client.is_closed


def test_an_unclosed_client_warns() -> None:
    client = wherry.Client()
    with pytest.warns(ResourceWarning, match="unclosed <Client"):
        del client


def test_a_client_that_is_open_at_program_exit_prints_nothing(server: Server) -> None:
    code = f"""
import builtins, wherry
builtins.kept = wherry.Client()
kept.get({server.url("/json")!r})
"""
    done = run_python(code)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_R3_default_params_may_repeat_a_name(server: Server) -> None:
    with wherry.Client(params=[("a", 1), ("a", 2), ("b", [3, 4])]) as client:
        answer = client.get(server.url("/echo"))
        assert answer.json()["query"][1:] == [["a", "1"], ["a", "2"], ["b", "3"], ["b", "4"]]
        assert client.params == {"a": [1, 2], "b": [3, 4]}
        with pickle.loads(pickle.dumps(client)) as again:
            assert again.get(server.url("/echo")).json()["query"] == answer.json()["query"]

        iterator: Any = ((name, "9") for name in ("a", "c"))
        once = client.get(server.url("/echo"), params=iterator)
        query = once.json()["query"][1:]
        assert sorted(query) == [["a", "9"], ["b", "3"], ["b", "4"], ["c", "9"]]


def test_R3_invalid_params_leave_no_request_behind(client: wherry.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made: List[int] = []
    freed: List[int] = []
    new, free = lib.wherry_request_new, lib.wherry_request_free

    def make(method: bytes, url: bytes, out: int) -> int:
        status = int(new(method, url, out))
        made.append(ctypes.c_uint64.from_address(out).value)
        return status

    def let_go(handle: int) -> int:
        freed.append(handle)
        return int(free(handle))

    monkeypatch.setattr(lib, "wherry_request_new", make)
    monkeypatch.setattr(lib, "wherry_request_free", let_go)

    class Wordless:
        def __str__(self) -> str:
            raise ZeroDivisionError

    client.params = {"a": 1}
    wrong: Any
    for wrong in ({Wordless(): 1}, {"b": Wordless()}):
        with pytest.raises(ZeroDivisionError):
            client.get("http://127.0.0.1/", params=wrong)
    client.params = {"a": Wordless()}
    with pytest.raises(ZeroDivisionError):
        client.get("http://127.0.0.1/")
    assert made == freed and freed


def test_the_response_URL_includes_the_query_of_the_parameters(server: Server) -> None:
    with wherry.Client(parameters={"page": 2}) as client:
        assert client.get(server.url("/json")).url.endswith("&page=2")
        client.configure(base_url="")
        assert client.get(server.url("/json")).url.endswith("&page=2")
        client.set_parameter("page", None)
        assert client.get(server.url("/json")).url == server.url("/json")
    assert wherry.get(server.url("/json"), params={"page": 2}).url.endswith("&page=2")


def test_the_HTTP_version_can_be_read_back(server: Server, client: wherry.Client) -> None:
    option = codes.OPTION_HTTP_VERSION
    client.configure(http_version="1.1")
    assert lib.wherry_client_get_option(client._handle, option) == 11
    assert client.get(server.url("/json"), http_version=None).ok
    client.configure(http_version=None)
    assert lib.wherry_client_get_option(client._handle, option) == 0
