# Wherry: mistakes by callers, disks, and servers are errors, and never worse
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ctypes
import json
import os
import re
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
from conftest import Server, run_python
from test_uploads import png

import wherry
from wherry._core.calls import create, last_error
from wherry._native import codes, prototypes
from wherry._native.library import lib

SIZE, CUT, LIMIT = 2_000_000, 400_000, 1_024_000


@pytest.fixture
def open_folder() -> Iterator[str]:
    """A folder that any user may enter; pytest's own folders are private."""
    with tempfile.TemporaryDirectory(prefix="wherry-test-") as folder:
        os.chmod(folder, 0o755)
        yield folder


def as_nobody(code: str) -> Dict[str, Any]:
    """Runs a program without root rights and returns what it put into `told`."""
    full = f"""
import contextvars, json, os, wherry  # Afterwards, the standard library may be unreadable.
def failure(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except wherry.WherryError as error:
        return [type(error).__name__, error.reason, error.os_code, bool(error.message)]
    return None
told = {{}}
client = wherry.Client()
if os.geteuid() == 0:
    os.seteuid(65534)
{code}
client.close()
print(json.dumps(told))
"""
    done = run_python(full)
    assert done.stderr == ""
    return dict(json.loads(done.stdout))


# Files and folders


@pytest.mark.parametrize("query", ["", "&chunked=1"])
def test_DC_C09_a_full_disk_is_an_error_and_leaves_no_file(server: Server, tmp_path: Any, query: str) -> None:
    code = f"""
import resource, wherry
resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
with wherry.Client(max_retries=0) as client:
    try:
        client.download({server.url(f"/bytes/{SIZE}") + query!r}, {str(tmp_path / "file")!r})
    except wherry.FileError as error:
        print(error.reason)
"""
    done = run_python(code)

    assert (done.stdout, done.stderr) == ("no_space\n", "")
    assert not (tmp_path / "file").exists()


def test_DC_C09_a_full_disk_keeps_the_partial_file_and_the_download_resumes_with_space(
    server: Server, tmp_path: Any
) -> None:
    path = str(tmp_path / "file")
    code = f"""
import os, resource, wherry
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
def failure(url):
    try:
        client.download(url, {path!r})
    except wherry.WherryError as error:
        return error
with wherry.Client(max_retries=0) as client:
    url = {server.url(f"/bytes/{SIZE}", cut_at=CUT, times=1)!r}
    cut = failure(url)
    # Nothing is reserved beyond what came, as on a file system that cannot.
    os.truncate(cut.partial_path, {CUT})
    resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, hard))
    full = failure(url)
    kept = os.path.getsize(full.partial_path)
    print(cut.reason, type(full).__name__, full.reason, full.partial_path == cut.partial_path)
    print({CUT} <= kept <= {LIMIT}, os.path.exists({path!r}))
    print(0 < wherry.partial_ratio({path!r}) < 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    print(client.download(url, {path!r}) == {path!r})
"""
    done = run_python(code)

    assert done.stderr == ""
    assert done.stdout == "truncated FileError no_space True\nTrue False\nTrue\nTrue\n"
    with wherry.Client() as client:
        assert (tmp_path / "file").read_bytes() == client.get(server.url(f"/bytes/{SIZE}")).content
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(("mode", "path", "reason"), [(0o555, "a", "read_only"), (0o444, "x/a", "no_permission")])
def test_DC_C10_a_read_only_folder_is_an_error_before_any_traffic(
    server: Server, open_folder: str, mode: int, path: str, reason: str
) -> None:
    os.mkdir(os.path.join(open_folder, "closed"))
    os.chmod(os.path.join(open_folder, "closed"), mode)
    target = os.path.join(open_folder, "closed", path)

    told = as_nobody(f"""
told["download"] = failure(client.download, {server.url("/bytes/10")!r}, {target!r})
told["start"] = failure(client.start_download, {server.url("/bytes/10")!r}, {target!r})
told["count"] = client.count()
""")

    assert told == {
        "download": ["FileError", reason, 13, True], "start": ["FileError", reason, 13, True],
        "count": 0,
    }  # fmt: skip
    assert server.log() == [] and os.listdir(os.path.join(open_folder, "closed")) == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [("none/x", "no_file"), ("plain/x", "bad_directory"), ("", "is_directory")],
)
def test_S11_an_impossible_target_is_an_error_before_any_traffic(
    server: Server, client: wherry.Client, tmp_path: Any, path: str, reason: str
) -> None:
    (tmp_path / "plain").write_text("mine")

    with pytest.raises(wherry.FileError) as caught:
        client.start_download(server.url("/bytes/10"), tmp_path / path)

    assert caught.value.reason == reason and caught.value.message
    assert server.log() == [] and (tmp_path / "plain").read_text() == "mine"


