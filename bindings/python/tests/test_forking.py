# Wherry: clients created before a fork
# SPDX-License-Identifier: Apache-2.0
"""A client created before a fork works in the child. It used to raise ForkedError until the child
called ``wherry.restart()``, but gunicorn, multiprocessing, and Celery give no place for that call.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from typing import Any, Dict, Iterator, List

import pytest

from conftest import PATIENCE, ROOT, Server, field, run_python

SOURCE = os.path.join(ROOT, "bindings", "python", "src")

#: Runs `child()` in a forked child and prints how it ended.
FORK = """
import os, sys, traceback, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Newer Pythons warn of threads at a fork.
def fork(child):
    number = os.fork()
    if number == 0:
        try:
            child()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    if code:
        print("the child ended with", code)
"""


def forked(code: str) -> None:
    done = run_python(FORK + code)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_M12_a_client_created_before_a_fork_works_in_the_child(server: Server) -> None:
    forked(f"""
import wherry
url = {server.url("/json")!r}
client = wherry.Client()
assert client.get(url).ok and wherry.get(url).ok
def child():
    assert client.get(url).ok and wherry.get(url).ok
    assert not client.is_closed
    fork(lambda: client.get(url).raise_for_status())
    client.close()
    assert client.is_closed
fork(child)
assert client.get(url).ok and wherry.get(url).ok
client.close()
""")


def test_M12_an_asyncio_client_created_before_a_fork_works_in_the_child(server: Server) -> None:
    forked(f"""
import asyncio, wherry
url = {server.url("/json")!r}
client = wherry.AsyncClient()
async def ask():
    assert (await client.get(url)).ok
    assert (await client.post(url, data=iter([b"a", b"b"]))).ok
async def forking():
    await ask()
    fork(lambda: asyncio.run(ask()))
    await ask()
asyncio.run(forking())
async def leave():
    await ask()
    await client.aclose()
fork(lambda: asyncio.run(leave()))
asyncio.run(leave())
""")


def test_M12_the_child_has_the_settings_and_cookies_of_its_parent(server: Server) -> None:
    forked(f"""
import wherry
client = wherry.Client(base_url={server.base!r}, headers={{"X-One": "1"}}, params={{"key": {server.key!r}}},
                       auth=("me", "secret"), timeout=17, max_redirects=3, user_agent="forked/1")
client.headers["X-Two"] = "2"
client.cookies.set("kept", "yes", {server.base!r})
client.cookies.set("narrow", "no", {server.base!r}, "Path=/elsewhere; HttpOnly; Max-Age=3600")
before = list(client.cookies)
def child():
    client.headers["X-Three"] = "3"
    assert client.get("/echo").ok
    assert list(client.cookies) == before, (list(client.cookies), before)
    assert client.timeout == wherry.Timeout.of(17)
fork(child)
client.close()
""")
    sent = server.log()[-1]
    assert field(sent, "X-One") + field(sent, "X-Two") + field(sent, "X-Three") == ["1", "2", "3"]
    assert field(sent, "Cookie") == ["kept=yes"]
    assert field(sent, "User-Agent") == ["forked/1"]
    assert field(sent, "Authorization")[0].startswith("Basic ")


def test_M12_a_child_neither_uses_nor_ends_the_connections_of_its_parent(server: Server) -> None:
    forked(f"""
import wherry
url = {server.url("/json")!r}
client = wherry.Client()
client.get(url)
fork(lambda: client.get(url).raise_for_status())
client.get(url)
client.close()
""")
    first, second, third = (request["connection"] for request in server.log())
    assert first == third != second


def test_M12_a_mock_transport_created_before_a_fork_works_in_the_child() -> None:
    forked("""
import wherry
transport = wherry.MockTransport()
transport.add("GET", "http://h/a", json=1)
transport.fail("GET", "http://h/*", "resolve")
client = wherry.Client(transport=transport)
assert client.get("http://h/a").json() == 1
def child():
    assert client.get("http://h/a").json() == 1
    try:
        client.get("http://h/b")
    except wherry.NetworkError as error:
        assert error.reason == "resolve"
        return
    raise AssertionError
fork(child)
client.close()
""")


def test_M12_logging_continues_in_the_child(server: Server, tmp_path: Any) -> None:
    forked(f"""
