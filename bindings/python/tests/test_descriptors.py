# Wherry: thousands of downloads and clients with few file descriptors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from conftest import PATIENCE, Server

import wherry

#: WHERRY_LOOPS=full runs as many as heavy use has needed; otherwise a tenth.
FULL = os.environ.get("WHERRY_LOOPS") == "full"

#: Lowers the open file limit and uses up every remaining descriptor.
PROLOGUE = """
import os, resource, sys, threading
import wherry
def limit(count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
def take():
    taken = []
    while True:
        try:
            taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            return taken
"""


def run(source: str, *arguments: Any) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + source, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE + 600,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(wherry.__file__))},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


# Each waiting download held its directory and its partial file open: with 1,024 descriptors, 2,809
# of 3,000 downloads failed.
def test_DR18_more_downloads_than_descriptors_succeed(server: Server, tmp_path: Any) -> None:
    count, files = (3000, 1024) if FULL else (300, 100)
    run(
        """
url, folder, count, files = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
limit(files)
with wherry.Client(timeout=None, durability=0) as client:
    started = [
        client.start_download(f"{url}&n={n}", os.path.join(folder, str(n))) for n in range(count)
    ]
    failures = []
    for transfer in started:
        try:
            transfer.wait()
        except wherry.WherryError as error:
            failures.append(str(error))
assert not failures, (len(failures), failures[:3])
""",
        server.url("/bytes/2000"), tmp_path, count, files,
    )  # fmt: skip
    assert len(os.listdir(tmp_path)) == count
    assert {os.path.getsize(tmp_path / name) for name in os.listdir(tmp_path)} == {2000}


def test_DR18_many_clients_with_few_descriptors_report_the_limit(server: Server) -> None:
    run(
        """
url, count, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
limit(files)
clients, error = [], None
try:
    for n in range(count):
        client = wherry.Client(timeout=wherry.Timeout(connect=0.2))
        clients.append(client)
        assert client.get(url).status_code == 200
except wherry.WherryError as caught:
    error = caught
assert error is not None and len(clients) > 5
assert error.reason == "too_many_files", (error.reason, str(error))
assert str(files) in str(error) and "ulimit -n" in str(error), str(error)
clients[0].close()
clients[1].close()
assert clients[2].get(url).status_code == 200
""",
        server.url("/bytes/10"), 1000 if FULL else 100, 1024 if FULL else 120,
    )  # fmt: skip


# With a host name, the lookup failed first, and the request with it.
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_DR18_a_request_and_a_download_wait_for_a_descriptor(server: Server, tmp_path: Any, host: str) -> None:
    run(
        """
url, path, named = sys.argv[1:]
limit(64)
with wherry.Client(timeout=wherry.Timeout(connect=60)) as client:
    assert client.get(url).status_code == 200  # its descriptors are there
    with wherry.Client(timeout=wherry.Timeout(connect=60)) as other:
        transfer = other.start_download(url, path)
        transfer.wait()
    request = threading.Thread(target=lambda: answers.append(client.get(named)))
    answers = []
    client.get(url + "&close=1")
    taken = take()
    request.start()
    request.join(0.3)
    assert request.is_alive() and not answers
    for descriptor in taken:
        os.close(descriptor)
    request.join()
    assert answers[0].status_code == 200
""",
        server.url("/bytes/1000", close=1), tmp_path / "a",
        server.url("/bytes/1000", close=1).replace("127.0.0.1", host),
    )  # fmt: skip
    assert os.path.getsize(tmp_path / "a") == 1000


def test_DR18_a_download_that_gets_no_descriptor_reports_the_limit(server: Server, tmp_path: Any) -> None:
    run(
        """
url, path = sys.argv[1:]
limit(64)
with wherry.Client(timeout=wherry.Timeout(connect=0.2)) as client:
    client.get(url)
    client.download(url, path + "0")  # Python has read its modules
    taken = []
    for call in (
        lambda n: client.download(url, path + str(n), max_retries=0),
        lambda n: client.get(url, max_retries=0),
    ):
        # A connection that was closed may give a descriptor back at any moment.
        for n in range(1, 50):
            taken += take()
            try:
                call(n)
            except wherry.WherryError as caught:
                assert caught.reason == "too_many_files", (caught.reason, str(caught))
                assert "64 open files" in str(caught) and "ulimit -n" in str(caught), str(caught)
                break
        else:
            raise AssertionError("it always had a descriptor")
    for descriptor in taken:
        os.close(descriptor)
    client.download(url, path)
""",
        server.url("/bytes/1000", close=1), tmp_path / "a",
    )  # fmt: skip


@pytest.mark.parametrize("blocked", ["part", "journal"])
def test_DR18_a_planted_directory_does_not_block_a_download(
    server: Server, client: wherry.Client, tmp_path: Any, blocked: str
) -> None:
    # The names are those of a first attempt.
    with pytest.raises(wherry.WherryError):
        client.download(server.url("/bytes/100000", cut=50000, times=1), tmp_path / "a", max_retries=0)
    names = os.listdir(tmp_path)
    for name in names:
        os.remove(tmp_path / name)
    for name in names:
        if name.endswith(blocked):
            os.makedirs(tmp_path / name / "inner")

    url = server.url("/bytes/100001", cut=50000, times=1)
    with pytest.raises(wherry.WherryError) as caught:
        client.download(url, tmp_path / "a", max_retries=0)
    assert caught.value.reason == "truncated"
    assert wherry.partial_ratio(tmp_path / "a") == 0.49
    client.download(url, tmp_path / "a")

    assert os.path.getsize(tmp_path / "a") == 100001
    assert ["range", "bytes=50000-"] in [[name.lower(), value] for name, value in server.log()[-1]["headers"]]
