# Wherry: the life of a Python program: exceptions, garbage collection, signals, forks, and exit
# SPDX-License-Identifier: Apache-2.0
"""Cases SEC-Y1 to SEC-Y9 except SEC-Y8: no other interpreter is available here."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Type

import pytest
from conftest import PATIENCE, PATIENT, ROOT, Server, run_python
from test_uploads import png

import wherry
from wherry._core.calls import SLICE_MS
from wherry._native import library, prototypes
from wherry._native.library import lib

#: How often a loop runs: in full with WHERRY_LOOPS=full, otherwise a tenth.
FULL = os.environ.get("WHERRY_LOOPS") == "full"


def raising(kind: Type[BaseException]) -> Callable[..., Any]:
    def function(*_: object) -> Any:
        raise kind("from the function")

    return function


def pieces(kind: Type[BaseException]) -> Iterator[bytes]:
    yield b"one"
    raise kind("from the function")


def uses(server: Server, folder: pathlib.Path, kind: Type[BaseException]) -> Dict[str, Dict[str, Any]]:
    """The ways in which a program's own functions run during a call."""
    return {
        "progress": {"url": server.url("/bytes/100000"), "progress": raising(kind)},
        "body": {"url": server.url("/sink"), "method": "POST", "data": pieces(kind)},
        "store": {"url": server.url("/echo"), "cache": 60, "store": raising(kind)},
        "on_cached": {"url": server.url("/echo"), "on_cached": raising(kind), "cache": 60},
    }


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("name", ["progress", "body", "store", "on_cached"])
def test_SEC_Y1_the_call_raises_an_exception_from_a_function(
    server: Server, tmp_path: pathlib.Path, capfd: Any, name: str, kind: Type[BaseException]
) -> None:
    options = dict(uses(server, tmp_path, kind)[name])
    url, method = options.pop("url"), options.pop("method", "GET")
    with wherry.Client(storage_directory=str(tmp_path / "store"), **PATIENT) as client:
        if name == "on_cached":
            client.get(url, cache=60)
        with pytest.raises(kind, match="from the function"):
            client.request(method, url, **options)
        client.wait(timeout=PATIENCE)
        assert client.get(server.url("/json")).ok
    # The exception is never printed and lost, as ctypes does with callback exceptions.
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
@pytest.mark.parametrize("name", ["progress", "body", "store", "on_cached"])
def test_SEC_Y1_asyncio_raises_an_exception_from_a_function(
    server: Server, tmp_path: pathlib.Path, name: str, kind: Type[BaseException]
) -> None:
    options = dict(uses(server, tmp_path, kind)[name])
    url, method = options.pop("url"), options.pop("method", "GET")

    async def talk() -> None:
        folder = str(tmp_path / "store")
        async with wherry.AsyncClient(storage_directory=folder, **PATIENT) as client:
            if name == "on_cached":
                await client.get(url, cache=60)
            await client.request(method, url, **options)

    with pytest.raises(kind, match="from the function"):
        asyncio.run(talk())


def test_SEC_Y2_a_buffer_may_be_freed_while_it_is_sent(
    server: Server,
    patient: wherry.Client,
) -> None:
    async def talk() -> Dict[str, Any]:
        async with wherry.AsyncClient(timeout=None) as client:
            body = bytearray(os.urandom(3_000_000))
            digest = hashlib.sha256(body).hexdigest()
            url = server.url("/sink", stall=1, gate=server.gate())
            sending = asyncio.ensure_future(client.post(url, data=body))
            await asyncio.get_running_loop().run_in_executor(None, lambda: server.wait(requests=1))
            body[:] = bytes(len(body))
            del body
            gc.collect()
            server.open_gate(server.gate())
            told: Dict[str, Any] = (await sending).json()
            return {"same": told["sha256"] == digest, "bytes": told["bytes"]}

    assert asyncio.run(talk()) == {"same": True, "bytes": 3_000_000}