import logging, wherry
url = {server.url("/json")!r}
logger = logging.getLogger("wherry")
logger.setLevel(logging.DEBUG)
client = wherry.Client()
bridge = client.log_to(logger)
client.set_log_file({str(tmp_path / "log")!r}, "info")
def child():
    seen = []
    logger.addHandler(type("Kept", (logging.Handler,), {{"emit": lambda self, record: seen.append(record)}})())
    client.get(url)
    bridge.close()
    assert seen
    client.set_log_file(None)
fork(child)
client.close()
""")
    assert b"/json" in (tmp_path / "log").read_bytes()


def test_M12_a_failed_rebuild_is_retried(server: Server, tmp_path: Any) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text("{}")
    forked(f"""
import wherry
client = wherry.Client(config={str(settings)!r})
def child():
    os.rename({str(settings)!r}, {str(settings)!r} + ".away")
    for _ in range(2):
        try:
            client.get({server.url("/json")!r})
            raise AssertionError
        except wherry.WherryError as error:
            assert error.reason != "forked", error
    os.rename({str(settings)!r} + ".away", {str(settings)!r})
    assert client.get({server.url("/json")!r}).ok
fork(child)
client.close()
""")


def test_M12_a_busy_process_can_fork_repeatedly(server: Server) -> None:
    # Threads in the middle of requests exist only in the parent; the child must not wait for them.
    forked(f"""
import threading, wherry
url = {server.url("/json")!r}
client = wherry.Client()
stop = threading.Event()
def work():
    while not stop.is_set():
        client.get(url)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(20):
    fork(lambda: client.get(url).raise_for_status())
stop.set()
for thread in threads:
    thread.join()
client.close()
""")


def test_M12_a_child_of_a_process_with_threads_imports_nothing_for_its_requests(server: Server, tmp_path: Any) -> None:
    # Another thread may be importing the same module at the fork. The child would wait forever for its lock.
    forked(f"""
import io, threading, wherry
url, missing, path = {server.url("/json")!r}, {server.url("/status/404")!r}, {str(tmp_path / "file")!r}
client = wherry.Client()
ended = threading.Event()
thread = threading.Thread(target=ended.wait)
thread.start()
def child():
    before = set(sys.modules)
    client.get(url, params={{"a": 1}}, headers={{"b": "c"}}, cookies={{"d": "e"}}, timeout=30).json()
    client.post(url, json={{"a": 1}}).text
    client.post(url, data={{"a": 1}}).content
    client.post(url, files={{"file": io.BytesIO(b"data")}}).headers
    client.put(url, content=b"data", auth=("user", "password")).cookies
    try:
        client.get(missing).raise_for_status()
    except wherry.HTTPStatusError as error:
        str(error), error.response.reason_phrase
    client.download(url, path)
    with client.stream("GET", url) as response:
        response.read()
    print(*sorted(set(sys.modules) - before), end="")
fork(child)
ended.set()
thread.join()
client.close()
""")


def test_M12_restart_still_exists_and_has_no_effect_after_os_fork(server: Server) -> None:
    forked(f"""
import wherry
client = wherry.Client()
def child():
    wherry.restart()
    assert client.get({server.url("/json")!r}).ok
    wherry.restart()
    assert client.get({server.url("/json")!r}).ok
fork(child)
client.close()
""")


# Programs that fork


def run_program(folder: Any, code: str, **env: str) -> str:
    """Runs a program from a file, as multiprocessing requires."""
    path = folder / "program.py"
    path.write_text(code)
    full = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{folder}", **env}
    done = subprocess.run([sys.executable, str(path)], env=full, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


@pytest.mark.parametrize(
    "pool",
    [
        "multiprocessing.get_context('fork').Pool(2)",
        "concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork'))",
    ],
)
def test_M12_process_pools_use_the_default_client_of_the_module(server: Server, tmp_path: Any, pool: str) -> None:
    report = run_program(
        tmp_path,
        f"""
import concurrent.futures, multiprocessing, warnings
import wherry
warnings.simplefilter("ignore", DeprecationWarning)
client = wherry.Client(base_url={server.base!r}, params={{"key": {server.key!r}}})
def ask(number):
    return client.get("/json").status_code, wherry.get({server.url("/json")!r}).status_code
