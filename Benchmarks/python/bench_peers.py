# Wherry: benchmark driver of other HTTP clients for Python
# SPDX-License-Identifier: Apache-2.0
"""bench_peers.py PEER VERB WORD...: prints one line in the format of Benchmarks/c/bench.h.

sync URL REQUESTS                      one GET after the other, with a blocking client
get URL REQUESTS FLIGHT [CA [1.1]]     FLIGHT GETs at once, with asyncio, or with CurlMulti of pycurl
upload URL PATH COUNT [CA]             a multipart form with that file, one after the other

Benchmarks/python/peers.txt lists the versions. Each peer has one client, and reads bodies completely. `get` with a CA
uses HTTP/2, or HTTP/1.1 with the last word. `upload` uses the version that the peer prefers. requests and niquests read
the file into memory; the other peers stream it. niquests opens a connection for each request in flight, also with HTTP/2.
"""

from __future__ import annotations

import os
import ssl
import sys
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Dict, Iterator, NamedTuple, Optional, Tuple, Union

from measurement import WARM_UP, AsyncSend, Counts, Result, Send, in_flight, measured, one_by_one

#: The same headers as in the other drivers.
AGENT = "wherry/0.1.0"
HEADERS = {"User-Agent": AGENT, "Accept-Encoding": "identity"}
FILE_TYPE = "application/octet-stream"
TIMEOUT_S = 300


class Task(NamedTuple):
    """What to send. `path` is the file of a form, and empty for GETs."""

    url: str
    total: int
    flight: int = 1
    ca: Optional[str] = None
    version: Optional[str] = None
    path: str = ""

    @property
    def size(self) -> int:
        return os.path.getsize(self.path)

    @property
    def is_http2(self) -> bool:
        return self.version == "2"

    def context(self) -> Union[ssl.SSLContext, bool]:
        return ssl.create_default_context(cafile=self.ca) if self.ca else True


def task(verb: str, words: Tuple[str, ...]) -> Task:
    if verb == "sync":
        return Task(words[0], int(words[1]))
    ca = words[3] if len(words) > 3 else None
    if verb == "upload":
        return Task(words[0], int(words[2]), ca=ca, path=words[1])
    version = "2" if ca and len(words) == 4 else "1.1"
    return Task(words[0], int(words[1]), int(words[2]), ca, version)


def pycurl_easy(asked: Task) -> Any:
    pycurl = import_module("pycurl")
    easy = pycurl.Curl()
    easy.setopt(pycurl.URL, asked.url)
    easy.setopt(pycurl.USERAGENT, AGENT)
    easy.setopt(pycurl.ACCEPT_ENCODING, "identity")
    easy.setopt(pycurl.PROXY, "")
    easy.setopt(pycurl.NOSIGNAL, 1)
    if asked.ca:
        easy.setopt(pycurl.CAINFO, asked.ca)
        easy.setopt(pycurl.PIPEWAIT, asked.is_http2)
    if asked.version == "1.1":
        easy.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
    return easy


@contextmanager
def pycurl_sender(asked: Task) -> Iterator[Send]:
    pycurl = import_module("pycurl")
    easy = pycurl_easy(asked)

    def get() -> Result:
        body = easy.perform_rb()
        return easy.getinfo(pycurl.RESPONSE_CODE), len(body)

    def upload() -> Result:
        with pycurl.CurlMime(easy) as form:
            form.add_file("file", asked.path, content_type=FILE_TYPE)
            easy.setopt(pycurl.MIMEPOST, form)
            easy.perform_rb()
        return easy.getinfo(pycurl.RESPONSE_CODE), asked.size

    if asked.path:
        easy.setopt(pycurl.HTTPHEADER, ["Expect:"])
    yield upload if asked.path else get
    easy.close()


@contextmanager
def pycurl_loop(asked: Task) -> Iterator[Callable[[int], Counts]]:
    """A function that sends a number of GETs with CurlMulti."""
    pycurl = import_module("pycurl")
    multi = pycurl.CurlMulti()
    multi.setopt(pycurl.M_MAXCONNECTS, asked.flight)
    easies = [pycurl_easy(asked) for _ in range(asked.flight)]

    def start(easy: Any) -> None:
        easy.body = BytesIO()
        easy.setopt(pycurl.WRITEDATA, easy.body)
        multi.add_handle(easy)

    def run(total: int) -> Counts:
        started = min(asked.flight, total)
        done = failed = count = 0
        for easy in easies[:started]:
            start(easy)
        while done < total:
            multi.perform()
            _, good, bad = multi.info_read(asked.flight)
            if not good and not bad:
                multi.select(1.0)
            for easy in good + [which for which, _, _ in bad]:
                failed += easy.getinfo(pycurl.RESPONSE_CODE) != 200
                count += len(easy.body.getvalue())
                done += 1
                multi.remove_handle(easy)
                if started < total:
                    started += 1
                    start(easy)
        return total, failed, count

    yield run
    for easy in easies:
        easy.close()
    multi.close()