def test_SEC_Y3_a_collected_handle_in_flight_is_cancelled_with_a_warning(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path
) -> None:
    heard: List[object] = []
    url = server.url("/bytes/4000000", hold=2_000_000, gate=server.gate())
    download = client.start_download(url, tmp_path / "file", progress=heard.append)
    stream: Any = client.stream("GET", url)
    next(stream.__enter__().iter_bytes())
    server.wait(requests=2)
    with pytest.warns(ResourceWarning, match="unclosed <Download"):
        del download
        gc.collect()
    with pytest.warns(ResourceWarning, match="unclosed <Stream"):
        del stream
        gc.collect()
    # The server sees both connections close, although its gate never opened.
    server.wait(ended=2)
    assert heard == []
    client.wait(timeout=PATIENCE)
    assert client.count() == 0 and not (tmp_path / "file").exists()


#: Programs that end in the middle of an operation, each in a different way.
ENDS = {
    "thread": "threading.Thread(target=lambda: client.get(url), daemon=True).start(); wait()",
    "download": "held = client.start_download(url, sys.argv[2]); wait()",
    "stream": "held = client.stream('GET', url).__enter__(); next(held.iter_bytes()); wait()",
    "bridge": "client.log_to(level='debug'); threading.Thread(target=lambda: client.get(url),"
    " daemon=True).start(); wait()",
    "reader": "held = client.log('debug'); threading.Thread(target=lambda: list(held),"
    " daemon=True).start(); client.get(json)",
    "asyncio": "asyncio.run(leave())",
    "exit": "threading.Thread(target=lambda: client.get(url), daemon=True).start(); wait(); sys.exit(3)",
    "raise": "threading.Thread(target=lambda: client.get(url), daemon=True).start(); wait();"
    " raise ValueError('at the end')",
}
PROGRAM = """
import asyncio, sys, threading, urllib.request
import wherry
url, json, waiting = {url!r}, {json!r}, {waiting!r}
def wait():
    urllib.request.urlopen(waiting).close()
async def leave():
    client = wherry.AsyncClient(timeout=None)
    task = asyncio.ensure_future(client.get(url))
    await asyncio.get_running_loop().run_in_executor(None, wait)
client = wherry.Client(timeout=None)
{way}
"""


@pytest.mark.parametrize("way", ENDS)
def test_SEC_Y4_a_program_may_end_at_any_point(server: Server, tmp_path: pathlib.Path, way: str) -> None:
    source = os.path.join(ROOT, "bindings", "python", "src")
    env = {**os.environ, "PYTHONPATH": source, "PYTHONFAULTHANDLER": "1"}
    # 200 program ends in the full loop, a tenth otherwise.
    for number in range(25 if FULL else 3):
        key = f"{server.key}-{way}-{number}"
        mine = Server(server.base, key)
        code = PROGRAM.format(
            url=mine.url("/bytes/4000000", hold=2_000_000, gate=key), json=mine.url("/json"),
            waiting=mine.url("/_wait", requests=1, timeout=PATIENCE), way=ENDS[way],
        )  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, "-", str(tmp_path / f"{number}")],
            env=env, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == {"exit": 3, "raise": 1}.get(way, 0), done.stderr
        assert "Fatal" not in done.stderr and "Segmentation" not in done.stderr
        if way != "raise":
            assert "Traceback" not in done.stderr, done.stderr


def blocking(client: wherry.Client, server: Server, folder: pathlib.Path) -> Dict[str, Callable[[], Any]]:
    """Calls that block until a gate opens."""
    held = server.url("/bytes/4000000", hold=2_000_000, gate=server.gate())

    def stream() -> bytes:
        with client.stream("GET", held) as answer:
            return answer.read()

    return {
        "get": lambda: client.get(held),
        "events": lambda: client.get(held, progress=lambda _: None),
        "download": lambda: client.download(held, folder / "file"),
        "stream": stream,
        "upload": lambda: client.post(
            server.url("/sink", stall=1, gate=server.gate()), data=iter([bytes(100_000)] * 100)
        ),
    }


CALLS = ["get", "events", "download", "stream", "upload"]