if __name__ == "__main__":
    assert client.get("/json").ok
    with {pool} as pool:
        print(list(pool.map(ask, range(6))))
    assert client.get("/json").ok
    client.close()
""",
    )

    assert report == str([(200, 200)] * 6) + "\n"


@pytest.fixture
def processes() -> Iterator[List[subprocess.Popen[str]]]:
    """Starts programs that end with the test."""
    running: List[subprocess.Popen[str]] = []
    yield running
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def test_M12_gunicorn_workers_use_a_client_created_at_preload(
    server: Server, tmp_path: Any, processes: List[subprocess.Popen[str]]
) -> None:
    pytest.importorskip("gunicorn")
    (tmp_path / "app.py").write_text(f"""
import os
import wherry
client = wherry.Client(base_url={server.base!r}, params={{"key": {server.key!r}}})
assert client.get("/json").ok  # Before the fork: threads and a connection are there.
def application(environ, start_response):
    status = client.get("/json").status_code
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{{status}} {{os.getpid()}}".encode()]
""")
    env = {**os.environ, "PYTHONPATH": SOURCE}
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--preload", "--workers", "2", "--bind", "127.0.0.1:0",
         "--no-control-socket", "app:application"],
        cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)  # fmt: skip
    processes.append(process)
    assert process.stderr is not None
    address = None
    report = []
    for line in process.stderr:
        report.append(line)
        if "Listening at:" in line:
            address = line.split("Listening at: ")[1].split()[0]
        if "Booting worker" in line:
            break
    assert address is not None, report

    answers = {urllib.request.urlopen(address, timeout=PATIENCE).read() for _ in range(20)}

    assert {answer.split()[0] for answer in answers} == {b"200"}
    assert int(next(iter(answers)).split()[1]) != process.pid


def test_M12_celery_prefork_tasks_use_the_default_client_of_the_module(
    server: Server, tmp_path: Any, processes: List[subprocess.Popen[str]]
) -> None:
    pytest.importorskip("celery")
    for name in ("queue", "results", "control"):
        (tmp_path / name).mkdir()
    (tmp_path / "jobs.py").write_text(f"""
import celery
import wherry
app = celery.Celery("jobs", broker="filesystem://", backend="file://" + {str(tmp_path / "results")!r})
app.conf.broker_transport_options = {{
    "data_folder_in": {str(tmp_path / "queue")!r}, "data_folder_out": {str(tmp_path / "queue")!r},
    "control_folder": {str(tmp_path / "control")!r},
}}
client = wherry.Client(base_url={server.base!r}, params={{"key": {server.key!r}}})
assert client.get("/json").ok
@app.task
def ask():
    return client.get("/json").status_code, wherry.get({server.url("/json")!r}).status_code
""")
    env: Dict[str, str] = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{tmp_path}"}
    processes.append(subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "jobs", "worker", "--pool", "prefork",
         "--concurrency", "2", "--loglevel", "ERROR", "--without-gossip", "--without-mingle"],
        cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True))  # fmt: skip

    asked = subprocess.run(
        [sys.executable, "-c", "import jobs\nresults = [jobs.ask.delay() for _ in range(4)]\n"
         "print([tuple(r.get(timeout=300)) for r in results])\njobs.client.close()"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip

    assert asked.stdout == str([(200, 200)] * 4) + "\n", asked.stderr


def test_M12_a_child_has_the_cookies_that_were_set_by_their_names(server: Server) -> None:
    # They have no domain, and restoring them in the child failed: the client could not be used.
    forked(f"""
import wherry
client = wherry.Client(cookies={{"a": "1"}})
used = wherry.Client(cookies={{"b": "2"}})
used.get({server.url("/echo")!r})
used.cookies.set("jar", "3", {server.base!r})
def child():
    assert client.get({server.url("/echo")!r}).request is not None
    assert client.cookies.get_dict() == {{"a": "1"}}
    assert used.get({server.url("/echo")!r}).ok
    assert used.cookies.get_dict() == {{"b": "2", "jar": "3"}}
fork(child)
client.close()
used.close()
""")
    assert [field(report, "Cookie") for report in server.log()] == [["b=2"], ["a=1"], ["b=2; jar=3"]]
