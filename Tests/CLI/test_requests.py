# Wherry: tests of the commands that send one request.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import json
import pathlib
import stat

import pytest
from conftest import Scope, field, wherry


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
def test_each_command_sends_its_method(server: Scope, method: str) -> None:
    result = wherry(method, server.url("/echo"))

    assert result.status == 0 and result.err == ""
    assert result.json["method"] == method.upper()


def test_head_prints_status_and_headers_and_no_body(server: Scope) -> None:
    result = wherry("head", server.url("/bytes/1000"))

    assert result.status == 0
    lines = result.text.splitlines()
    assert lines[0] == "HTTP 200"
    assert "Content-Length: 1000" in lines and lines[-1] == ""
    assert server.requests()[0]["method"] == "HEAD"


def test_parameters_are_added_to_the_query_escaped_and_in_order(server: Scope) -> None:
    result = wherry("get", server.url("/echo?first=1"), "--param", "q=a b&c", "--param", "q==x", "--param", "e=")

    assert result.json["query"] == [["first", "1"], ["q", "a b&c"], ["q", "=x"], ["e", ""]]


def test_parameters_of_a_POST_are_in_the_query_next_to_the_body(server: Scope) -> None:
    result = wherry("post", server.url("/echo"), "--param", "dry=1", "--json", "[1, 2]")

    assert result.json["query"] == [["dry", "1"]]
    assert result.json["json"] == [1, 2]


def test_headers_are_sent_twice_if_given_twice_and_left_out_if_empty(server: Scope) -> None:
    result = wherry(
        "get",
        server.url("/echo"),
        "-H",
        "X-One: 1",
        "--header",
        "X-One:two: 2",
        "--header",
        "Accept:",
        "--bearer",
        "secret",
    )

    fields = [pair for pair in result.json["headers"] if pair[0] == "X-One"]
    assert fields == [["X-One", "1"], ["X-One", "two: 2"]]
    assert field(result.json, "Accept") is None
    assert field(result.json, "Authorization") == "Bearer secret"
    assert (field(result.json, "User-Agent") or "").startswith("wherry-cli/")


@pytest.mark.parametrize("source", ["text", "file", "stdin"])
def test_JSON_comes_from_text_file_or_standard_input(
    server: Scope,
    tmp_path: pathlib.Path,
    source: str,
) -> None:
    text = '{"big": 9007199254740993, "text": "日本"}'
    (tmp_path / "body.json").write_text(text)
    argument = {"text": text, "file": f"@{tmp_path / 'body.json'}", "stdin": "@-"}[source]

    result = wherry("post", server.url("/echo"), "--json", argument, input=text.encode())

    assert base64.b64decode(result.json["body"]).decode() == text
    assert field(result.json, "Content-Type") == "application/json"


@pytest.mark.parametrize(
    ("source", "kind"), [(source, "application/x-www-form-urlencoded") for source in ("text", "file", "stdin")]
)
def test_data_comes_from_text_file_or_standard_input(
    server: Scope, tmp_path: pathlib.Path, source: str, kind: str
) -> None:
    data = b"plain words" if source == "text" else bytes(range(256)) * 40
    (tmp_path / "body.bin").write_bytes(data)
    argument = {"text": "plain words", "file": f"@{tmp_path / 'body.bin'}", "stdin": "@-"}[source]

    result = wherry("put", server.url("/echo"), "--data", argument, input=data)

    assert base64.b64decode(result.json["body"]) == data
    assert field(result.json, "Content-Type") == kind


def test_an_explicit_header_sets_the_type_of_data(server: Scope) -> None:
    result = wherry("post", server.url("/echo"), "--data", "a,b", "-H", "content-type: text/csv")

    assert [value for name, value in result.json["headers"] if name.lower() == "content-type"] == ["text/csv"]


def test_fields_make_a_form(server: Scope) -> None:
    result = wherry("post", server.url("/echo"), "--field", "user=skye", "--field", "pass=a&b=c d")

    assert field(result.json, "Content-Type") == "application/x-www-form-urlencoded"
    assert result.json["form"] == [["user", "skye"], ["pass", "a&b=c d"]]


def test_include_prints_status_and_headers_before_the_body(server: Scope) -> None:
    result = wherry("get", server.url("/bytes/10"), "--include")

    head, body = result.out.split(b"\n\n", 1)
    assert head.splitlines()[0] == b"HTTP 200" and b"Content-Length: 10" in head
    assert len(body) == 10


