# Wherry: the test server and other shared fixtures
# SPDX-License-Identifier: Apache-2.0
"""Starts ``Tests/TestServer`` once. Every test has its own key in the server's log."""

from __future__ import annotations

import asyncio
import base64
import inspect
import itertools
import json
import os
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

import wherry

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))

for _name in list(os.environ):
    if _name.lower().endswith("_proxy") or _name in (
        "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    ):  # fmt: skip
        del os.environ[_name]

_keys = itertools.count(1)

#: Seconds after which a wait counts as hanging. No passing test reaches this limit.
PATIENCE = 600

#: Client settings with generous timeouts, for busy machines.
PATIENT: Dict[str, Any] = {
    "timeout": wherry.Timeout(idle=PATIENCE, connect=PATIENCE, first_byte=PATIENCE),
    "stall_bytes_per_second": 0,
}


class Server:
    """The test server as seen by one test."""

    def __init__(self, base: str, key: str = "") -> None:
        self.base = base
        self.key = key

    def url(self, path: str, **query: Any) -> str:
        """Returns a URL whose requests are logged under this test's key."""
        mark = "&" if "?" in path else "?"
        fields = {"key": self.key, **query}
        return self.base + path + mark + urllib.parse.urlencode(fields)

    def ask(self, path: str, **query: Any) -> Any:
        """Returns the JSON of one of the server's built-in routes."""
        url = self.base + path + "?" + urllib.parse.urlencode({"key": self.key, **query})
        with urllib.request.urlopen(url, timeout=PATIENCE + 60) as answer:
            return json.load(answer)

    def log(self) -> List[Dict[str, Any]]:
        """Returns the logged requests of this test."""
        return list(self.ask("/_log")["requests"])

    def wait(self, **counts: int) -> Dict[str, Any]:
        """Waits until this test's counts have been reached."""
        return dict(self.ask("/_wait", timeout=PATIENCE, **counts))

    def script(self, name: str, steps: List[Dict[str, Any]]) -> None:
        """Sets the responses of /s/NAME, step by step."""
        url = self.base + "/_script?" + urllib.parse.urlencode({"key": self.key})
        with urllib.request.urlopen(url, json.dumps({name: steps}).encode(), timeout=PATIENCE):
            pass

    def open_gate(self, name: str) -> None:
        """Releases the responses that wait at this gate."""
        self.ask("/_signal", gate=name)

    def gate(self) -> str:
        """Returns a gate name that no other test uses."""
        return "gate-" + self.key


def start_server(*arguments: str, module: str = "wherry_testserver") -> Iterator[Dict[str, Any]]:
    """Runs the server until the generator continues; yields what the server announces."""
    port = ("--port", "0") if module == "wherry_testserver" else ()
    command = [sys.executable, "-m", module, *port, *arguments]
    process = subprocess.Popen(
        command, cwd=os.path.join(ROOT, "Tests", "TestServer"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture(scope="session")
def server_base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    for report in start_server("--save-dir", str(tmp_path_factory.mktemp("photos"))):
        yield f"http://127.0.0.1:{report['port']}"


@pytest.fixture
def server(server_base: str) -> Server:
    return Server(server_base, f"py{os.getpid()}-{next(_keys)}")


@pytest.fixture
def client() -> Iterator[wherry.Client]:
    with wherry.Client(**PATIENT) as made:
        yield made


@pytest.fixture
def mock() -> Iterator[wherry.MockTransport]:
    with wherry.MockTransport() as made:
        yield made


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a self-signed certificate and its key for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout",
        "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost", "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:localhost",
    ]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return str(folder)


@pytest.fixture(scope="session")
def tls_base(certificate: str) -> Iterator[str]:
    cert, key = os.path.join(certificate, "cert.pem"), os.path.join(certificate, "key.pem")
    for report in start_server("--tls-cert", cert, "--tls-key", key):
        yield f"https://127.0.0.1:{report['tls_port']}"


class Authority:
    """Good and bad certificates, and a server that presents the one selected by the server name."""

    def __init__(self, report: Dict[str, Any]) -> None:
        self.told = report
        self.folder = str(report["folder"])
        self.pins: Dict[str, str] = report["pins"]
        self.ca = self.path("ca.pem")

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def url(self, host: str, key: str, path: str = "/echo", port: str = "tls_port") -> str:
        """Returns a URL. The host ``expired`` gets the certificate of kind ``expired``."""
        return f"https://{host}.localhost:{self.told[port]}/@{key}{path}"

    def plain(self, key: str, path: str = "/echo", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.told['port']}/@{key}{path}"

    def log(self, key: str) -> List[Dict[str, Any]]:
        url = f"http://127.0.0.1:{self.told['port']}/_log?key={key}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return list(json.load(answer)["requests"])


@pytest.fixture(scope="session")
def authority() -> Iterator[Authority]:
    for report in start_server(module="wherry_testserver.authority"):
        yield Authority(report)


@pytest.fixture
def key() -> str:
    """The part of a server's log that belongs to one test."""
    return f"py{os.getpid()}-{next(_keys)}"


def run_python(code: str, env: Optional[Dict[str, str]] = None) -> subprocess.CompletedProcess[str]:
    """Runs a separate program that can import wherry."""
    source = os.path.join(ROOT, "bindings", "python", "src")
    full = {**os.environ, "PYTHONPATH": source, **(env or {})}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, env=full, capture_output=True, text=True, timeout=600)


def most_memory(before: str, work: str) -> int:
    """Returns the peak memory that `work` adds to a program after `before`, which creates its
    client.

    Runs in a separate program, because a process never lowers its peak.
    """
    code = f"""
import wherry
def kib(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))
{before}
resident = kib("VmRSS")
{work}
print(kib("VmHWM") - resident)
client.close()
"""
    done = run_python(code)
    assert done.stderr == ""
    return int(done.stdout) << 10


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(12) as pool:
        yield pool


@pytest.fixture
def patient(threads: ThreadPoolExecutor) -> Iterator[wherry.Client]:
    """A client that waits at a gate without timeouts and closes before the threads end."""
    with wherry.Client(timeout=None, stall_bytes_per_second=0) as made:
        yield made


class Arrival:
    """A ``progress=`` callback that lets a test wait until a number of bytes has been transferred."""

    def __init__(self, count: int = 1) -> None:
        self._count = count
        self._event = threading.Event()

    def __call__(self, progress: wherry.Progress) -> None:
        if progress.done_bytes >= self._count:
            self._event.set()

    def give_up(self) -> None:
        """Ends the wait, because no more reports will follow."""
        self._event.set()

    def wait(self) -> None:
        assert self._event.wait(PATIENCE), "this takes too long"


def body(report: Dict[str, Any]) -> bytes:
    return base64.b64decode(report["body"])


def field(report: Dict[str, Any], name: str) -> List[str]:
    return [value for header, value in report["headers"] if header.lower() == name.lower()]


# Helpers shared by the HTTP cache tests.

#: Queries of ``/cache``: fresh for an hour, and 40 seconds stale on arrival.
FRESH = {"control": "max-age=3600", "etag": "a"}
STALE = {"control": "max-age=60", "age": 100, "etag": "a"}


class Way:
    """A client of either kind, with a common way to wait for its results."""

    def __init__(self, client: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.client = client
        self._loop = loop

    def done(self, value: Any) -> Any:
        return self._loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def get(self, url: str, **options: Any) -> wherry.Response:
        return self.request("GET", url, **options)

    def request(self, method: str, url: str, **options: Any) -> wherry.Response:
        answer: wherry.Response = self.done(self.client.request(method, url, **options))
        return answer

    def entries(self, url: Optional[str] = None, **options: Any) -> List[wherry.CacheEntry]:
        found: List[wherry.CacheEntry] = self.done(self.client.cache.entries(url, **options))
        return found

    def close(self) -> None:
        self.done(self.client.aclose() if hasattr(self.client, "aclose") else self.client.close())


Make = Callable[..., Way]


@pytest.fixture(params=["sync", "async"])
def make(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Make]:
    """Creates clients of one kind with the HTTP cache enabled.

    The clients share one folder unless a test passes another.
    """
    kind = wherry.Client if request.param == "sync" else wherry.AsyncClient
    loop = asyncio.new_event_loop()
    made: List[Way] = []

    def one(**settings: Any) -> Way:
        folder = str(tmp_path / "own")
        made.append(Way(kind(**{"storage_directory": folder, "cache": True, **settings}), loop))
        return made[-1]

    try:
        yield one
        for way in made:
            way.close()
    finally:
        loop.close()


def script(server: Server, **steps: List[Dict[str, Any]]) -> None:
    """Sets the successive responses of ``/s/NAME``."""
    for step in (step for script in steps.values() for step in script):
        if "headers" in step:
            step["headers"] = list(dict(step["headers"]).items())
    url = server.url("/_script")
    urllib.request.urlopen(url, data=json.dumps(steps).encode(), timeout=600).close()


def marks(answer: wherry.Response) -> str:
    """Returns the names of the cache flags that are set on a response."""
    names = ("from_cache", "is_stale", "is_revalidated", "unchanged")
    return " ".join(name for name in names if getattr(answer, name))


def until(holds: Callable[[], bool]) -> None:
    """Waits until a condition holds that depends on a background thread of the client."""
    limit = perf_counter() + PATIENCE
    while not holds():
        assert perf_counter() < limit, "this takes too long"


def miss(way: Way, url: str, **options: Any) -> str:
    with pytest.raises(wherry.CacheMissError) as caught:
        way.get(url, **options)
    return caught.value.reason