def test_C12_a_storage_folder_that_cannot_be_created_is_an_error(open_folder: str) -> None:
    os.mkdir(os.path.join(open_folder, "closed"), 0o555)
    storage = os.path.join(open_folder, "closed", "storage")

    told = as_nobody(f"""
told["storage"] = failure(wherry.Client, storage_directory={storage!r})
""")

    kind, _, os_code, says = told["storage"]
    assert (kind, os_code, says) == ("FileError", 13, True)
    assert os.listdir(os.path.join(open_folder, "closed")) == []


# Servers that send wrong data


@pytest.mark.parametrize(
    ("path", "kind", "reason"),
    [
        ("/bytes/1000?two_lengths=500", wherry.NetworkError, "protocol"),
        ("/bytes/1000?chunked_cut=1", wherry.NetworkError, "truncated"),
        ("/bytes/1000?chunked=1&cut=500", wherry.NetworkError, "truncated"),
        ("/bytes/1000?length=2000", wherry.NetworkError, "truncated"),
        ("/gzip?cut=10", wherry.NetworkError, "truncated"),
        ("/gzip?zeros=100000000", wherry.LimitError, "too_large"),
        ("/headers?count=10&size=20000", wherry.LimitError, "header_too_large"),
        ("/headers?count=300&size=10", wherry.LimitError, "header_too_large"),
        ("/loop", wherry.HTTPStatusError, "too_many_redirects"),
    ],
)
def test_S11_a_malformed_response_is_an_error(
    server: Server, client: wherry.Client, path: str, kind: Any, reason: str
) -> None:
    with pytest.raises(kind) as caught:
        client.get(server.url(path))

    assert caught.value.reason == reason and caught.value.message
    assert client.get(server.url("/echo")).ok  # The client still works.


def test_S11_bytes_beyond_the_announced_length_are_discarded(server: Server, client: wherry.Client) -> None:
    assert len(client.get(server.url("/bytes/1000?more=100")).content) == 1000
    server.wait(ended=1)
    assert client.get(server.url("/echo")).json()["method"] == "GET"