# The headers went to standard output, and the file of `head` was empty.
def test_headers_go_into_the_file_of_the_body(server: Scope, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "a"
    for arguments, size in (("get", "-i"), 10), (("get", "-i", "--json-output"), 10), (("head",), 0):
        told = wherry(*arguments, server.url("/bytes/10"), "-o", target)
        assert told.status == 0, told
        head, body = target.read_bytes().split(b"\n\n", 1)
        assert head.splitlines()[0] == b"HTTP 200" and b"Content-Length: 10" in head and len(body) == size
        if "--json-output" in arguments:
            assert told.json["bytes"] == size
        else:
            assert told.out == b""


def test_redirects_are_followed_and_counted(server: Scope) -> None:
    assert wherry("get", server.url("/redirect/3")).status == 0

    refused = wherry("get", server.url("/redirect/3"), "--max-redirects", "2")
    assert refused.status == 3 and "too_many_redirects" in refused.err

    answer = wherry("get", server.url("/redirect/1"), "--max-redirects", "0", "--include")
    assert answer.text.startswith("HTTP 302\n")


def test_the_output_file_appears_complete_and_replaces_the_existing_one(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    from wherry_testserver import pattern

    target = tmp_path / "body.bin"
    target.write_text("old")

    result = wherry("get", server.url("/bytes/3000000?seed=7"), "-o", target)

    assert result.status == 0 and result.out == b""
    assert target.read_bytes() == pattern.data(7, 0, 3_000_000)
    assert "2.9 MiB" in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["body.bin"]


def test_a_cut_response_keeps_the_output_file(server: Scope, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "body.bin"
    target.write_text("old")

    result = wherry("get", server.url("/bytes/300000?cut=100000"), "-o", target)

    assert result.status == 4 and "truncated" in result.err
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["body.bin"]


def test_the_output_file_keeps_its_mode_and_a_link_stays_one(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "folder").mkdir()
    secret = tmp_path / "folder" / "secret"
    secret.write_text("old")
    secret.chmod(0o600)
    (tmp_path / "link").symlink_to("folder/secret")
    (tmp_path / "again").symlink_to(tmp_path / "link")
    (tmp_path / "dangling").symlink_to("folder/new")

    assert wherry("get", server.url("/bytes/1000"), "-o", tmp_path / "again").status == 0
    assert wherry("get", server.url("/bytes/2000"), "-o", "dangling", cwd=tmp_path).status == 0

    assert secret.stat().st_size == 1000 and stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert all((tmp_path / name).is_symlink() for name in ("link", "again", "dangling"))
    assert (tmp_path / "folder" / "new").stat().st_size == 2000
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["new", "secret"]


def test_an_output_link_that_leads_in_a_circle_is_an_error(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "circle").symlink_to("circle")

    result = wherry("get", server.url("/bytes/1000"), "-o", tmp_path / "circle")

    assert result.status == 7 and (tmp_path / "circle").is_symlink() and server.requests() == []


def test_an_output_that_is_not_a_regular_file_is_written_directly(server: Scope) -> None:
    assert wherry("get", server.url("/bytes/300000"), "-o", "/dev/null").status == 0


def test_quiet_prints_no_progress(server: Scope, tmp_path: pathlib.Path) -> None:
    result = wherry("get", server.url("/bytes/300000"), "-o", tmp_path / "a", "--quiet")

    assert (result.status, result.out, result.err) == (0, b"", "")


def test_TLS_is_checked_unless_disabled(server: Scope) -> None:
    refused = wherry("get", server.tls("/echo"))
    assert refused.status == 5 and "untrusted" in refused.err

    assert wherry("get", server.tls("/echo"), "--cacert", server.ca).status == 0
    careless = wherry("get", server.tls("/redirect/1"), "--insecure", "--quiet")
    assert careless.status == 0
    assert careless.err == "wherry: a client of this program trusts anybody: certificates are not checked\n"


def test_JSON_output_is_one_object_with_the_body(server: Scope) -> None:
    result = wherry("get", server.url("/json?value=%7B%22n%22%3A9007199254740993%7D"), "--json-output")

    assert result.text.count("\n") == 1
    assert result.json["ok"] is True and result.json["status"] == 200
    assert result.json["json"] == {"n": 9007199254740993}
    assert ["Content-Type", "application/json"] in result.json["headers"]
    assert result.json["redirects"] == 0 and result.json["seconds"] >= 0


def test_JSON_output_supports_text_and_other_bytes(server: Scope) -> None:
    assert wherry("get", server.url("/status/200?body=words"), "--json-output").json["text"] == "words"

    binary = wherry("get", server.url("/bytes/100"), "--json-output").json
    assert len(base64.b64decode(binary["base64"])) == binary["bytes"] == 100


def test_JSON_output_with_a_file_names_it(server: Scope, tmp_path: pathlib.Path) -> None:
    result = wherry("get", server.url("/bytes/100"), "-o", tmp_path / "a", "--json-output", "--progress", "none")

    assert result.json["file"] == str(tmp_path / "a") and result.json["bytes"] == 100
    assert result.err == ""


def test_JSON_is_formatted_on_request_and_keeps_numbers_and_order(server: Scope) -> None:
    value = '{"z":[1,{}],"a":9007199254740993,"e":[]}'
    path = "/json?value=" + "".join(f"%{byte:02X}" for byte in value.encode())

    plain = wherry("get", server.url(path))
    laid_out = wherry("get", server.url(path), "--pretty")

    assert "\n  " not in plain.text
    assert laid_out.text == ('{\n  "z": [\n    1,\n    {}\n  ],\n  "a": 9007199254740993,\n  "e": []\n}\n')
    assert json.loads(laid_out.text) == plain.json


# Parsed values lost digits, escapes, and repeated names.
def test_JSON_keeps_the_tokens_of_the_server(server: Scope) -> None:
    value = r'{ "a": [1.10, 12345678901234567890123, 1e400, -0.0], "a": "\u00e9" , "b" : [ ], "c":{ }}'
    url = server.url("/json?value=" + "".join(f"%{byte:02X}" for byte in value.encode()))

    assert wherry("get", url, "--pretty").text == (
        '{\n  "a": [\n    1.10,\n    12345678901234567890123,\n    1e400,\n    -0.0\n  ],\n'
        '  "a": "\\u00e9",\n  "b": [],\n  "c": {}\n}\n'
    )
    told = wherry("get", url, "--json-output")
    assert told.text.endswith(',"json":{"a":[1.10,12345678901234567890123,1e400,-0.0],"a":"\\u00e9","b":[],"c":{}}}\n')
    assert told.json["status"] == 200


@pytest.mark.parametrize(
    "value",
    [
        "[1,]",
        "[01]",
        "[1 2]",
        '{"a"}',
        '{"a":1,}',
        "{1:2}",
        "[",
        "]",
        "[}",
        '"\\x"',
        '"\\u12"',
        '"a',
        '"\n"',
        "tru",
        "1.",
        "-",
        "1e",
        "+1",
        "NaN",
        "1 1",
        ",",
        "",
        " ",
        "[" * 600 + "]" * 600,
    ],
)
def test_text_that_is_not_JSON_is_printed_unchanged(server: Scope, value: str) -> None:
    url = server.url("/json?value=" + "".join(f"%{byte:02X}" for byte in value.encode()))

    assert wherry("get", url, "--pretty").text == value
    assert wherry("get", url, "--json-output").json.get("text", "") == value


def test_a_proxy_is_used_unless_disabled(server: Scope) -> None:
    proxy = f"http://127.0.0.1:{server.facts['port']}"

    assert wherry("get", server.url("/echo"), "--proxy", proxy).status == 0
    assert wherry("get", server.url("/echo"), http_proxy=proxy).status == 0
    assert wherry("get", server.url("/echo"), "--proxy", "", http_proxy=proxy).status == 0

    absolute = [request["target"].startswith("http://") for request in server.requests()]
    assert sorted(absolute) == [False, True, True], server.requests()


def test_C19_resolve_sets_the_address_of_a_host_and_connections_use_the_given_interface(
    server: Scope,
) -> None:
    port = server.facts["port"]
    elsewhere = server.url("/echo").replace("127.0.0.1", "a.example")

    done = wherry("get", elsewhere, "--resolve", f"a.example:{port}:127.0.0.1")
    assert field(done.json, "host") == f"a.example:{port}"
    assert wherry("get", server.url("/echo"), "--interface", "lo").status == 0
    assert "host:port:address" in wherry("get", elsewhere, "--resolve", "a.example").err
    done = wherry("get", elsewhere.replace(f":{port}", ""), "--unix-socket", server.facts["unix"])
    assert field(done.json, "host") == "a.example"


def test_SEC_U11_a_Host_header_selects_another_host(server: Scope) -> None:
    """Host was refused like the framing headers."""
    done = wherry("get", server.url("/echo"), "-H", "Host: other.example:8080")
    assert field(done.json, "host") == "other.example:8080"
    for headers in (["Host: a b"], ["Host:"], ["Host: a", "host: b"]):
        failed = wherry("get", server.url("/echo"), *[word for each in headers for word in ("-H", each)])
        assert failed.status != 0 and "Host" in failed.err
    assert len(server.requests()) == 1


def test_C19_each_scheme_has_a_proxy_and_exceptions_have_ports(server: Scope) -> None:
    port = server.facts["port"]
    proxy = f"http://127.0.0.1:{port}"

    def target(*arguments: str, **environment: str) -> str:
        done = wherry("get", server.url("/echo"), *arguments, input=b"", cwd=None, **environment)
        return str(done.json["target"])

    assert target("--proxy", "http://127.0.0.1:1", "--proxy-http", proxy).startswith("http://")
    assert target("--proxy", proxy, "--proxy-http", "").startswith("/")
    assert target("--proxy-https", "http://127.0.0.1:1").startswith("/")
    assert target("--proxy", proxy, "--noproxy", f"127.0.0.1:{port}").startswith("/")
    assert target("--proxy", proxy, "--noproxy", "127.0.0.1:1,h.org").startswith("http://")
    assert target(http_proxy=proxy, NO_PROXY=f"127.0.0.1:{port}").startswith("/")
    assert target(http_proxy=proxy, no_proxy="127.0.0.1:1").startswith("http://")
    assert "127.0.0.1:0" in wherry("get", server.url("/echo"), "--noproxy", "127.0.0.1:0").err


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_C19_an_international_name_is_resolved_in_every_locale(server: Scope, locale: str) -> None:
    port = server.facts["port"]
    url = server.url("/echo").replace("127.0.0.1", "b\u00fccher.example")
    done = wherry("get", url, "--resolve", f"b\u00fccher.example:{port}:127.0.0.1", LC_ALL=locale)
    assert field(done.json, "host") == f"xn--bcher-kva.example:{port}"


def test_C19_SEC_U9_only_the_proxy_gets_its_credentials(server: Scope, tmp_path: pathlib.Path) -> None:
    proxy = f"http://127.0.0.1:{server.facts['port']}"
    secret = tmp_path / "secret"
    secret.write_text("name:hunter4\n")

    done = wherry("get", server.url("/echo"), "--proxy", proxy, "-U", f"@{secret}")
    assert field(done.json, "proxy-authorization") == "Basic bmFtZTpodW50ZXI0"
    done = wherry("get", server.url("/echo"), "--proxy", proxy, "-U", f"@{secret}", "--noproxy", "127.0.0.1")
    assert field(done.json, "proxy-authorization") is None
    failed = wherry("get", server.url("/echo"), "--proxy-user", "hunter4")
    assert failed.status == 2 and "hunter4" not in failed.err


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_R37_a_body_is_sent_compressed(server: Scope, tmp_path: pathlib.Path, coding: str) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"the same line again\n" * 500_000)
    for data in ("@" + str(path), "the same again " * 400):
        told = wherry("post", server.url("/sink"), "--data", data, "--body-coding", coding).json
        assert told["whole"] is True
        assert told["inflated"] == (10_000_000 if data[0] == "@" else len(data))
        assert told["bytes"] < told["inflated"] / 10
    assert wherry("post", server.url("/sink"), "--data", "x", "--body-coding", "br").status == 2


def test_informational_responses_are_printed_with_the_headers(server: Scope) -> None:
    # Early hints were not printed.
    hints = server.url("/status/200?body=words&informational=103")
    assert wherry("get", hints).text == "words"
    for command in ("get", "head"):
        told = wherry(command, hints, "-i").text
        assert told.startswith("HTTP 103\n") and "\n\nHTTP 200\n" in told, told
    assert "103" in wherry("get", hints, "-v").err
    refused = wherry("get", server.url("/status/404?informational=103"), "-i")
    assert refused.status == 3 and refused.text.startswith("HTTP 103\n") and "\n\nHTTP 404\n" in refused.text
