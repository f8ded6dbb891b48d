# Wherry: tests of options that the command shares with curl.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import json
import pathlib
import subprocess

import pytest
from conftest import BINARY, GUARD, Scope, environment, field, wherry
from test_uploads import jpeg

FORM = "application/x-www-form-urlencoded"


def names(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# The long name of -o followed the rename of a property: `--output` was unknown, and `--output-path` was not.
@pytest.mark.parametrize("method", ["get", "head", "post", "put", "patch", "delete"])
def test_output_has_a_short_and_a_long_name(
    server: Scope,
    tmp_path: pathlib.Path,
    method: str,
) -> None:
    for index, option in enumerate(["-o", "--output"]):
        result = wherry(method, server.url("/echo"), option, tmp_path / f"{index}")
        assert result.status == 0, result
    assert wherry(method, server.url("/echo"), "--output-path", "x", cwd=tmp_path).status == 2
    assert names(tmp_path) == ["0", "1"]


def test_commands_without_an_output_file_say_where_the_result_goes() -> None:
    # `upload -o` claimed that the command takes no cookies, and has --cookie.
    upload = wherry("upload", "http://127.0.0.1:1/", "a.jpg", "-o", "x")
    assert upload.status == 2 and "> FILE" in upload.err and "cookies" not in upload.err
    image = wherry("image", "a.jpg", "--output", "b.jpg")
    assert image.status == 2 and "wherry image INPUT RESULT" in image.err
    cookies = wherry("image", "a.jpg", "b.jpg", "-b", "a=1")
    assert cookies.status == 2 and "cookies" in cookies.err and "FILE" not in cookies.err


# Both values were sent.
def test_the_last_value_of_a_repeated_header_option_counts(server: Scope) -> None:
    told = wherry(
        "get",
        server.url("/echo"),
        "-A",
        "one",
        "-e",
        "http://a/",
        "-r",
        "0-1",
        "-A",
        "two",
        "--referer",
        "http://b/",
        "--range=2-3",
        "--user-agent",
        "three",
        "-H",
        "X-Other: 1",
    )
    sent = [(name.lower(), value) for name, value in told.json["headers"]]
    for name, value in (("user-agent", "three"), ("referer", "http://b/"), ("range", "bytes=2-3"), ("x-other", "1")):
        assert [found for key, found in sent if key == name] == [value], sent


def test_insecure_proxy_verbose_and_max_time_have_the_names_of_curl(server: Scope) -> None:
    assert wherry("get", server.tls("/echo")).status == 5
    assert wherry("get", "-k", server.tls("/echo")).status == 0

    proxy = f"http://127.0.0.1:{server.facts['port']}"
    assert wherry("get", "-x", proxy, server.url("/echo")).status == 0
    assert server.requests()[-1]["target"].startswith("http://")

    told = wherry("get", "-v", server.url("/status/200?body=words"))
    assert told.status == 0 and told.text == "words" and "GET" in told.err and "200" in told.err

    for option in ("-m", "--max-time"):
        late = wherry("get", option, "0.3", server.url("/drip?bytes=6000&interval_ms=50"))
        assert late.status == 6 and "total_timeout" in late.err


def test_continue_at_a_dash_has_the_default_behavior_of_a_download(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    for index, option in enumerate((["-C", "-"], ["-C-"], ["--continue-at", "-"], ["--continue-at=-"])):
        done = wherry("download", *option, server.url(f"/bytes/{index + 1}"), cwd=tmp_path)
        assert done.status == 0, done
    assert names(tmp_path) == ["1", "2", "3", "4"]
    refused = wherry("download", "-C", "100", server.url("/bytes/1"), cwd=tmp_path)
    assert refused.status == 2 and "-C -" in refused.err


# -f was ignored: the body of an error status was printed.
@pytest.mark.parametrize("options", [["-f"], ["--fail"], ["-sSf"]])
def test_fail_prints_no_body_for_an_error_status(server: Scope, tmp_path: pathlib.Path, options: list[str]) -> None:
    refusal, good = server.url("/status/404?body=words"), server.url("/status/200?body=words")

    silent = wherry("get", *options, refusal)
    assert silent.status == 3 and silent.out == b"" and "404" in silent.err
    assert wherry("post", *options, refusal, "--data", "x").out == b""
    assert wherry("get", *options, good).text == "words"
    head = wherry("get", *options, "-i", refusal)
    assert head.text.startswith("HTTP 404\n") and "words" not in head.text
    told = wherry("get", *options, "--json-output", refusal)
    assert told.json["status"] == 404 and "text" not in told.json
    filed = wherry("get", *options, refusal, "-o", tmp_path / "x")
    assert filed.status == 3 and "words" not in filed.err and names(tmp_path) == []
    picture = jpeg(tmp_path / "a.jpg", 64, 64)
    assert wherry("upload", *options, refusal, picture).out == b""
    assert wherry("get", "--fail-with-body", refusal).text == wherry("get", refusal).text == "words"


def test_remote_header_name_uses_the_name_that_the_server_suggests(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    # -J used the name in the URL, and wrote a file even without -O.
    url = server.url("/bytes/1000?disposition=attachment%3B%20filename%3Dreport.pdf")
    for index, option in enumerate((["-OJ"], ["-JO"], ["-O", "-J"], ["--remote-name", "--remote-header-name"])):
        folder = tmp_path / str(index)
        folder.mkdir()
        assert wherry("get", *option, url, cwd=folder).status == 0
        assert names(folder) == ["report.pdf"]
    folder = tmp_path / "0"

    # The server must not be able to replace a file of its choice.
    (folder / "report.pdf").write_text("precious")
    refused = wherry("get", "-OJ", url, cwd=folder)
    assert refused.status == 7 and "exists" in refused.err and "--output" in refused.err
    assert (folder / "report.pdf").read_text() == "precious" and names(folder) == ["report.pdf"]
    climbing = server.url("/bytes/10?disposition=attachment%3B%20filename%3D%22../../up.pdf%22")
    assert wherry("get", "-OJ", climbing, cwd=folder).status == 0
    assert names(folder) == ["report.pdf", "up.pdf"]
    # Without Content-Disposition, the URL provides the name; -J alone writes no file.
    assert wherry("get", "-OJ", server.url("/bytes/20"), "--json-output", cwd=folder).json["file"] == "20"
    alone = wherry("get", "-J", url, cwd=folder)
    assert alone.status == 2 and "-OJ" in alone.err
    assert wherry("download", "-J", server.url("/bytes/30"), cwd=folder).status == 0
    assert names(folder) == ["20", "30", "report.pdf", "up.pdf"]


def test_the_advice_about_a_file_in_a_form_works(server: Scope, tmp_path: pathlib.Path) -> None:
    # The advice named a command that refuses a PDF.
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 nothing else")
    refused = wherry("post", server.url("/echo"), "-F", "file=@a.pdf", cwd=tmp_path)
    advice = "upload URL FILE --name NAME --names repeat --unreadable send"
    assert refused.status == 2 and f"wherry {advice}" in refused.err

    given = {"URL": server.url("/echo"), "FILE": "a.pdf", "NAME": "file"}
    done = wherry(*[given.get(word, word) for word in advice.split()], "--field", "kind=x", cwd=tmp_path)
    assert done.status == 0, done
    parts = {part["name"]: part for part in done.json["parts"]}
    assert parts["file"]["size"] == 21 and parts["file"]["filename"] == "a.pdf" and parts["kind"]["text"] == "x"


def test_data_is_a_form_as_in_curl(server: Scope, tmp_path: pathlib.Path) -> None:
    # -d was unknown, and --data sent text/plain.
    (tmp_path / "body").write_bytes(b"c=3\n")
    for option in ("-d", "--data", "--data-ascii", "--data-binary"):
        told = wherry("post", server.url("/echo"), option, "a=b").json
        assert field(told, "Content-Type") == FORM and told["form"] == [["a", "b"]]
    joined = wherry("put", server.url("/echo"), "-d", "a=1", "-d", "b=2", "--data", "@body", cwd=tmp_path).json
    assert field(joined, "Content-Type") == FORM
    assert base64.b64decode(joined["body"]) == b"a=1&b=2&c=3\n"
    encoded = wherry("post", server.url("/echo"), "--data-urlencode", "q=a&b").json
    assert encoded["form"] == [["q", "a&b"]]
    own = wherry("post", server.url("/echo"), "-d", "a,b", "-H", "Content-Type: text/csv").json
    assert field(own, "Content-Type") == "text/csv"
    assert wherry("post", server.url("/echo"), "--data-raw", "@x").status == 2
    assert wherry("post", server.url("/echo"), "-d", "a", "--json", "1").status == 2


def test_head_accepts_its_own_option_I(server: Scope) -> None:
    for option in ("-I", "--head", "-sI"):
        assert wherry("head", option, server.url("/bytes/10")).text.startswith("HTTP 200\n")
    assert "wherry head" in wherry("get", "-I", server.url("/bytes/10")).err


@pytest.mark.parametrize(
    "arguments, advice",
    [
        (["example.org"], "wherry get example.org"),
        (["-sSL", "example.org"], "wherry get example.org"),
        (["localhost:8080/x"], "wherry get localhost:8080/x"),
        (["-o", "file.html", "example.org"], "wherry get example.org"),
        (["-H", "X: a.b", "https://example.org/"], "wherry get https://example.org/"),
        (["-I", "example.org"], "wherry head example.org"),
        (["-d", "a=b.c", "example.org"], "wherry post example.org"),
        (["-q", "get", "http://127.0.0.1:1/"], "The command comes before its options: wherry get"),
    ],
)
def test_a_command_line_without_a_command_suggests_one(arguments: list[str], advice: str) -> None:
    result = wherry(*arguments)

    assert result.status == 2 and result.out == b"" and advice in result.err, result.err


def test_an_unknown_command_is_not_a_URL() -> None:
    result = wherry("fetch")

    assert result.status == 2 and "wherry get" not in result.err


# A loop over a list: the first command read the rest of the list as its body.
def test_the_input_of_a_shell_loop_is_not_used_as_the_body(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "list").write_text("".join(server.url(f"/sink?n={n}") + "\n" for n in range(3)))

    def loop(command: str) -> subprocess.CompletedProcess[str]:
        script = f'while read -r url; do "{BINARY}" {command} || exit; done < list'
        return subprocess.run(
            ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=GUARD, env=environment()
        )

    refused = loop('post "$url"')
    assert refused.returncode == 2 and "--data ''" in refused.stderr and "/dev/null" in refused.stderr
    assert server.requests() == []
    for command in ("post \"$url\" --data ''", 'post "$url" </dev/null', 'post "$url" --json 1', 'get "$url"'):
        before = len(server.requests())
        done = loop(command)
        assert done.returncode == 0, done.stderr
        assert len(server.requests()) == before + 3
    # The rest of a file is sent if the command line requests it.
    rest = subprocess.run(
        ["sh", "-c", f'{{ read -r first; "{BINARY}" post "$first" --data @-; }} < list'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=GUARD,
        env=environment(),
    )
    size = (tmp_path / "list").stat().st_size // 3 * 2
    assert rest.returncode == 0 and json.loads(rest.stdout)["bytes"] == size


def test_a_body_from_standard_input_is_reported(server: Scope) -> None:
    url = server.url("/sink")
    noted = wherry("post", url, input=b"abc")
    assert noted.json["bytes"] == 3
    assert "The body is standard input (3 bytes)" in noted.err and "--data ''" in noted.err
    assert wherry("post", url, "-q", input=b"abc").err == ""
    assert wherry("post", url, "--data", "@-", input=b"abc").err == ""
    assert wherry("post", url).err == ""
    for text in (wherry("post", "--help").text, (pathlib.Path(__file__).parents[2] / "docs/cli.md").read_text()):
        assert "/dev/null" in text and "--data ''" in text


def test_a_range_of_a_download_is_refused(server: Scope) -> None:
    for option in ("-r", "--range"):
        result = wherry("download", option, "0-9", server.url("/bytes/1000"))
        assert result.status == 2 and "wherry get --range RANGE URL --output FILE" in result.err
    assert server.requests() == []