@pytest.mark.parametrize(
    "answer",
    [
        "", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 999999999999 X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)  # fmt: skip
def test_S11_a_response_that_is_not_HTTP_is_a_network_error(server: Server, client: wherry.Client, answer: str) -> None:
    script = {"raw": [{"raw": [["send", answer], ["fin"]]}]}
    assert client.post(server.url("/_script"), json=script).ok

    with pytest.raises(wherry.NetworkError) as caught:
        client.get(server.url("/s/raw"))

    assert caught.value.message and caught.value.http_status in (0, 200)
    assert client.get(server.url("/echo")).ok


# Handles

HANDLES = (
    "client", "compression", "config", "event", "image", "json", "list", "queue", "request",
    "response", "stub", "transfer",
)  # fmt: skip


@pytest.fixture
def objects(mock: wherry.MockTransport) -> Iterator[Dict[str, int]]:
    """Creates an object of each kind; frees the rest at the end of the test."""
    mock.add(None, "*", text="x")
    found: Dict[str, int] = {"config": create(lib.wherry_config_new)}
    assert lib.wherry_config_set_stub(found["config"], mock._handle) == codes.OK
    found["client"] = create(lib.wherry_client_new, found["config"])
    found["queue"] = create(lib.wherry_queue_new)
    found["request"] = create(lib.wherry_request_new, b"GET", b"http://h/")
    found["transfer"] = create(lib.wherry_client_send, found["client"], found["request"], found["queue"], 1)
    found["event"] = create(lib.wherry_queue_next, found["queue"], -1)
    found["response"] = create(lib.wherry_response_copy, lib.wherry_event_response(found["event"]))
    found["list"] = create(lib.wherry_client_list, found["client"], codes.MATCH_ALL, None)
    found["image"] = create(lib.wherry_image_new_pixels, b"abc", 3, codes.PIXELS_RGB8, 1, 1, 0)
    found["compression"] = create(lib.wherry_compression_new, 0.5)
    found["json"] = create(lib.wherry_json_new)
    found["stub"] = create(lib.wherry_stub_new)
    assert sorted(found) == list(HANDLES)
    yield found
    for kind, handle in found.items():
        getattr(lib, f"wherry_{kind}_free")(handle)


def is_bad_handle(status: int) -> bool:
    error = last_error(status)
    return isinstance(error, wherry.ArgumentError) and error.reason == "bad_handle"


def test_S11_every_handle_is_freed_once(objects: Dict[str, int]) -> None:
    for kind, handle in objects.items():
        free = getattr(lib, f"wherry_{kind}_free")
        assert free(0) == codes.OK, kind
        assert free(handle) == codes.OK, kind
        assert is_bad_handle(free(handle)), kind


def test_S11_a_handle_of_the_wrong_kind_is_an_error_and_stays_valid(
    objects: Dict[str, int],
) -> None:
    for kind in objects:
        for other, handle in objects.items():
            if other != kind:
                assert is_bad_handle(getattr(lib, f"wherry_{kind}_free")(handle)), (kind, other)
    for kind, handle in objects.items():
        assert getattr(lib, f"wherry_{kind}_free")(handle) == codes.OK, kind


def calls() -> List[Tuple[str, str, List[str]]]:
    """Name, result, and parameters of each function whose first parameter is a handle."""
    lines = " ".join(re.sub(r"//.*", "", prototypes.DECLARATIONS).split()).split(";")
    found = []
    for line in filter(None, lines):
        name = line[: line.index("(")].split()[-1].lstrip("*")
        parameters = line[line.index("(") + 1 : -1].split(", ")
        first = re.match(r"(?:const )?wherry_(\w+) \*\w+$", parameters[0])
        if first is not None and first.group(1) in HANDLES and not name.endswith("_free"):
            found.append((name, line.strip().split(name)[0].strip(), [first.group(1), *parameters]))
    return found


def test_S11_every_function_rejects_null_freed_and_foreign_handles(
    objects: Dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    memory = (ctypes.c_uint64 * 512)()
    place = ctypes.addressof(memory)

    def value(parameter: str) -> Any:
        """A valid value, so that the handle is the only error."""
        if re.search(r"\*(\w+)$", parameter) is None:
            return 0.0 if parameter.startswith("double") else int(parameter.endswith(" capacity"))
        return b"a" if parameter.startswith("const char *") and "**" not in parameter else place

    known = calls()
    assert len(known) > 110
    for kind, handle in objects.items():
        assert getattr(lib, f"wherry_{kind}_free")(handle) == codes.OK
    for name, result, (kind, _, *rest) in known:
        other = create(lib.wherry_json_new if kind != "json" else lib.wherry_config_new)
        for wrong in (0, objects[kind], other, 1 << 40):
            ctypes.memset(memory, 0, ctypes.sizeof(memory))
            memory[0] = 256  # The size that structs require.
            answer = getattr(lib, name)(wrong, *map(value, rest))
            if name == "wherry_client_new" and wrong == 0:  # NULL is the default config.
                assert (answer, lib.wherry_client_free(memory[0])) == (codes.OK, codes.OK)
            elif name == "wherry_session_new" and wrong == 0:
                assert (answer, lib.wherry_session_free(memory[0])) == (codes.OK, codes.OK)
            elif result == "wherry_status":
                assert is_bad_handle(answer), (name, wrong)
            elif name == "wherry_json_get_text":  # It returns the address of its default.
                assert ctypes.string_at(answer) == b"a", (name, wrong)
            else:
                assert answer in (0, -1, None, b"a", False, 0.0), (name, wrong, answer)
        assert getattr(lib, "wherry_config_free" if kind == "json" else "wherry_json_free")(other) == codes.OK


def test_S11_a_closed_object_says_so_and_can_be_closed_again(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    handle = client.start_download(server.url("/bytes/10"), tmp_path / "file")
    assert handle.wait() == str(tmp_path / "file")
    handle.close()
    handle.close()
    verbs: List[Callable[[], Any]] = [
        handle.pause, handle.resume, handle.cancel, handle.discard, lambda: handle.progress,
    ]  # fmt: skip

    transport = wherry.MockTransport()
    transport.close()
    transport.close()
    verbs += [
        lambda: transport.add("GET", "*"), lambda: transport.fail("GET", "*"),
        lambda: transport.advance(1), lambda: wherry.Client(transport=transport),
    ]  # fmt: skip

    for verb in verbs:
        with pytest.raises(wherry.ArgumentError) as caught:
            verb()
        assert caught.value.reason == "bad_handle"
    assert handle.state == "none" and handle.is_done and (tmp_path / "file").exists()

    with client.stream("GET", server.url("/bytes/10")) as answer:
        pass
    closed = wherry.Client()
    closed.close()
    uses: List[Callable[[], Any]] = [
        answer.read, lambda: closed.get("http://h/"), lambda: closed.count(),
        lambda: closed.start_download("http://h/", tmp_path / "b"), closed.drain,
        lambda: closed.configure(debug=True), lambda: closed.upload("http://h/", png(1, 1)),
        lambda: closed.stream("GET", "http://h/").__enter__(),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(wherry.StateError) as refused:
            use()
        assert refused.value.reason == "closed"


# Unknown numbers and names


@pytest.mark.parametrize(
    "setting",
    [
        {"array_style": "x"}, {"http_version": 3}, {"http_version": "3"}, {"image_names": "x"},
        {"compressed": 9}, {"compressed": -1}, {"durability": 7}, {"max_redirects": -2},
        {"max_body_bytes": -5}, {"jpeg_type": "text/plain\r\nX: 1"}, {"max_per_host": -1},
    ],
    ids=str,
)  # fmt: skip
def test_S11_an_unknown_setting_is_refused_and_changes_nothing(
    server: Server, client: wherry.Client, setting: Any
) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.configure(**setting)
    assert caught.value.reason in ("bad_option", "bad_value", "bad_header")
    with pytest.raises(wherry.ArgumentError):
        wherry.Client(**setting)
    (name,) = setting
    if name in ("array_style", "http_version", "max_redirects", "max_body_bytes"):
        with pytest.raises(wherry.ArgumentError):
            client.get(server.url("/echo"), **setting)
    assert server.log() == []
    echo = client.get(server.url("/echo"), parameters={"a": [1]}).json()
    assert echo["query"][1:] == [["a[]", "1"]]


def test_S11_numbers_that_the_header_does_not_define_are_refused(objects: Dict[str, int]) -> None:
    client, request = objects["client"], objects["request"]
    for status in (
        lib.wherry_client_set_option(client, 9999, 1),
        lib.wherry_client_set_text(client, 9999, b"x"),
        lib.wherry_request_set_option(request, 9999, 1),
        lib.wherry_request_set_option(request, codes.OPTION_TARGET_EXISTS, 3),
        lib.wherry_request_set_digest(request, 99, b"00"),
        lib.wherry_request_accept_status(request, -1),
        lib.wherry_client_cancel(client, 99, b"x", None),
        lib.wherry_client_wait(client, 99, None, 0),
        lib.wherry_compression_set_option(objects["compression"], 99, 1),
        lib.wherry_compression_set_option(objects["compression"], codes.IMAGE_METADATA, 99),
    ):
        assert status == codes.E_ARGUMENT
        assert isinstance(last_error(status), wherry.ArgumentError)
    for form, count, width in ((99, 3, 1), (0, 3, 1), (codes.PIXELS_RGB8, 2, 1), (2, 3, -1)):
        with pytest.raises(wherry.WherryError) as caught:
            create(lib.wherry_image_new_pixels, b"abc", count, form, width, 1, 0)
        assert isinstance(caught.value, (wherry.ArgumentError, wherry.ImageError))
    unknown: List[Dict[str, Any]] = [{"format": "gif"}, {"metadata": "some"}, {"deadline": 0}]
    for wrong in unknown:
        with pytest.raises(wherry.ArgumentError):
            wherry.Compression(**wrong)


# Unreadable images


def test_U11_unreadable_images_are_named_and_nothing_is_sent(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    (tmp_path / "words.png").write_text("no picture")
    (tmp_path / "cut.png").write_bytes(png(30, 30)[:200])
    small = wherry.Compression(0.5, type="jpg")
    for picture, kind, reason in (
        (tmp_path / "none.png", wherry.FileError, "no_file"),
        (tmp_path, wherry.FileError, "is_directory"),
        (tmp_path / "words.png", wherry.ImageError, "bad_image"),
        (tmp_path / "cut.png", wherry.ImageError, "truncated_image"),
        (b"", wherry.ImageError, "truncated_image"),
        (b"no picture", wherry.ImageError, "bad_image"),
    ):
        with pytest.raises(wherry.WherryError) as caught:
            client.upload(server.url("/sink"), [png(4, 4), picture], compression=small)
        assert type(caught.value) is kind and caught.value.reason == reason
        failed = [(f.index, f.reason) for f in caught.value.failed_images if f.reason == reason]
        # A file that cannot be opened is refused when it is added, before the list exists.
        assert failed == ([] if reason == "no_file" else [(1, reason)])
    assert server.log() == []


def test_U11_an_image_owned_by_another_user_is_a_permission_error(server: Server, open_folder: str) -> None:
    path = os.path.join(open_folder, "secret.png")
    with open(path, "wb") as file:
        file.write(png(4, 4))
    os.chmod(path, 0o000)

    told = as_nobody(f"""
told["upload"] = failure(client.upload, {server.url("/sink")!r}, [{path!r}])
""")

    assert told == {"upload": ["FileError", "no_permission", 13, True]}
    assert server.log() == []