@pytest.mark.parametrize("name", CALLS)
def test_SEC_Y5_ctrl_c_ends_every_blocking_call_and_its_request(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, name: str
) -> None:
    # A wait is never longer than this, so a signal is seen within it. Order proves that it is seen
    # at all: the gate that would end the call never opens.
    assert SLICE_MS <= 200

    def interrupt() -> None:
        server.wait(requests=1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        blocking(client, server, tmp_path)[name]()
    thread.join()
    client.wait(timeout=PATIENCE)
    assert client.count() == 0
    if name == "upload":  # Its server reads nothing, so it does not see the disconnect.
        server.open_gate(server.gate())
    server.wait(ended=1)


def test_SEC_Y5_ctrl_c_ends_a_wait_for_records(client: wherry.Client) -> None:
    reading = threading.Event()

    def interrupt() -> None:
        reading.wait(PATIENCE)
        os.kill(os.getpid(), signal.SIGINT)

    with client.log() as log:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            reading.set()
            log.read()
        thread.join()


@pytest.mark.parametrize("name", CALLS)
def test_SEC_Y6_other_threads_run_while_a_call_blocks(
    server: Server, patient: wherry.Client, tmp_path: pathlib.Path, name: str
) -> None:
    def release() -> None:
        server.wait(requests=1)
        # If the call held the interpreter, no thread could open its gate.
        server.open_gate(server.gate())

    thread = threading.Thread(target=release)
    thread.start()
    blocking(patient, server, tmp_path)[name]()
    thread.join()


def test_SEC_Y6_calls_that_may_block_release_the_interpreter() -> None:
    loaded = library.load()
    slow = [
        "wherry_client_perform", "wherry_client_perform_for", "wherry_transfer_wait",
        "wherry_queue_read", "wherry_queue_next", "wherry_client_wait", "wherry_client_drain",
        "wherry_client_free", "wherry_client_set_log_file", "wherry_transfer_pause",
    ]  # fmt: skip
    for name in slow:
        # ctypes keeps the interpreter lock only for functions of a PyDLL.
        kept = getattr(loaded, name)._flags_ & 4  # FUNCFLAG_PYTHONAPI
        assert not kept, name


def test_SEC_Y7_a_spawned_child_has_separate_state(server: Server) -> None:
    again = run_python(f"import wherry\nwith wherry.Client() as c: c.get({server.url('/json')!r})")
    assert (again.returncode, again.stderr) == (0, "")


def test_M12_a_child_can_close_objects_of_its_parent(server: Server) -> None:
    code = f"""
import asyncio, gc, os, sys, wherry
url = {server.base + "/json"!r}
shared = wherry.Client()
pages = shared.pages(url)
image = wherry.Image({png(8, 8)!r})
spare = [wherry.Reachability(), shared.log(), wherry.MockTransport(), wherry.AsyncClient()]
endpoint = wherry.Endpoint(shared, url, "", "GET")
assert shared.get(url).ok and wherry.get(url).ok
with wherry.Client() as client:
    child = os.fork()
    if child == 0:
        assert client.get(url).ok
        for one in (*spare[:3], pages, endpoint, shared):
            one.close()
        asyncio.run(spare[3].aclose())
        del spare, one, pages, endpoint, image, shared
        gc.collect()
        assert wherry.get(url).ok
        sys.exit(7)  # It leaves the client of its parent by the way out of with.
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert client.get(url).ok
for one in (*spare[:3], pages, endpoint, shared):
    one.close()
asyncio.run(spare[3].aclose())
del image
"""
    done = run_python(code)

    assert (done.stderr, done.stdout) == ("", "7\n")


def test_SEC_Y9_every_function_checks_its_argument_types() -> None:
    declared = " ".join(re.sub(r"//.*", "", prototypes.DECLARATIONS).split()).split(";")
    names = [line[: line.index("(")].split()[-1].lstrip("*") for line in declared if line]
    assert len(names) > 150
    for name, line in zip(names, declared):
        function = getattr(lib, name)
        parameters = line[line.index("(") + 1 : line.rindex(")")]
        count = 0 if parameters == "void" else parameters.count(",") + 1
        assert len(function.argtypes) == count, name
        result = line[: line.index(name)].strip()
        assert (function.restype is None) == (result == "void"), name
        for place in range(count):
            if function.argtypes[place] is ctypes.c_bool:
                continue  # Any value is either true or false.
            # Refused before any library call.
            given: List[Any] = [None if t is ctypes.c_char_p else 0 for t in function.argtypes]
            given[place] = object()
            with pytest.raises(ctypes.ArgumentError):
                function(*given)
