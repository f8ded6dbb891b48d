# Wherry: WSGI and ASGI applications in place of the network
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import contextvars
import gzip
import io
import json
from typing import Any, Callable, Dict, Iterable, List

import pytest
from test_forking import forked

import wherry

BASE = "http://app.test"
here: contextvars.ContextVar[str] = contextvars.ContextVar("here", default="")


def wsgi(environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """A raw application."""
    path = environ["PATH_INFO"]
    if path == "/raise":
        raise ValueError("mine")
    if path == "/move":
        start_response("302 Found", [("Location", "/echo"), ("Set-Cookie", "a=1; Path=/")])
        return []
    if path == "/gzip":
        start_response("200 OK", [("Content-Encoding", "gzip")])
        return [gzip.compress(b"plain")]
    if path == "/late":

        def late() -> Iterable[bytes]:
            write = start_response("200 OK", [])
            write(b"a")
            yield b"b"

        return late()
    if path == "/none":
        return []
    if path == "/failed":
        try:
            raise KeyError("later")
        except KeyError:
            import sys

            start_response("500 Internal Server Error", [], sys.exc_info())
        return [b"failed"]
    shown = {name: value for name, value in environ.items() if isinstance(value, str)}
    shown["body"] = environ["wsgi.input"].read().decode("latin-1")
    shown["here"] = here.get()
    start_response("200 OK", [("Content-Type", "application/json"), ("X-A", "1"), ("X-A", "2")])
    return [json.dumps(shown).encode()]


def test_a_WSGI_application_responds() -> None:
    here.set("context")
    with wherry.Client(transport=wherry.WSGITransport(wsgi, remote_addr="10.0.0.1"), base_url=BASE) as client:
        answer = client.post("/a%20b/ä?q=1&r=%C3%A4", content=b"\xff", headers={"X-My": "ä", "Content-Type": "t"})
        told = answer.json()
        assert (told["REQUEST_METHOD"], told["QUERY_STRING"]) == ("POST", "q=1&r=%C3%A4")
        assert told["PATH_INFO"].encode("latin-1").decode() == "/a b/ä" and told["SCRIPT_NAME"] == ""
        assert (told["HTTP_X_MY"], told["CONTENT_TYPE"], told["CONTENT_LENGTH"]) == ("\xc3\xa4", "t", "1")
        assert (told["SERVER_NAME"], told["SERVER_PORT"], told["HTTP_HOST"]) == ("app.test", "80", "app.test")
        assert told["REMOTE_ADDR"] == "10.0.0.1" and told["body"] == "\xff" and told["here"] == "context"
        assert answer.headers.get_list("x-a") == ["1", "2"]
        assert client.get("https://app.test/").json()["SERVER_PORT"] == "443"
        moved = client.get("/move")
        assert moved.json()["HTTP_COOKIE"] == "a=1" and len(moved.history) == 1
        assert client.get("/late").content == b"ab" and client.get("/gzip").content == b"plain"
        form = client.post("/", files={"f": ("n.txt", b"x")}, data={"a": "b"}).json()
        assert 'filename="n.txt"' in form["body"] and int(form["CONTENT_LENGTH"]) == len(form["body"])
        with pytest.raises(ValueError, match="mine"):
            client.get("/raise")
        with pytest.raises(KeyError, match="later"):
            client.get("/failed")
        with pytest.raises(RuntimeError, match="start_response"):
            client.get("/none")
        with client.stream("GET", "/late") as stream:
            assert stream.read() == b"ab"
    silent = wherry.WSGITransport(wsgi, raise_app_exceptions=False, script_name="/mounted")
    with wherry.Client(transport=silent, base_url=BASE) as client:
        assert client.get("/raise").status_code == 500 == client.get("/none").status_code
        assert client.get("/failed").content == b"failed"
        told = client.get("/mounted/x").json()
        assert (told["SCRIPT_NAME"], told["PATH_INFO"]) == ("/mounted", "/x")


def test_a_WSGI_application_is_closed_and_its_errors_are_raised() -> None:
    closed: List[int] = []
    errors = io.StringIO()

    class Body:
        def __iter__(self) -> Any:
            return iter([b"a"])

        def close(self) -> None:
            closed.append(1)

    def app(environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        print("noted", file=environ["wsgi.errors"])
        start_response("200 OK", [])
        return Body()

    with wherry.Client(transport=wherry.WSGITransport(app, wsgi_errors=errors)) as client:
        assert client.get(BASE).content == b"a"
    assert closed == [1] and errors.getvalue() == "noted\n"


async def asgi(scope: Any, receive: Any, send: Any) -> None:
    """A raw application."""
    assert scope["type"] == "http"
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message["more_body"]:
            break
    path = scope["path"]
    if path == "/raise":
        raise ValueError("mine")
    if path == "/none":
        return
    start = {"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"1"), (b"x-a", b"2")]}
    await send(start)
    if path == "/after":
        await send({"type": "http.response.body", "body": b"complete"})
        assert (await receive())["type"] == "http.disconnect"
        raise ValueError("after the end")
    if path == "/twice":
        await send(start)
    if path == "/pieces":
        for piece in (b"a", b"b"):
            await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})
        return
    shown = {
        "method": scope["method"], "path": path, "raw_path": scope["raw_path"].decode(), "scheme": scope["scheme"],
        "query": scope["query_string"].decode(), "server": list(scope["server"]), "client": list(scope["client"]),
        "root_path": scope["root_path"], "body": body.decode("latin-1"), "here": here.get(),
        "headers": [[name.decode(), value.decode()] for name, value in scope["headers"]],
    }  # fmt: skip
    await send({"type": "http.response.body", "body": json.dumps(shown).encode()})


def test_an_ASGI_application_responds() -> None:
    async def main() -> None:
        here.set("context")
        transport = wherry.ASGITransport(asgi, root_path="/root", client=("10.0.0.1", 5))
        async with wherry.AsyncClient(transport=transport, base_url=BASE) as client:
            answer = await client.post("/a%20b?q=1", content=b"\xff", headers={"X-My": "h"})
            told = answer.json()
            assert (told["method"], told["path"], told["raw_path"]) == ("POST", "/a b", "/a%20b")
            assert (told["query"], told["scheme"], told["server"]) == ("q=1", "http", ["app.test", 80])
            assert (told["client"], told["root_path"], told["body"]) == (["10.0.0.1", 5], "/root", "\xff")
            assert ["x-my", "h"] in told["headers"] and ["host", "app.test"] in told["headers"]
            assert told["here"] == "context" and answer.headers.get_list("x-a") == ["1", "2"]
            assert (await client.get("/pieces")).content == b"ab"
            several = await asyncio.gather(*[client.get("/pieces") for _ in range(10)])
            assert {one.content for one in several} == {b"ab"}
            assert (await client.head("/pieces")).content == b""
            async with client.stream("GET", "/pieces") as stream:
                assert await stream.aread() == b"ab"
            for path, kind in (
                ("/raise", ValueError),
                ("/after", ValueError),
                ("/none", RuntimeError),
                ("/twice", RuntimeError),
            ):
                with pytest.raises(kind):
                    await client.get(path)
        silent = wherry.ASGITransport(asgi, raise_app_exceptions=False)
        async with wherry.AsyncClient(transport=silent, base_url=BASE) as client:
            assert [(await client.get(path)).status_code for path in ("/raise", "/none", "/after")] == [500, 500, 200]

    asyncio.run(main())
    with pytest.raises(TypeError, match="AsyncClient"):
        wherry.Client(transport=wherry.ASGITransport(asgi))


def test_a_flask_application_responds() -> None:
    flask = pytest.importorskip("flask")
    app = flask.Flask(__name__)

    @app.post("/notes/<int:number>")  # type: ignore[untyped-decorator]
    def note(number: int) -> Any:
        flask.session["seen"] = flask.session.get("seen", 0) + 1
        kept = flask.request.files["f"].read().decode() if flask.request.files else None
        return {
            "number": number,
            "args": flask.request.args,
            "form": flask.request.form,
            "seen": flask.session["seen"],
            "file": kept,
        }

    @app.get("/old")  # type: ignore[untyped-decorator]
    def old() -> Any:
        return flask.redirect("/missing")

    app.secret_key = "k"
    app.testing = True
    with wherry.Client(transport=wherry.WSGITransport(app), base_url=BASE) as client:
        first = client.post("/notes/7", params={"q": "ä"}, data={"a": "b"}, files={"f": b"file"}).json()
        assert first == {"number": 7, "args": {"q": "ä"}, "form": {"a": "b"}, "seen": 1, "file": "file"}
        assert client.post("/notes/7").json()["seen"] == 2
        missing = client.get("/old")
        assert missing.status_code == 404 and [hop.status_code for hop in missing.history] == [302]


def test_a_starlette_application_responds() -> None:
    pytest.importorskip("starlette")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse, RedirectResponse, StreamingResponse
    from starlette.routing import Route

    async def note(request: Request) -> JSONResponse:
        return JSONResponse({"body": (await request.body()).decode(), "cookies": request.cookies, "pad": "x" * 2000})

    async def pieces(request: Request) -> StreamingResponse:
        async def made() -> Any:
            for number in range(3):
                yield f"{number}\n"

        return StreamingResponse(made())

    async def old(request: Request) -> RedirectResponse:
        answer = RedirectResponse("/notes")
        answer.set_cookie("a", "1")
        return answer

    app = Starlette(
        routes=[Route("/notes", note, methods=["GET", "POST"]), Route("/pieces", pieces), Route("/old", old)],
        middleware=[Middleware(GZipMiddleware, minimum_size=1000)],
    )

    async def main() -> None:
        async with wherry.AsyncClient(transport=wherry.ASGITransport(app), base_url=BASE) as client:
            answer = await client.post("/notes", content="ä")
            assert answer.json()["body"] == "ä" and len(answer.json()["pad"]) == 2000
            assert (await client.get("/pieces")).text == "0\n1\n2\n"
            assert (await client.get("/old")).json()["cookies"] == {"a": "1"}
            assert (await client.get("/none")).status_code == 404

    asyncio.run(main())


def test_M12_an_application_responds_in_a_forked_child() -> None:
    forked("""
import wherry
def app(environ, start_response):
    start_response("200 OK", [])
    return [environ["PATH_INFO"].encode()]
client = wherry.Client(transport=wherry.WSGITransport(app), base_url="http://app.test")
def child():
    assert client.get("/a").text == "/a"
child()
fork(child)
client.close()
""")
