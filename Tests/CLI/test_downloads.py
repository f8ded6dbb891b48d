# Wherry: tests of the command that downloads files.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

import pytest
from conftest import GUARD, PATIENT_DOWNLOAD, Scope, field, start, wherry


def names(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def pattern(seed: int, count: int) -> bytes:
    from wherry_testserver import pattern

    return pattern.data(seed, 0, count)


def test_a_file_is_downloaded_completely_and_its_digest_verified(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    wanted = pattern(3, 2_000_000)
    digest = hashlib.sha256(wanted).hexdigest()

    result = wherry("download", server.url("/bytes/2000000?seed=3"), "-o", tmp_path / "file.bin", "--sha256", digest)

    assert result.status == 0 and result.out == b""
    assert (tmp_path / "file.bin").read_bytes() == wanted and names(tmp_path) == ["file.bin"]
    assert "file.bin: 1.9 MiB in " in result.err and "SHA-256 matches" in result.err


def test_more_files_than_descriptors_are_downloaded(server: Scope, tmp_path: pathlib.Path) -> None:
    # 893 of 2,000 failed with 1,024 descriptors: each waiting one held its directory.
    count, files = (2000, 1024) if os.environ.get("WHERRY_LOOPS") == "full" else (200, 64)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    urls = [server.url(f"/bytes/{size}") for size in range(1, count + 1)]
    child = start("download", *urls, "-d", tmp_path, preexec_fn=limit, stderr=subprocess.PIPE)
    _, told = child.communicate(timeout=GUARD)

    assert child.returncode == 0, told
    assert sorted(path.stat().st_size for path in tmp_path.iterdir()) == list(range(1, count + 1))


def test_a_stall_timeout_limits_the_wait_for_the_first_byte(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    # A silent server held the command for 30 s per attempt.
    result = wherry(
        "download", server.url("/silent?seconds=900"), "-o", tmp_path / "a", "--stall-timeout", "0.5", "--retries", "0"
    )

    assert result.status == 6 and "500 ms" in result.err and names(tmp_path) == []


def test_a_link_with_a_new_query_resumes_the_partial_file(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    first = wherry(
        "download", server.url("/bytes/100000?sig=1&cut=50000&times=1"), "-o", tmp_path / "a", "--retries", "0"
    )
    second = wherry("download", server.url("/bytes/100000?sig=2"), "-o", tmp_path / "a")

    assert first.status != 0 and second.status == 0
    assert (tmp_path / "a").read_bytes() == pattern(1, 100000)
    assert field(server.requests()[-1], "range") == "bytes=50000-"


@pytest.mark.parametrize("arguments", [[], ["-d", "."]])
def test_a_link_with_a_new_query_resumes_without_a_name(
    server: Scope, tmp_path: pathlib.Path, arguments: list[str]
) -> None:
    # The partial file was keyed by the whole URL, so that only -o resumed.
    first = wherry(
        "download", server.url("/bytes/100000?sig=1&cut=50000&times=1"), *arguments, "--retries", "0", cwd=tmp_path
    )
    other = wherry(
        "download",
        server.url("/bytes/100000?id=2&seed=2&cut=40000&times=2"),
        *arguments,
        "--retries",
        "0",
        cwd=tmp_path,
    )
    assert first.status != 0 and other.status != 0 and len(list(tmp_path.iterdir())) == 4

    second = wherry("download", server.url("/bytes/100000?sig=3"), *arguments, cwd=tmp_path)

    assert second.status == 0, second.err
    assert (tmp_path / "100000").read_bytes() == pattern(1, 100000)
    assert field(server.requests()[-1], "range") == "bytes=50000-"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_wrong_digest_leaves_no_file(server: Scope, tmp_path: pathlib.Path) -> None:
    result = wherry("download", server.url("/bytes/1000"), "-o", tmp_path / "a", "--sha256", "ab" * 32)

    assert result.status == 7 and "checksum" in result.err and names(tmp_path) == []


@pytest.mark.parametrize("arguments", [[], ["--remote-name"], ["-d", "."]])
def test_the_server_names_the_file(
    server: Scope,
    tmp_path: pathlib.Path,
    arguments: list[str],
) -> None:
    url = server.url("/bytes/1000?disposition=attachment%3B+filename%3D%22..%2Fnice+name.txt%22")

    result = wherry("download", url, *arguments, cwd=tmp_path)

    assert result.status == 0 and names(tmp_path) == ["nice name.txt"]
    assert "saved as nice name.txt" in result.err


def test_the_command_can_name_the_directory(server: Scope, tmp_path: pathlib.Path) -> None:
    (tmp_path / "folder").mkdir()

    assert wherry("download", server.url("/bytes/1000"), "-d", tmp_path / "folder").status == 0
    assert names(tmp_path / "folder") == ["1000"]


def test_an_existing_file_is_kept_unless_it_may_be_replaced(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    target = tmp_path / "a"
    target.write_text("mine")

    refused = wherry("download", server.url("/bytes/1000"), "-o", target)
    assert refused.status == 7 and "exists" in refused.err
    assert target.read_text() == "mine" and server.requests() == []

    assert wherry("download", server.url("/bytes/1000"), "-o", target, "--overwrite").status == 0
    assert target.stat().st_size == 1000


def interrupt(server: Scope, target: pathlib.Path, number: signal.Signals) -> tuple[int, str, str]:
    """Downloads a file from a slow server, and sends a signal when part of it has arrived.

    From then on the server is fast.
    """
    url = server.url("/bytes/8000000?rate=200000&hold_at=7000000&gate=fast")
    command = start("download", url, "-o", target, *PATIENT_DOWNLOAD, "--progress", "json", stderr=subprocess.PIPE)
    assert command.stderr
    said = ""
    for line in command.stderr:
        said += line.decode()
        record = json.loads(line)
        if record["event"] == "progress" and record["completed"] > 0:
            break
    command.send_signal(number)
    said += command.communicate(timeout=GUARD)[1].decode()
    server.steer("/_signal?gate=fast")
    return command.returncode, said, url


def test_D23_several_connections_download_a_file(server: Scope, tmp_path: pathlib.Path) -> None:
    url = server.url("/bytes/8389385?rate=16000000")

    result = wherry("download", url, "-o", tmp_path / "a", "--segments", "4", "--stall-timeout", "60")

    assert result.status == 0 and (tmp_path / "a").read_bytes() == pattern(1, 8_389_385)
    assert sum(field(told, "If-Range") is not None for told in server.requests()) >= 3
    assert names(tmp_path) == ["a"]


def test_D27_a_mirror_continues_the_download(server: Scope, tmp_path: pathlib.Path) -> None:
    digest = hashlib.sha256(pattern(1, 3_000_000)).hexdigest()
    result = wherry(
        "download",
        server.url("/bytes/3000000?cut_at=1000000"),
        "-o",
        tmp_path / "a",
        "--sha256",
        digest,
        "--retries",
        "0",
        "--mirror",
        server.url("/status/404"),
        "--mirror",
        server.url("/bytes/3000000?x=2"),
    )

    assert result.status == 0 and (tmp_path / "a").read_bytes() == pattern(1, 3_000_000)
    assert field(server.requests()[-1], "Range") == "bytes=1000000-"
    assert wherry("download", server.url("/bytes/10"), "--mirror", server.url("/bytes/10")).status == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_DC_C03_ctrl_c_keeps_the_partial_file_and_the_same_command_resumes(
    server: Scope, tmp_path: pathlib.Path, number: signal.Signals
) -> None:
    target = tmp_path / "file.bin"

    status, said, url = interrupt(server, target, number)

    assert status == 128 + number
    error = json.loads(said.splitlines()[-1])["error"]
    assert error["reason"] == "cancelled" and error["partial"].endswith(".part")
    assert not target.exists() and len(names(tmp_path)) == 2

    result = wherry("download", url, "-o", target)
    assert result.status == 0 and target.read_bytes() == pattern(1, 8_000_000)
    offset = int((field(server.requests()[-1], "Range") or "").removeprefix("bytes=").removesuffix("-"))
    assert 0 < offset <= 7_000_000 and len(server.requests()) == 2
    assert "resumes at " in result.err and "were already there" in result.err
    assert names(tmp_path) == ["file.bin"]


def test_DC_C03_ctrl_c_prints_where_the_partial_file_is(server: Scope, tmp_path: pathlib.Path) -> None:
    command = start(
        "download",
        server.url("/bytes/1000?hold=500&gate=never"),
        "-o",
        tmp_path / "a",
        *PATIENT_DOWNLOAD,
        "--progress",
        "none",
        stderr=subprocess.PIPE,
    )
    while not any(path.stat().st_size for path in tmp_path.glob(".a.*.part")):
        assert command.poll() is None
    command.send_signal(signal.SIGINT)
    said = command.communicate(timeout=GUARD)[1].decode()

    assert command.returncode == 130
    assert said.startswith("wherry: interrupted; ") and ".part is kept, and the same command resumes" in said
    server.steer("/_signal?gate=never")


def test_a_killed_download_resumes(server: Scope, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "file.bin"

    status, _, url = interrupt(server, target, signal.SIGKILL)

    assert status == -signal.SIGKILL and not target.exists()
    result = wherry("download", url, "-o", target, "--json-output")
    assert result.status == 0 and target.read_bytes() == pattern(1, 8_000_000)
    assert result.json["file"] == str(target) and result.json["bytes"] == 8_000_000


def test_no_resume_starts_from_the_beginning(server: Scope, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "file.bin"
    _, _, url = interrupt(server, target, signal.SIGINT)

    assert wherry("download", url, "-o", target, "--no-resume").status == 0
    assert field(server.requests()[-1], "Range") is None
    assert target.read_bytes() == pattern(1, 8_000_000)


def test_dropped_connections_are_retried_up_to_the_requested_number(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    url = server.url("/bytes/3000000?cut=1000000&times=1")
    result = wherry("download", url, "-o", tmp_path / "a")
    assert result.status == 0 and "waits before a retry: truncated" in result.err

    refused = wherry("download", server.url("/bytes/3000000?cut=1000000&x=2"), "-o", tmp_path / "b", "--retries", "0")
    assert refused.status == 4 and "truncated" in refused.err and "is kept" in refused.err


def test_failures_have_their_exit_statuses(server: Scope, tmp_path: pathlib.Path) -> None:
    for status, arguments in (
        (3, [server.url("/status/404"), "-o", tmp_path / "a"]),
        (7, [server.url("/bytes/10"), "-o", tmp_path / "missing" / "a"]),
        (7, [server.url("/bytes/10"), "-o", tmp_path]),
        (7, [server.url("/bytes/10"), "-d", tmp_path / "missing"]),
        (5, [server.tls("/bytes/10"), "-o", tmp_path / "a"]),
        (2, [server.url("/bytes/10"), "-o", tmp_path / "a", "--sha256", "abc"]),
        (2, [server.url("/bytes/10"), "-o", tmp_path / "a", "--remote-name"]),
        (2, [server.url("/bytes/10"), "-o", tmp_path / "a", "-d", tmp_path]),
        (2, [server.url("/bytes/10"), "--retries", "-1"]),
        (2, [server.url("/bytes/10"), "--segments", "17"]),
        (2, [server.url("/bytes/10"), "--segments", "some"]),
        (2, [server.url("/bytes/10"), "--limit-rate", "1x"]),
        (2, [server.url("/bytes/10"), "--limit-rate", "0"]),
        (2, ["ftp://nonsense", "-o", tmp_path / "a"]),
    ):
        result = wherry("download", *arguments)
        assert result.status == status, (arguments, result)
        assert result.err != ""
    assert names(tmp_path) == []


def test_JSON_output_of_failures_names_the_partial_file(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    url = server.url("/bytes/3000000?cut=2000000")
    result = wherry("download", url, "-o", tmp_path / "a", "--retries", "0", "--json-output", "--progress", "none")

    assert result.status == 4 and result.err == ""
    partial = pathlib.Path(result.json["error"]["partial"])
    assert partial.parent == tmp_path and partial.exists()


def test_JSON_progress_arrives_at_most_ten_times_a_second(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    begun = time.monotonic()

    result = wherry("download", server.url("/bytes/6000000?rate=4000000"), "-o", tmp_path / "a", "--progress", "json")

    seconds = time.monotonic() - begun  # includes the start of the command
    records = [json.loads(line) for line in result.err.splitlines()]
    assert 2 <= len(records) <= 10 * seconds + 2
    assert records[-1]["completed"] == 6_000_000


def test_D25_several_files_download_some_at_a_time_each_with_its_lines(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    urls = [server.url(f"/bytes/{1000 + number}?seed={number + 1}&rate=4000") for number in range(6)]

    result = wherry("download", *urls, "-d", tmp_path, "--max-active", "2", "-R")

    assert result.status == 0 and result.out == b""
    assert names(tmp_path) == [str(1000 + number) for number in range(6)]
    for number in range(6):
        file = tmp_path / str(1000 + number)
        assert file.read_bytes() == pattern(number + 1, 1000 + number)
        assert file.stat().st_mtime == 1_704_067_200  # D28: 2024-01-01, as the server says
        assert f"{1000 + number}: " in result.err
    assert server.steer("/_stats")["peak_requests"] == 2


def test_one_failed_file_does_not_stop_the_others(server: Scope, tmp_path: pathlib.Path) -> None:
    urls = [server.url("/bytes/10"), server.url("/status/404"), server.url("/bytes/20?cut=5"), server.url("/bytes/30")]

    result = wherry("download", *urls, "-d", tmp_path, "--retries", "0", "--json-output", "--progress", "none")

    told = [json.loads(line) for line in result.text.splitlines()]
    assert result.status == 3  # of the first failure, in the order of the command
    assert [each["file"] for each in told if each["ok"]] == [str(tmp_path / name) for name in ("10", "30")]
    assert {each["url"]: (each["exit"], each["error"]["reason"]) for each in told if not each["ok"]} == {
        urls[1]: (3, "http_status"),
        urls[2]: (4, "truncated"),
    }
    assert (tmp_path / "30").stat().st_size == 30
    plain = wherry("download", *urls[:2], "-d", tmp_path)
    assert plain.status == 7 and "10: exists: " in plain.err and "404: http_status: " in plain.err


def test_D25_several_files_start_and_are_reported_in_the_order_of_the_command(
    server: Scope, tmp_path: pathlib.Path
) -> None:
    urls = [server.url(f"/bytes/{1000 + number}?n={number}") for number in (5, 3, 4, 1, 2, 0)]
    urls[0] += "&gate=first"
    urls[2] = server.url("/status/404")
    command = start(
        "download",
        *urls,
        "-d",
        tmp_path,
        *PATIENT_DOWNLOAD,
        "--json-output",
        "--progress",
        "none",
        "--max-active",
        "2",
        stdout=subprocess.PIPE,
    )
    # The first finishes last.
    server.wait("requests=6")
    server.wait("active_most=1")
    server.steer("/_signal?gate=first")
    out, _ = command.communicate(timeout=GUARD)

    told = [json.loads(line) for line in out.splitlines()]
    assert command.returncode == 3 and [each["ok"] for each in told] == [True, True, False, True, True, True]
    assert [each["url"] for each in told] == urls
    # They were requested one after the other, except the first two.
    targets = [url[url.index("/@") :] for url in urls]
    asked = [request["target"] for request in server.requests()]
    assert sorted(asked[:2]) == sorted(targets[:2]) and asked[2:] == targets[2:]


def test_DC_C03_ctrl_c_keeps_the_partial_files_of_several_downloads(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    urls = [server.url(f"/bytes/{size}?hold=300000&gate=go") for size in (1000001, 1000002, 1000003)]
    command = start(
        "download",
        *urls,
        "-d",
        tmp_path,
        *PATIENT_DOWNLOAD,
        "--max-active",
        "2",
        "--progress",
        "json",
        stderr=subprocess.PIPE,
    )
    assert command.stderr
    came = set()
    said = ""
    for line in command.stderr:
        said += line.decode()
        record = json.loads(line)
        if record["event"] == "progress" and record["completed"] > 0:
            came.add(record["name"])
        if len(came) == 2:
            break

    command.send_signal(signal.SIGINT)
    said += command.communicate(timeout=GUARD)[1].decode()

    assert command.returncode == 130
    errors = [record for record in map(json.loads, said.splitlines()) if record["event"] == "error"]
    assert sum(error["error"].get("partial", "").endswith(".part") for error in errors) == 2
    assert errors[-1]["error"]["message"] == "interrupted" and errors[-1]["exit"] == 130
    assert len(server.requests()) == 2
    server.steer("/_signal?gate=go")
    result = wherry("download", *urls, "-d", tmp_path)
    assert result.status == 0 and names(tmp_path) == ["1000001", "1000002", "1000003"]
    assert (tmp_path / "1000002").read_bytes() == pattern(1, 1_000_002)
    assert sum(field(told, "Range") is not None for told in server.requests()) == 2


def test_several_URLs_with_options_for_one_file_are_refused(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    urls = [server.url("/bytes/10"), server.url("/bytes/20")]
    for options in (["-o", tmp_path / "a"], ["--sha256", "ab" * 32], ["--max-active", "0"]):
        refused = wherry("download", *urls, *options)
        assert refused.status == 2 and refused.err != "", options
    assert server.requests() == []