@asynccontextmanager
async def aiohttp_sender(asked: Task) -> AsyncIterator[AsyncSend]:
    aiohttp = import_module("aiohttp")
    connector = aiohttp.TCPConnector(limit=asked.flight, ssl=asked.context())
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with aiohttp.ClientSession(connector=connector, headers=HEADERS, timeout=timeout) as session:

        async def get() -> Result:
            async with session.get(asked.url) as response:
                return response.status, len(await response.read())

        async def upload() -> Result:
            with open(asked.path, "rb") as file:
                form = aiohttp.FormData()
                form.add_field("file", file, filename=os.path.basename(asked.path), content_type=FILE_TYPE)
                async with session.post(asked.url, data=form) as response:
                    await response.read()
                    return response.status, asked.size

        yield upload if asked.path else get


def httpx_settings(asked: Task) -> Dict[str, Any]:
    httpx = import_module("httpx")
    limits = httpx.Limits(max_connections=asked.flight, max_keepalive_connections=asked.flight)
    return {
        "verify": asked.context(),
        "http2": asked.is_http2,
        "limits": limits,
        "headers": HEADERS,
        "timeout": TIMEOUT_S,
        "trust_env": False,
    }


@contextmanager
def httpx_sender(asked: Task) -> Iterator[Send]:
    httpx = import_module("httpx")
    with httpx.Client(**httpx_settings(asked)) as client:
        yield requests_send(client, asked)


@asynccontextmanager
async def httpx_async_sender(asked: Task) -> AsyncIterator[AsyncSend]:
    httpx = import_module("httpx")
    async with httpx.AsyncClient(**httpx_settings(asked)) as client:
        yield requests_async_send(client, asked)


def requests_send(client: Any, asked: Task) -> Send:
    """A function that sends with a client that has the methods of requests."""

    def get() -> Result:
        response = client.get(asked.url)
        return response.status_code, len(response.content)

    def upload() -> Result:
        with open(asked.path, "rb") as file:
            part = (os.path.basename(asked.path), file, FILE_TYPE)
            return client.post(asked.url, files={"file": part}).status_code, asked.size

    return upload if asked.path else get


def requests_async_send(client: Any, asked: Task) -> AsyncSend:
    async def get() -> Result:
        response = await client.get(asked.url)
        return response.status_code, len(response.content)

    return get


@contextmanager
def requests_sender(asked: Task) -> Iterator[Send]:
    with import_module("requests").Session() as session:
        session.trust_env = False
        session.headers.update(HEADERS)
        session.verify = asked.ca or True
        yield requests_send(session, asked)


def niquests_settings(asked: Task) -> Dict[str, Any]:
    return {
        "pool_maxsize": max(10, asked.flight),
        "disable_http2": asked.version == "1.1",
        "disable_http3": True,
        "headers": HEADERS,
        "timeout": TIMEOUT_S,
        # The other clients do not look for revoked certificates.
        "revocation_configuration": None,
    }


@contextmanager
def niquests_sender(asked: Task) -> Iterator[Send]:
    with import_module("niquests").Session(**niquests_settings(asked)) as session:
        session.trust_env = False
        session.verify = asked.ca or True
        yield requests_send(session, asked)


@asynccontextmanager
async def niquests_async_sender(asked: Task) -> AsyncIterator[AsyncSend]:
    async with import_module("niquests").AsyncSession(**niquests_settings(asked)) as session:
        session.trust_env = False
        session.verify = asked.ca or True
        yield requests_async_send(session, asked)


def pyreqwest_client(builder: Any, asked: Task) -> Any:
    """The client of a `ClientBuilder` or `SyncClientBuilder`."""
    builder = builder.no_proxy().default_headers(HEADERS).http2(asked.is_http2)
    builder = builder.max_connections(asked.flight).pool_max_idle_per_host(asked.flight)
    if asked.ca:
        builder = builder.add_root_certificate_pem(Path(asked.ca).read_bytes())
    return builder.build()


