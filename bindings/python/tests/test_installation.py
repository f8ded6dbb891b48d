# Wherry: faults of an installation: a library that is missing, damaged, or of another version
# SPDX-License-Identifier: Apache-2.0
"""Each fault is an ImportError with the reason and the remedy."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from typing import Callable, Dict, List, Optional, Tuple

import pytest
from conftest import run_python

from wherry._native import faults, library


def own_library() -> bytes:
    return pathlib.Path(library.load().path).read_bytes()


def refusal(path: object, env: Optional[Dict[str, str]] = None) -> str:
    """Runs a program with this library; returns the last line of its traceback."""
    done = run_python("import wherry; wherry.Client()", {"WHERRY_LIBRARY": str(path), **(env or {})})
    assert done.returncode == 1, (done.returncode, done.stderr)
    return done.stderr.strip().splitlines()[-1]


def with_bytes(at: int, new: bytes) -> Callable[[bytes], bytes]:
    return lambda whole: whole[:at] + new + whole[at + len(new) :]


#: What is done to the file, and the reason in the error.
DAMAGES: Dict[str, Tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda whole: b"", "it is empty."),
    "text": (lambda whole: b"<html>404 Not Found</html>" * 20, "it is not a shared library."),
    "header only": (lambda whole: whole[:64], "it is incomplete."),
    # Python crashed with SIGBUS.
    "one page": (lambda whole: whole[:4096], "it is incomplete."),
    # Of the part that is loaded: debug information, which follows, can be more than half of the file.
    "half": (lambda whole: whole[: library.loaded_size(whole) // 2], "it is incomplete."),
    "last byte": (lambda whole: whole[: library.loaded_size(whole) - 1], "it is incomplete."),
    # The loader said "No such file or directory".
    "other machine": (with_bytes(18, b"\xf3\x00"), "it is for riscv64, and this Python is for "),
    "unknown machine": (with_bytes(18, b"\x39\x05"), "it is for another machine, and this Python is for "),
    "32 bit": (with_bytes(4, b"\x01"), "it is for another word size or byte order."),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_library_is_named_with_the_reason(tmp_path: pathlib.Path, damage: str) -> None:
    change, reason = DAMAGES[damage]
    path = tmp_path / "libwherry.so.0"
    path.write_bytes(change(own_library()))

    text = refusal(path)

    assert text.startswith(f"ImportError: Could not load {path}: {reason}")
    assert text.endswith(". Correct or unset WHERRY_LIBRARY.")


def test_a_folder_is_not_a_library(tmp_path: pathlib.Path) -> None:
    expected = f"ImportError: Could not load {tmp_path}: Is a directory. Correct or unset WHERRY_LIBRARY."
    assert refusal(tmp_path) == expected


def test_a_missing_libcurl_is_named_with_its_package(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "libwherry.so.0"
    whole = own_library()
    # Names of the same length, because the file must keep its layout.
    for old, new in ((b"libcurl.so.4\0", b"libnone.so.4\0"), (b"libjpeg.so.62\0", b"libnone.so.62\0")):
        path.write_bytes(whole.replace(old, new))
        name = new[:-1].decode()
        assert refusal(path) == f"ImportError: Could not load {path}: {name} is missing. Install it."
    error = OSError("libcurl.so.4: cannot open shared object file: No such file or directory")
    told = faults.loading_fault(error, "")
    assert told == "libcurl.so.4 is missing. Install it, for example with: apt install libcurl4"


@pytest.mark.parametrize("version", ["", "CURL_OPENSSL_3", "CURL_OPENSSL_4"])
def test_a_libcurl_without_the_required_functions_is_too_old(tmp_path: pathlib.Path, version: str) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "curl.c").write_text("const char *curl_version(void) { return 0; }\n")
    (tmp_path / "map").write_text(version + " { global: curl_*; local: *; };\n")
    words: List[str] = [compiler, "-shared", "-fPIC", str(tmp_path / "curl.c")]
    words += ["-o", str(tmp_path / "libcurl.so.4"), "-Wl,-soname,libcurl.so.4"]
    words += [f"-Wl,--version-script={tmp_path / 'map'}"]
    subprocess.run(words, check=True)
    path = library.load().path

    text = refusal(path, {"LD_LIBRARY_PATH": str(tmp_path)})

    assert text == (
        f"ImportError: Could not load {path}: its libcurl is too old. Install version 7.88 or newer, "
        "or check LD_LIBRARY_PATH."
    )


def test_a_library_that_needs_a_newer_system_says_so() -> None:
    error = OSError("/lib/libc.so.6: version `GLIBC_2.99' not found (required by /x/libwherry.so.0)")
    told = faults.loading_fault(error, "")
    assert told == "it needs glibc 2.99 or newer. Use a newer system, such as Debian 12."


@pytest.mark.parametrize("needed", [0, 999, 1000])
def test_a_library_of_another_version_names_both(monkeypatch: pytest.MonkeyPatch, needed: int) -> None:
    found = library.load()
    major, minor, patch = (int(found.wherry_library_version()) // unit % 1000 for unit in (10**6, 1000, 1))
    monkeypatch.setattr(library, "ABI", needed)
    monkeypatch.setenv("WHERRY_LIBRARY", found.path)

    with pytest.raises(ImportError) as caught:
        library.load()

    assert str(caught.value) == (
        f"Could not use {found.path}: it has version {major}.{minor}.{patch}, and this Python package needs "
        f"version {needed // 1000}.{needed % 1000}. Install the same version of both, or unset WHERRY_LIBRARY."
    )


def test_another_library_is_refused() -> None:
    path = os.path.realpath("/lib/x86_64-linux-gnu/libz.so.1")
    if not os.path.exists(path):
        pytest.skip("no zlib at its usual place")
    expected = f"ImportError: Could not load {path}: it is another library. Correct or unset WHERRY_LIBRARY."
    assert refusal(path) == expected


def test_a_damaged_library_is_skipped_if_another_one_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    good, damaged = library.load().path, tmp_path / "libwherry.so.0"
    damaged.write_bytes(b"")
    monkeypatch.delenv("WHERRY_LIBRARY", raising=False)
    places = [str(tmp_path / "none.so"), str(damaged), good]
    monkeypatch.setattr(library, "candidates", lambda: iter(places))
    assert library.load().path == good

    places.pop()
    with pytest.raises(ImportError, match="^Could not load .*: it is empty. Build the library again.$"):
        library.load()


def test_a_missing_agent_is_named_with_the_remedy(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "libwherry.so.0"
    shutil.copy(library.load().path, path)
    code = (
        "import wherry\n"
        f"with wherry.BackgroundSession('s', state_directory={str(tmp_path / 'jobs')!r}) as session:\n"
        f"    session.download('http://127.0.0.1:1/', {str(tmp_path / 'file')!r})"
    )
    for env, reason in (
        ({}, f"Could not find wherry-agent beside {path} or in its libexec/wherry. Set the agent path or "),
        ({"WHERRY_AGENT": "/no/agent"}, "Could not start the agent: /no/agent is not an executable program."),
    ):
        done = run_python(code, {"WHERRY_AGENT": "", "WHERRY_LIBRARY": str(path), **env})
        assert reason in done.stderr and "[no_agent]" in done.stderr
