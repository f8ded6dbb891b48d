# Wherry: paths whose bytes are not UTF-8, and host names that are not ASCII
# SPDX-License-Identifier: Apache-2.0
"""On Linux a path is bytes. The binding writes them as `os.fsdecode` does and loses none."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import zlib
from typing import Any

import pytest
from conftest import PATIENCE, Server
from test_background import AGENT, COMMAND, OPTIONS

import wherry

#: Latin-1, a byte that never occurs in UTF-8, and the bytes of U+EFE9, which represents a byte
#: inside the library.
NAMES = [b"caf\xe9.bin", b"\xff\xfe", "\uefe9.bin".encode(), "\uefe9\u00e9".encode() + b"\xe9"]


def listed(folder: Any) -> "list[bytes]":
    return sorted(os.listdir(os.fsencode(folder)))


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        size, check = len(data).to_bytes(4, "big"), zlib.crc32(kind + data).to_bytes(4, "big")
        return size + kind + data + check

    head = chunk(b"IHDR", b"\0\0\0\1\0\0\0\1\x08\2\0\0\0")
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0abc")) + chunk(b"IEND", b"")


def test_two_names_that_differ_in_one_byte_become_two_files(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    # Both bytes became U+FFFD, so the second download replaced the first file.
    for name in NAMES:
        target = os.path.join(os.fsencode(tmp_path), name)
        assert client.download(server.url("/bytes/1000"), os.fsdecode(target)) == os.fsdecode(target)

    assert listed(tmp_path) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_download_into_a_folder_with_any_name_resumes(
    server: Server, client: wherry.Client, tmp_path: Any, name: bytes
) -> None:
    folder = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(folder)
    target = os.path.join(folder, name)
    url = server.url("/bytes/200000", cut=100_000, times=1)

    with pytest.raises(wherry.WherryError) as caught:
        client.download(url, os.fsdecode(target), max_retries=0)

    (partial,) = wherry.partials(folder)
    assert partial.path == os.fsdecode(target)
    assert caught.value.partial_path == partial.partial_path
    assert os.path.exists(partial.partial_path)
    assert wherry.partial_ratio(target) == 0.5
    assert client.download(url, os.fsdecode(target)) == os.fsdecode(target)
    assert listed(folder) == [name] and os.path.getsize(target) == 200_000


@pytest.mark.parametrize("name", NAMES)
def test_files_and_images_with_any_name_are_sent_under_it(
    server: Server, client: wherry.Client, tmp_path: Any, name: bytes
) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)
    with open(path, "wb") as file:
        file.write(png())

    with open(path, "rb") as file:
        sent = client.post(server.url("/echo"), data=file).json()
        assert base64.b64decode(sent["body"]) == png()
        file.seek(0)
        form = client.post(server.url("/echo"), files={"one": file}).json()
    assert b'filename="' + name + b'"' in base64.b64decode(form["body"])
    response = client.upload(server.url("/echo"), os.fsdecode(path))

    assert len(response.json()["parts"]) == 1
    assert wherry.Image(os.fsdecode(path)).info.width == 1


def test_cookie_jars_and_logs_with_any_name_are_written(server: Server, tmp_path: Any) -> None:
    jar, log = (os.path.join(os.fsencode(tmp_path), name) for name in NAMES[:2])
    with wherry.Client() as client:
        client.set_log_file(os.fsdecode(log), "debug")
        client.get(server.url("/echo"))
        client.cookies.save(os.fsdecode(jar))
        client.cookies.load(os.fsdecode(jar))

    assert listed(tmp_path) == sorted(NAMES[:2])


def test_an_error_message_shows_the_byte(client: wherry.Client, tmp_path: Any) -> None:
    with pytest.raises(wherry.FileError) as caught:
        missing = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"caf\xe9.png"))
        client.upload("http://127.0.0.1:1/", missing)

    assert "caf\\xE9.png" in str(caught.value)


@pytest.mark.skipif(not os.path.exists(AGENT), reason=f"{AGENT} is not built")
def test_a_background_job_keeps_the_bytes_of_its_path(server: Server, tmp_path: Any) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"stat\xe9")
    target = os.path.join(os.fsencode(tmp_path), b"caf\xe9.bin")
    options = {**OPTIONS, "state_directory": os.fsdecode(folder)}

    with wherry.BackgroundSession("tests", **options) as session:
        number = session.download(server.url("/bytes/1000"), os.fsdecode(target))
        job = session.wait(number, PATIENCE)
        assert (job.state, job.path) == ("done", os.fsdecode(target))
        if os.path.exists(COMMAND):
            told = subprocess.run(
                [COMMAND, "jobs", "list", "--state-dir", folder, "--json-output"],
                stdout=subprocess.PIPE, env={**os.environ, "WHERRY_AGENT": AGENT}, check=True,
            ).stdout  # fmt: skip
            assert "caf\uefe9.bin" in told.decode()
        session.acknowledge(number)

    assert os.path.getsize(target) == 1000


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", ""])
def test_an_international_name_is_converted_in_every_locale(locale: str) -> None:
    # libcurl reads such a name in the charset of the locale, and refuses it without one.
    program = (
        "import wherry\n"
        "with wherry.Client(resolve={'xn--bcher-kva.example:1': '127.0.0.1'}, max_retries=0) as c:\n"
        "    try: c.get('http://b\\u00fccher.example:1/')\n"
        "    except wherry.WherryError as e: print(e.reason)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=PATIENCE, check=True,
        env={**os.environ, "LC_ALL": locale, "PYTHONIOENCODING": "utf-8",
             "PYTHONPATH": os.path.dirname(os.path.dirname(wherry.__file__))},
    )  # fmt: skip

    assert done.stdout.strip() == b"connect"


def test_a_server_sees_the_ASCII_form_of_an_international_name(server: Server) -> None:
    port = server.base.rsplit(":", 1)[1].split("/")[0]
    route = {f"xn--bcher-kva.example:{port}": "127.0.0.1"}
    with wherry.Client(resolve=route, trust_env=False) as client:
        response = client.get(f"http://B\u00fccher.example:{port}/echo?key={server.key}")

    assert ["Host", f"xn--bcher-kva.example:{port}"] in response.json()["headers"]
