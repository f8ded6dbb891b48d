# Wherry: tests of argument parsing.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import BINARY, GUARD, Scope, environment, field, wherry
from test_uploads import jpeg


def run(
    arguments: list[str | bytes], cwd: bytes | pathlib.Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Like `wherry`, with arguments of any bytes."""
    return subprocess.run(
        [os.fsencode(BINARY), *map(os.fsencode, arguments)],
        capture_output=True,
        timeout=GUARD,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env=env or environment(),
    )


# The command printed its help and exited with 0 if Swift found no arguments.


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_arguments_arrive_with_a_preloaded_library_that_changes_the_environment(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "early.c").write_text(
        "#include <stdlib.h>\n"
        '__attribute__((constructor)) static void early(void) { setenv("WHERRY_TEST_EARLY", "1", 1); }\n'
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "early.so", "early.c"], cwd=tmp_path, check=True)

    done = run(["get", server.url("/status/200?body=arrived")], env=environment(LD_PRELOAD=str(tmp_path / "early.so")))

    assert (done.returncode, done.stdout) == (0, b"arrived")


# The monitor of Dispatch reads /proc when it starts, and each second: it ended the command.
@pytest.mark.parametrize("target", ["/status/200?body=arrived", "/status/200?body=arrived&delay_ms=1500"])
def test_the_command_works_without_proc(server: Scope, target: str) -> None:
    url = server.url(target)
    script = 'mount -t tmpfs none /proc && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", str(BINARY), "get", url],
        capture_output=True,
        env=environment(),
        timeout=GUARD,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0 and (b"unshare" in done.stderr or b"mount" in done.stderr):
        pytest.skip("this machine allows no mounts")

    assert (done.returncode, done.stdout) == (0, b"arrived"), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["upload", "http://127.0.0.1:1/", "-dash.jpg"],
        ["get", "-sSfhZ", "http://127.0.0.1:1/"],
        ["get", "-sSfh", "http://127.0.0.1:1/"],
        ["image", "-hash.jpg", "--info"],
        ["jobs", "list", "-hello"],
    ],
)
def test_an_unknown_option_with_an_h_does_not_print_help(arguments: list[str]) -> None:
    result = wherry(*arguments)

    assert result.status == 2 and result.out == b"" and "wherry" in result.err


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], ["get", "-h"], ["jobs", "list", "-h"], ["help", "get"]])
def test_help_is_still_printed_on_request(arguments: list[str]) -> None:
    result = wherry(*arguments)

    assert result.status == 0 and "USAGE" in result.text


def test_after_two_dashes_a_file_name_may_begin_with_a_dash(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    jpeg(tmp_path / "-dash.jpg")

    refused = wherry("upload", server.url("/echo"), "-dash.jpg", cwd=tmp_path)
    assert "./-dash.jpg" in refused.err and server.requests() == []
    for name in (["./-dash.jpg"], ["--", "-dash.jpg"]):
        assert wherry("upload", server.url("/echo"), *name, cwd=tmp_path).status == 0


# curl options


def test_options_of_curl_work(server: Scope) -> None:
    url = server.url("/echo")
    result = wherry(
        "get", "-sSfL", "-A", "agent/1", "-e", "http://a/", "-m", "60", "--compressed", "-XOPTIONS", url, "-r", "0-9"
    )

    assert result.status == 0 and result.err == "", result
    assert result.json["method"] == "OPTIONS"
    assert field(result.json, "User-Agent") == "agent/1" and field(result.json, "Referer") == "http://a/"
    assert field(result.json, "Range") == "bytes=0-9"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["get", "-d", "a=b"], "--field"),
        (["get", "--data", "a"], "--field"),
        (["delete", "--data-raw", "a=b"], "--data"),
        (["post", "-F", "a=@b.jpg"], "wherry upload"),
        (["get", "-w", "%{http_code}"], "--json-output"),
        (["get", "-I"], "wherry head"),
        (["get", "-C", "-"], "wherry download"),
        (["get", "--json", "{}"], "wherry post"),
        (["get", "-G"], "--param"),
        (["get", "-T", "file"], "Content-Type: TYPE"),
        (["get", "--rtries", "3"], "--retries"),
        (["get", "--sha256", "aa"], "download"),
        (["upload", "--retry-al", "3"], "--help"),
    ],
)
def test_an_option_with_another_meaning_here_is_named(arguments: list[str], words: str) -> None:
    result = wherry(*arguments, "http://127.0.0.1:1/")

    assert result.status == 2 and words in result.err, result.err


def test_a_URL_without_a_command_suggests_get() -> None:
    result = wherry("http://127.0.0.1:1/")

    assert result.status == 2 and "wherry get http://127.0.0.1:1/" in result.err


# `help bogus` printed the help of wherry and exited with 0; others named no similar command.
@pytest.mark.parametrize(
    "arguments, words",
    [
        (["help", "bogus"], "See 'wherry --help'"),
        (["help", "gte"], "'wherry get'"),
        (["gte", "http://127.0.0.1:1/"], "'wherry get'"),
        (["donwload", "http://127.0.0.1:1/"], "'wherry download'"),
        (["POST", "http://127.0.0.1:1/"], "'wherry post'"),
        (["bogus"], "See 'wherry --help'"),
        (["jobs", "lst"], "'wherry jobs list'"),
        (["jobs", "pasue", "--all"], "'wherry jobs pause'"),
        (["cache", "lsit"], "'wherry cache list'"),
        (["help", "cache", "bogus"], "See 'wherry cache --help'"),
        (["upload", "a.jpg", "http://127.0.0.1:1/"], "URL comes before"),
        (["upload", "a.jpg", "b.jpg"], "URL comes before"),
    ],
)
def test_a_mistyped_command_or_order_is_named(tmp_path: pathlib.Path, arguments: list[str], words: str) -> None:
    for name in ("a.jpg", "b.jpg"):
        jpeg(tmp_path / name, 16, 16)
    result = wherry(*arguments, cwd=tmp_path)

    assert result.status == 2 and result.out == b"" and words in result.err, result


def test_any_method_is_sent(server: Scope) -> None:
    for command, method in (("get", "PURGE"), ("post", "REPORT")):
        assert wherry(command, server.url("/echo"), "-X", method).json["method"] == method


def test_requests_are_retried_on_request(server: Scope) -> None:
    url = server.url("/status/503")
    assert wherry("get", url, "--retry", "2").status == 3
    assert len(server.requests()) == 3


def test_a_URL_without_a_scheme_is_http(server: Scope) -> None:
    url = server.url("/echo")
    assert wherry("get", url.removeprefix("http://")).json["method"] == "GET"


def test_dashes_are_standard_output_and_input(server: Scope, tmp_path: pathlib.Path) -> None:
    picture = jpeg(tmp_path / "a.jpg")
    url = server.url("/echo")

    assert wherry("get", url, "-o", "-").json["method"] == "GET" and wherry("get", url, "-o-").status == 0
    assert wherry("image", picture, "-", "--quality", "0.5").out[:2] == b"\xff\xd8"
    assert wherry("image", "-", "--info", input=picture.read_bytes()).text.startswith("JPEG")
    sent = wherry("upload", url, "-", input=picture.read_bytes())
    assert sent.status == 0 and sent.json["parts"][0]["type"] == "image/jpeg"
    assert wherry("get", url, "-o", "-", "--json-output").status == 2
    assert wherry("download", url, "-o", "-").status == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.jpg"]


def test_a_piped_body_is_sent(server: Scope, tmp_path: pathlib.Path) -> None:
    url = server.url("/sink")
    (tmp_path / "body").write_bytes(b"abcdef")

    for command in ("post", "put", "patch"):
        assert wherry(command, url, input=b"abc").json["bytes"] == 3
        with (tmp_path / "body").open("rb") as file:
            done = subprocess.run(
                [str(BINARY), command, url], stdin=file, capture_output=True, env=environment(), timeout=GUARD
            )
        assert json.loads(done.stdout)["bytes"] == 6
    assert wherry("post", url).json["bytes"] == 0
    assert wherry("post", url, "--data", "x", input=b"abc").json["bytes"] == 1
    assert wherry("get", url, input=b"abc").status in (0, 3)


def test_remote_name_uses_the_name_in_the_URL(server: Scope, tmp_path: pathlib.Path) -> None:
    assert wherry("get", "-sO", server.url("/bytes/1000"), cwd=tmp_path).status == 0
    assert wherry("download", "-O", server.url("/bytes/2000"), cwd=tmp_path).status == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1000", "2000"]


# File names that are not UTF-8

NAMES = [b"caf\xe9", b"caf\xe8", b"\xff\xfe"]


def test_names_that_are_not_UTF8_stay_unchanged(server: Scope, tmp_path: pathlib.Path) -> None:
    # Each such byte became U+FFFD: the second result replaced the first.
    folder = os.fsencode(tmp_path)
    for index, name in enumerate(NAMES):
        assert run(["get", server.url(f"/bytes/{index + 1}"), b"-o", name], cwd=folder).returncode == 0
        assert run(["download", server.url(f"/bytes/{index + 1}"), "-o", name + b".file"], cwd=folder).returncode == 0
        jpeg(tmp_path / "plain.jpg").rename(folder.decode() + "/" + os.fsdecode(name) + ".jpg")
        assert run(["image", name + b".jpg", name + b".png"], cwd=folder).returncode == 0
        sent = run(["upload", server.url("/echo"), name + b".jpg"], cwd=folder)
        assert sent.returncode == 0, sent.stderr
        posted = run(["post", server.url("/sink"), "--data", b"@" + name], cwd=folder)
        assert json.loads(posted.stdout)["bytes"] == index + 1

    assert sorted(os.listdir(folder)) == sorted(
        name + end for name in NAMES for end in (b"", b".file", b".jpg", b".png")
    )


def test_json_keeps_every_byte_of_a_name(server: Scope, tmp_path: pathlib.Path) -> None:
    done = run(["download", server.url("/bytes/1"), "-o", b"caf\xe9", "--json-output"], cwd=tmp_path)

    told = json.loads(done.stdout)["file"]
    raw = b"".join(bytes([ord(c) - 0xEF00]) if 0xEF80 <= ord(c) <= 0xEFFF else c.encode() for c in told)
    assert raw == os.fsencode(tmp_path) + b"/caf\xe9"


def test_a_message_shows_a_byte_that_is_not_UTF8(tmp_path: pathlib.Path) -> None:
    done = run(["image", b"caf\xe9.jpg", "--info"], cwd=tmp_path)

    assert done.returncode == 7 and b"caf\\xe9.jpg" in done.stderr.lower(), done.stderr


# Reports


def test_usage_errors_are_JSON_on_request() -> None:
    for arguments in (
        ["get"],
        ["get", "http://127.0.0.1:1/", "--nonsense"],
        ["download", "--sha256", "x", "http://a/"],
        ["image", "a.jpg", "-d", "x"],
    ):
        result = wherry(*arguments, "--json-output")
        assert result.status == 2 and result.err == ""
        assert result.json["ok"] is False and result.json["exit"] == 2 and result.json["error"]["reason"] == "usage"


def test_a_closed_standard_output_is_reported(server: Scope, tmp_path: pathlib.Path) -> None:
    # The closed stream's number was reused for the next descriptor.
    command = f'exec "{BINARY}" get "{server.url("/bytes/1000")}" >&-'
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, env=environment(), timeout=GUARD)

    assert done.returncode == 7 and b"standard output cannot be written: it is closed" in done.stderr


# Checksums


def test_checksums_of_several_algorithms_are_compared(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    import hashlib

    url = server.url("/status/200?body=abc")
    for algorithm in ("md5", "sha1", "sha256", "sha512"):
        digits = hashlib.new(algorithm, b"abc").hexdigest()
        right = wherry("download", url, "-o", tmp_path / algorithm, "--checksum", f"{algorithm}={digits}")
        assert right.status == 0 and "matches" in right.err, right
        wrong = wherry("download", url, "-o", tmp_path / "x", "--checksum", f"{algorithm}={'0' * len(digits)}")
        assert wrong.status == 7
    assert wherry("download", url, "-o", tmp_path / "m", "--md5", hashlib.md5(b"abc").hexdigest()).status == 0
    assert wherry("download", url, "-o", tmp_path / "m2", "--md5", "0" * 32).status == 7
    for bad in (
        ["--md5", "0"],
        ["--checksum", "md4=00"],
        ["--checksum", "md5=00"],
        ["--checksum", "00"],
        ["--md5", "0" * 32, "--sha256", "0" * 64],
    ):
        assert wherry("download", url, *bad).status == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "md5", "sha1", "sha256", "sha512"]


def test_an_international_name_is_converted_without_a_locale(server: Scope) -> None:
    port = server.url("").split(":")[2].split("/")[0]
    for locale in ("C", "C.UTF-8"):
        result = wherry(
            "get",
            f"http://b\u00fccher.example:{port}/echo",
            "--resolve",
            f"xn--bcher-kva.example:{port}:127.0.0.1",
            LANG=locale,
            LC_ALL=locale,
        )
        assert result.status == 0, result.err
        assert field(result.json, "Host") == f"xn--bcher-kva.example:{port}"


def test_an_error_about_missing_directories_names_the_option_of_the_command(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    place = tmp_path / "no" / "file"
    refused = wherry("download", server.url("/bytes/10"), "-o", place)
    assert refused.status == 7 and "--create-dirs" in refused.err and "make_directories" not in refused.err
    assert wherry("download", server.url("/bytes/10"), "-o", place, "--create-dirs").status == 0


# The file was replaced, and lost what other commands had written.
def test_the_file_of_standard_output_is_not_replaced(server: Scope, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    url = server.url("/bytes/5?text=1")
    script = 'echo begin; "$0" get "$1" --quiet -o /dev/stdout; echo; echo end'
    with open(log, "ab") as stream:
        subprocess.run(["sh", "-c", script, str(BINARY), url], stdout=stream, check=True, env=environment())
    lines = log.read_bytes().split(b"\n")
    assert lines[0] == b"begin" and lines[-2] == b"end" and len(log.read_bytes()) == 6 + 5 + 1 + 4
