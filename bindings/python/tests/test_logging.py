# Wherry: client logs
# SPDX-License-Identifier: Apache-2.0
"""Rows L1 to L12 and SEC-S1 from Python: logs, the bridge to `logging`, curl commands, counters."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pathlib
import re
import stat
import subprocess
from typing import Any, Dict, List

import pytest
from conftest import PATIENCE, PATIENT, ROOT, Authority, Server, run_python

import wherry

PLANTED = "pl4nted"


def read_all(reader: wherry.LogReader) -> List[wherry.LogRecord]:
    """The records reported so far."""
    reader.end()
    return list(reader)


def events(records: List[wherry.LogRecord], *left_out: str) -> List[str]:
    return [record.event for record in records if record.event not in left_out]


def test_L1_environment_variables_enable_a_log(server: Server, tmp_path: pathlib.Path) -> None:
    url = server.url("/echo", page=2)
    code = f"import wherry\nwith wherry.Client() as client: client.get({url!r})"

    told = run_python(code, {"WHERRY_LOG": "info", "WHERRY_LOG_FILE": ""})
    assert told.returncode == 0 and "=========== Start requesting...\n" in told.stderr
    assert "page=2" not in told.stderr
    filed = run_python(code, {"WHERRY_LOG": "debug", "WHERRY_LOG_FILE": str(tmp_path / "log")})
    assert (filed.returncode, filed.stderr) == (0, "")
    assert "page=2" in (tmp_path / "log").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody with more rights")
def test_L1_SEC_S4_a_privileged_program_ignores_the_environment(server: Server, tmp_path: pathlib.Path) -> None:
    program = os.environ.get("WHERRY_CLI", os.path.join(ROOT, ".build", "debug", "wherry-cli"))
    if not os.path.exists(program):
        pytest.skip("the command is not built")
    copy = tmp_path / "program"
    copy.write_bytes(pathlib.Path(program).read_bytes())
    os.chown(copy, 65534, 65534)
    copy.chmod(0o6755)
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001 and folder.stat().st_uid == 0:
            folder.chmod(folder.stat().st_mode | 0o055)
    env = {**os.environ, "WHERRY_LOG": "debug", "WHERRY_LOG_FILE": ""}
    command = [str(copy), "get", server.url("/echo"), "--quiet"]
    privileged = subprocess.run(command, env=env, capture_output=True, text=True)
    copy.chmod(0o755)
    plain = subprocess.run(command, env=env, capture_output=True, text=True)

    if privileged.returncode == 127:
        pytest.skip("the command's libraries are not found with more rights")
    assert (plain.returncode, privileged.returncode) == (0, 0)
    assert "Start requesting" in plain.stderr and privileged.stderr == ""


def test_L2_L3_a_request_logs_its_lines(server: Server, client: wherry.Client, capfd: Any) -> None:
    url = server.url("/echo")
    with client.log("debug") as log:
        client.configure(debug=True)
        client.get(url)
        client.configure(debug=False)
        client.get(url)
        records = read_all(log)

    first = [record for record in records if record.transfer_id == records[0].transfer_id]
    told = [record.text.partition("\n")[0] for record in first]
    told = [line for line in told if not line.startswith(("added", "Sending", "Did received"))]
    assert told == [
        "Do not need to load cache, start sending network request...",
        "Start requesting...",
        "Request succeed!",
    ]
    start = next(record for record in first if record.event == "started")
    masked = url.replace(f"key={server.key}", "key=***")
    assert start.text.split("\n")[1:] == [f"url:{masked}", "method:GET", "parameters:(null)"]
    lines = capfd.readouterr().err.splitlines()
    marks = {f"wherry #{records[0].transfer_id}: =========== "}
    assert {line[: line.index("= ") + 2] for line in lines} == marks
    assert sum(record.text.count("\n") + 1 for record in first) == len(lines)


def test_L4_a_download_describes_itself(server: Server, client: wherry.Client, tmp_path: pathlib.Path) -> None:
    url = server.base + f"/@{server.key}/bytes/1000"
    target = tmp_path / "file"
    with client.start_download(url, target, params={"page": 2}) as download:
        download.wait()
        text = download.describe()
        assert download.describe(False) == f"<Download: {download.id}>"
    golden = pathlib.Path(ROOT, "Tests", "Scenarios", "log", "download.txt").read_text()
    text = re.sub(r"requestIdentifier:\w+", "requestIdentifier:IDENTIFIER", text)
    text = text.replace(f": {download.id}>", ": 1>").replace(str(tmp_path), "FOLDER")
    text = text.replace(server.base + f"/@{server.key}", "http://host")
    # The page is in the query here, and among the parameters there.
    text = text.replace("?page=2", "").replace("(null)", '{"page":2}')
    assert text == golden.rstrip("\n")


def test_L5_headers_downloads_operations_and_refusals_are_logged(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path
) -> None:
    target = tmp_path / "file"
    gate = server.gate()
    with client.log("debug") as log:
        url = server.url("/bytes/900000", gate=gate)
        with client.start_download(url, target, headers={"X-Name": "skye"}) as download:
            server.wait(requests=1)
            download.resume()
            download.pause()
            download.pause()
            download.resume()
            server.open_gate(gate)
            download.wait()
            number = f"<Download: {download.id}>"
        assert client.pause(tag="none") == 0
        with pytest.raises(wherry.ArgumentError):
            client.upload(server.url("/echo"), [])
        texts = [record.text for record in read_all(log)]

    for text in (
        "added header:key:X-Name value:skye",
        f"Can not resume request: {number}, since it is not suspended",
        f"Suspended request:{number}",
        f"Request {number} can not be suspended, since it is not running",
        f"Resumed request: {number}", f"Move download file succeed:{target}",
        f"Download succeed,download file path:{target}", "There is no task to suspend",
    ):  # fmt: skip
        assert any(told == text or told.startswith(text + "\n") for told in texts), text
    assert any(text.startswith("start downloading:\nurl:") for text in texts)


def test_L6_L10_a_redirect_and_a_retry_are_logged_in_order(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path
) -> None:
    target = server.url("/bytes/300000", cut=100000, times=1)
    with client.log("debug") as log:
        client.configure(max_retry_after=1)
        client.download(server.url("/redirect-to", url=target), tmp_path / "file")
        records = read_all(log)

    turns: List[str] = []
    wanted = ("started", "sent", "headers", "redirected", "retried", "moved", "succeeded")
    for event in events(records):
        if event in wanted and turns[-1:] != [event]:
            turns.append(event)
    assert turns == [
        "started",
        "sent",
        "headers",
        "redirected",
        "sent",
        "headers",
        "retried",
        "sent",
        "headers",
        "redirected",
        "sent",
        "headers",
        "moved",
        "succeeded",
    ]
    end = records[-1]
    assert end.path == str(tmp_path / "file") and end.metrics is not None
    assert end.metrics["received_bytes"] > 300000
    assert next(r for r in records if r.event == "retried").reason == "truncated"
    counters = client.counters()
    assert (counters.retried, counters.redirected, counters.requests) == (1, 2, len(server.log()))


def test_L7_each_step_of_a_request_is_measured(server: Server, client: wherry.Client) -> None:
    first = client.get(server.url("/delay/150"), metrics=True).metrics
    second = client.get(server.url("/redirect/2"), metrics=True).metrics

    assert first is not None and second is not None
    assert first.first_byte >= 0.15 and first.total >= first.first_byte
    assert first.connect > 0 and first.tls == 0 and not first.is_reused and second.is_reused
    assert first.lookup + first.connect <= first.first_byte
    assert (first.http_version, first.retries, first.redirects) == ("1.1", 0, 0)
    assert first.sent_bytes > 50 and first.received_bytes > 50 and second.redirects == 2
    assert first.remote_address == "127.0.0.1" and second.connect == 0
    with client.log("error") as log:
        client.get(server.url("/status/500"))
        (record,) = read_all(log)
    assert (record.event, record.status, record.reason) == ("failed", 500, "http_status")
    assert record.metrics is not None and record.metrics["total"] > 0


def test_L8_SEC_S1_a_log_contains_no_secret(server: Server, tmp_path: pathlib.Path) -> None:
    with wherry.Client(
        auth=("user", PLANTED), headers={"Cookie": f"id={PLANTED}"}, secret_names=["X-Shop"], **PATIENT
    ) as client:
        log = client.log("debug")
        client.set_log_file(tmp_path / "log", json=True)
        url = server.url("/echo", access_token=PLANTED, page=2)
        options: Dict[str, Any] = {
            "headers": {"x_shop": PLANTED, "X-Api-Key": PLANTED, "X-Plain": "seen"},
            "parameters": {"password": PLANTED, "page": 1, "in": [{"pin": PLANTED}]},
        }
        client.post(url, **options)
        command = client.curl_command("POST", url, **options)
        whole = client.curl_command("POST", url, secrets=True, **options)
        server.script("login", [{"status": 401, "headers": [["Set-Cookie", f"id={PLANTED}"]]}])
        client.get(server.url("/s/login"))
        with pytest.raises(wherry.WherryError) as caught:
            client.get(f"http://user:{PLANTED}@host/")
        client.set_log_file(None)
        text = "\n".join(record.text for record in read_all(log))
        log.close()
    filed = (tmp_path / "log").read_text()
    for told in (text, filed, command, str(caught.value), repr(caught.value)):
        assert PLANTED not in told
    assert "seen" in text and "page=2" in text and "Set-Cookie: ***" in text
    assert PLANTED in whole and "***" not in whole


def test_L8_SEC_S1_a_log_contains_no_digest_password_key_or_cookie(
    server: Server, authority: Authority, key: str
) -> None:
    url = authority.url("good", key, port="client_port")
    origin = url.split("/@")[0]
    path = authority.path("client.p12")
    settings: Dict[str, Any] = {"verify": authority.ca, "proxy": "", **PATIENT}
    told: List[str] = []
    challenge = 'Digest realm="r", nonce="n", qop="auth"'
    server.script(
        "guarded",
        [
            {"status": 401, "headers": [["WWW-Authenticate", challenge]]},
            {"headers": [["Set-Cookie", f"id={PLANTED}-cookie; Path=/"]], "json": {}},
        ],
    )
    with wherry.Client(cert={origin: (path, None, "open sesame")}, **settings) as client:
        log = client.log("debug")
        assert client.get(url).ok
        auth = wherry.DigestAuth("skye", f"{PLANTED}-digest")
        assert client.get(server.url("/s/guarded"), auth=auth).ok
        told.append(client.curl_command("GET", server.url("/s/guarded"), auth=auth))
        seen = client.get(server.url("/echo")).json()
        assert ["Cookie", f"id={PLANTED}-cookie"] in seen["headers"]
        told += [record.text for record in read_all(log)]
        log.close()
    assert any("Set-Cookie: ***" in text for text in told)
    with wherry.Client(cert={origin: (path, None, f"{PLANTED}-key")}, **settings) as shut:
        log = shut.log("debug")
        with pytest.raises(wherry.TLSError) as caught:
            shut.get(url)
        told += [record.text for record in read_all(log)]
        log.close()
    for text in (*told, str(caught.value), repr(caught.value)):
        assert PLANTED not in text and "open sesame" not in text


@pytest.mark.parametrize("kind", ["get", "json", "form", "bytes", "files"])
def test_L9_the_curl_command_sends_the_same_request(server: Server, client: wherry.Client, kind: str) -> None:
    kinds: Dict[str, Dict[str, Any]] = {
        "get": {"params": {"a b": "ü&=", "x": ["1", "2"]}, "headers": {"X-Q": "it's $HOME"}},
        "json": {"json": {"it's": "ü"}},
        "form": {"data": {"a": "1 2", "b": "@x;y"}},
        "bytes": {"data": bytes(range(256)), "headers": {"Content-Type": "x/y"}},
        "files": {"files": {"up": ("n.txt", b"bytes", "text/plain")}, "data": {"a": "@1"}},
    }
    options = kinds[kind]
    method = "GET" if kind == "get" else "POST"
    url = server.url("/echo")
    command = client.curl_command(method, url, secrets=True, auth=("u", "p"), **options)
    ours = client.request(method, url, auth=("u", "p"), **options).json()
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    pasted = json.loads(done.stdout)

    for told in (ours, pasted):
        for name in ("connection", "index", "attempt"):
            del told[name]
        skipped = ["content-type", "content-length"] if kind == "files" else []
        told["headers"] = sorted(h for h in told["headers"] if h[0].lower() not in skipped)
        for name in ("body", "size") if kind == "files" else ():
            del told[name]
    assert pasted == ours, command


def test_L11_the_bridge_passes_records_to_logging(server: Server, client: wherry.Client) -> None:
    logger = logging.getLogger("wherry")
    taken: List[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = taken.append  # type: ignore[assignment]
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with client.log_to():
            client.get(server.url("/echo"))
            client.get(server.url("/status/500"))
        client.get(server.url("/echo"))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)

    assert [record.levelname for record in taken] == ["INFO", "INFO", "INFO", "ERROR"]
    mine = [record.wherry for record in taken]  # type: ignore[attr-defined]
    assert [record.event for record in mine] == ["started", "succeeded", "started", "failed"]
    assert taken[0].getMessage().startswith("Start requesting...\nurl:")


def test_L11_a_bridge_ends_with_its_client_and_with_the_interpreter(server: Server) -> None:
    code = """