@contextmanager
def pyreqwest_sender(asked: Task) -> Iterator[Send]:
    builder = import_module("pyreqwest.client").SyncClientBuilder()
    multipart = import_module("pyreqwest.multipart")
    with pyreqwest_client(builder, asked) as client:

        def get() -> Result:
            response = client.get(asked.url).build().send()
            return response.status, len(response.bytes())

        def upload() -> Result:
            part = multipart.PartBuilder.from_sync_file(Path(asked.path)).mime(FILE_TYPE)
            form = multipart.FormBuilder().part("file", part)
            response = client.post(asked.url).multipart(form).build().send()
            response.bytes()
            return response.status, asked.size

        yield upload if asked.path else get


@asynccontextmanager
async def pyreqwest_async_sender(asked: Task) -> AsyncIterator[AsyncSend]:
    async with pyreqwest_client(import_module("pyreqwest.client").ClientBuilder(), asked) as client:

        async def get() -> Result:
            response = await client.get(asked.url).build().send()
            return response.status, len(await response.bytes())

        yield get


def curl_cffi_settings(asked: Task) -> Dict[str, Any]:
    return {
        "headers": HEADERS,
        "verify": asked.ca or True,
        "http_version": {"1.1": "v1", "2": "v2"}.get(asked.version or ""),
        "trust_env": False,
        "timeout": TIMEOUT_S,
    }


@contextmanager
def curl_cffi_sender(asked: Task) -> Iterator[Send]:
    curl_cffi = import_module("curl_cffi")
    with curl_cffi.Session(**curl_cffi_settings(asked)) as session:

        def upload() -> Result:
            form = curl_cffi.CurlMime()
            form.addpart("file", content_type=FILE_TYPE, filename=os.path.basename(asked.path), local_path=asked.path)
            status = session.post(asked.url, multipart=form).status_code
            form.close()
            return status, asked.size

        yield upload if asked.path else requests_send(session, asked)


@asynccontextmanager
async def curl_cffi_async_sender(asked: Task) -> AsyncIterator[AsyncSend]:
    curl_cffi = import_module("curl_cffi")
    async with curl_cffi.AsyncSession(max_clients=asked.flight, **curl_cffi_settings(asked)) as session:
        yield requests_async_send(session, asked)


BLOCKING = {
    "pycurl": pycurl_sender,
    "httpx": httpx_sender,
    "requests": requests_sender,
    "pyreqwest": pyreqwest_sender,
    "curl_cffi": curl_cffi_sender,
    "niquests": niquests_sender,
}
ASYNC = {
    "aiohttp": aiohttp_sender,
    "httpx": httpx_async_sender,
    "pyreqwest": pyreqwest_async_sender,
    "curl_cffi": curl_cffi_async_sender,
    "niquests": niquests_async_sender,
}


def run_blocking(peer: str, asked: Task) -> None:
    with BLOCKING[peer](asked) as send:
        if not asked.path:
            one_by_one(send, WARM_UP)
        measured(lambda: one_by_one(send, asked.total), send if asked.path else None)


def run_pycurl_loop(asked: Task) -> None:
    with pycurl_loop(asked) as run:
        run(max(WARM_UP, asked.flight))
        measured(lambda: run(asked.total))


def run_asyncio(peer: str, asked: Task) -> None:
    import asyncio

    loop = asyncio.new_event_loop()
    stack = AsyncExitStack()
    send = loop.run_until_complete(stack.enter_async_context(ASYNC[peer](asked)))

    def run(total: int) -> Counts:
        return loop.run_until_complete(in_flight(send, total, asked.flight))

    if not asked.path:
        run(max(WARM_UP, asked.flight))
    measured(lambda: run(asked.total), (lambda: run(1)) if asked.path else None)
    loop.run_until_complete(stack.aclose())
    loop.close()


def main() -> None:
    peer, verb, *words = sys.argv[1:]
    asked = task(verb, tuple(words))
    if peer == "pycurl" and verb == "get":
        run_pycurl_loop(asked)
    elif peer == "aiohttp" or verb == "get":
        run_asyncio(peer, asked)
    else:
        run_blocking(peer, asked)
    sys.stdout.flush()
    # At the normal exit of the interpreter, a thread of pyreqwest 0.15.1 may crash it.
    os._exit(0)


if __name__ == "__main__":
    main()