import logging, wherry
logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
one = wherry.Client()
bridge = one.log_to(level="info")
one.close()
bridge.close()
two = wherry.Client()
two.log_to()
two.get("URL")
""".replace("URL", server.url("/echo"))
    done = run_python(code, {"PYTHONWARNINGS": "ignore"})
    assert done.returncode == 0
    assert "wherry INFO Client closed" in done.stderr and "wherry INFO Request succeed!" in done.stderr


def test_L11_a_log_has_levels_and_can_write_a_file(
    server: Server,
    client: wherry.Client,
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / "log"
    client.set_log_file(path, "info", max_bytes=2000)
    for _ in range(12):
        client.get(server.url("/echo", page=2))
    client.set_log_file(path, "error", json=True)
    client.get(server.url("/status/404"))
    client.set_log_file(None)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / "log.1").stat().st_size <= 2000
    lines = path.read_text().splitlines()
    assert "page=2" not in path.read_text() and re.match(r"\d{4}-\d\d-\d\dT.*Z info #\d+: =+ ", lines[0])
    last = json.loads(lines[-1])
    assert (last["level"], last["event"], last["status"]) == ("error", "failed", 404)
    with pytest.raises(wherry.ArgumentError):
        client.set_log_file(path, "loud")
    with pytest.raises(wherry.FileError):
        client.set_log_file(tmp_path / "none" / "log")


def test_L11_a_log_ends_with_its_client_and_when_another_one_starts(server: Server) -> None:
    client = wherry.Client(**PATIENT)
    first = client.log()
    client.get(server.url("/echo"))
    second = client.log("info")
    assert events(list(first)) == ["started", "succeeded"]
    assert second.read(timeout=0) is None
    client.close()
    assert events(list(second)) == ["closed"]
    assert second.read() is None
    for reader in (first, second):
        reader.close()
        reader.close()
    with pytest.raises(wherry.StateError):
        client.log()


def test_L11_async_for_reads_a_log(server: Server) -> None:
    async def talk() -> List[str]:
        found: List[str] = []
        async with wherry.AsyncClient(**PATIENT) as client:
            log = client.log("info")

            async def follow() -> None:
                async for record in log:
                    found.append(record.event)

            reading = asyncio.ensure_future(follow())
            await client.get(server.url("/echo"))
        await asyncio.wait_for(reading, PATIENCE)
        log.close()
        return found

    assert asyncio.run(talk()) == ["started", "succeeded", "closed"]


def test_L12_the_counters_match_the_server(server: Server, client: wherry.Client, tmp_path: pathlib.Path) -> None:
    client.get(server.url("/redirect/2"))
    client.get(server.url("/status/500"))
    client.post(server.url("/sink"), data=b"x" * 5000)
    with pytest.raises(wherry.NetworkError):
        client.get("http://127.0.0.1:1/")
    client.download(server.url("/bytes/1000"), tmp_path / "file")
    counters = client.counters()

    assert (counters.started, counters.succeeded, counters.failed) == (5, 3, 2)
    assert (counters.cancelled, counters.redirected, counters.retried) == (0, 2, 0)
    assert counters.requests == len(server.log())
    assert counters.sent_bytes > 5000 and counters.received_bytes > 1000
    assert client.counters("127.0.0.1") == counters
    assert client.counters("other.test").requests == 0
