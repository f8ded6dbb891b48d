# Wherry: tests of what the documentation says about output and environment.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json
import pathlib
import re
import subprocess
from typing import Any, Iterator

from conftest import PATIENT_DOWNLOAD, ROOT, Result, Scope, wherry
from PIL import Image
from test_downloads import pattern
from test_trust import Authority, authority  # noqa: F401
from test_uploads import jpeg

GUIDE = (ROOT / "docs/cli.md").read_text()
MANUAL = re.sub(r"\\f[BIR]", "", (ROOT / "docs/man/wherry.1").read_text().replace("\\-", "-"))
# The members of these objects are defined by the server.
FOREIGN = {"json", "headers"}


def members(value: Any) -> Iterator[str]:
    """The names of the members of a result, including nested ones."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name not in FOREIGN:
                yield from members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner)


def documented(text: str) -> set[str]:
    """The words marked as code in the section for scripts."""
    section = text.split("## For scripts", 1)[1].split("\n## ", 1)[0]
    return {name.split(".")[-1] for name in re.findall(r"`([a-z0-9_.-]+)`", section)}


# `deleted`, `method`, `stored_at`, all of `image --info`, and others were undocumented.
def test_every_member_of_a_result_is_documented(
    server: Scope,
    authority: Authority,
    tmp_path: pathlib.Path,  # noqa: F811
) -> None:
    found: set[str] = set()

    def collect(*arguments: object, **more: Any) -> Result:
        result = wherry(*arguments, "--json-output", **more)
        for line in result.text.splitlines():
            found.update(members(json.loads(line)))
        for line in result.err.splitlines():
            if line.startswith("{"):
                found.update(members(json.loads(line)))
        return result

    store = ("--cache-directory", tmp_path / "store")
    state = ("--state-dir", tmp_path / "state")
    cached = server.url("/cache?control=max-age=3600")
    for url in (
        server.url("/json"),
        server.url("/status/200?body=words"),
        server.url("/bytes/10"),
        server.url("/status/503?body=later&header=Retry-After:7"),
        "ftp://x",
        server.url("/redirect/1"),
    ):
        collect("get", url)
    collect("get", "--nonsense")
    collect("get", server.url("/bytes/10"), "-o", tmp_path / "file", "--progress", "json")
    for options in (("--cache", 60), ("--cache-policy", "protocol")):
        collect("get", cached, *options, *store)
        collect("get", cached, *options, *store)
    stale = server.url("/cache?control=max-age=0&etag=a")
    for policy in ("protocol", "protocol", "any-age"):
        collect("get", stale, "--cache-policy", policy, *store)
    collect(
        "get", authority.url("good", "/bytes/1000?no_length=1&cut=400&unclean=1"), "--cacert", authority.path("ca.pem")
    )
    for verb in (["list"], ["show", cached], ["usage"], ["clear"]):
        assert collect("cache", *verb, *store).status == 0
    picture = jpeg(tmp_path / "a.jpg", 64, 64)
    collect("image", picture, "--info")
    collect("image", picture, tmp_path / "b.jpg", "--quality", "0.5")
    Image.new("RGB", (8, 8)).save(tmp_path / "c.png")
    (tmp_path / "d.jpg").write_text("no picture")
    collect("upload", server.url("/echo"), picture, tmp_path / "c.png", tmp_path / "d.jpg", "--unreadable", "skip")
    collect("upload", server.url("/echo"), picture, "--separate", "1", "--quality", "0.5")
    collect("upload", server.url("/status/500"), picture, "--separate", "1")
    collect("download", server.url("/bytes/1000000"), "-o", tmp_path / "e", "--progress", "json")
    collect("download", server.url("/bytes/1000000?cut=500000&times=9"), "-o", tmp_path / "f", "--retries", "0")
    collect("download", server.url("/bytes/1000000?cut=500000&times=1"), "-o", tmp_path / "g", "--progress", "json")
    collect(
        "download",
        server.url("/bytes/1000?hold=1&gate=go"),
        "-o",
        tmp_path / "h",
        "--background",
        *PATIENT_DOWNLOAD,
        *state,
    )
    collect("jobs", "list", *state)
    server.steer("/_signal?gate=go")
    collect("jobs", "follow", tmp_path / "h", *state)
    digits = hashlib.sha256(pattern(1, 1000)).hexdigest()
    for target, path, digest in (("i", "/bytes/1000", ["--sha256", digits]), ("j", "/status/404", [])):
        collect("download", server.url(path), "-o", tmp_path / target, "--background", *digest, *state)
        collect("jobs", "follow", tmp_path / target, *state)
    collect("jobs", "show", tmp_path / "j", *state)
    collect("jobs", "clean", *state)
    for arguments in ([], ["127.0.0.1"]):
        collect("reach", *arguments)

    # The collection must include the rare ones.
    for name in (
        "length_unverified",
        "retry_after",
        "partial",
        "images",
        "deleted",
        "stored_at",
        "identifier",
        "sha256",
        "upright_width",
        "text",
        "revalidated",
        "seconds_left",
        "reachable",
        "job",
    ):
        assert name in found, name
    assert found - documented(GUIDE) == set()
    missing = {name for name in found if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", MANUAL)}
    assert missing == set()


def test_every_variable_of_the_environment_is_documented() -> None:
    # The guide named none, and the manual listed some that the command does not read.
    read: set[str] = set()
    for path in (ROOT / "Sources").rglob("*.swift"):
        read.update(
            re.findall(
                r'(?:\b[eE]nvironment\[|\benvironment\(|\bgetenv\(|\bvariable\(|\bEnvironment\.trusted\()"(\w+)"',
                path.read_text(),
            )
        )
    assert {"NO_COLOR", "SSLKEYLOGFILE", "WHERRY_AGENT", "XDG_CACHE_HOME", "NO_PROXY"} <= read
    # The library offers these to programs; the command does not use them.
    read -= {"LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "WHERRY_CONFIG"}
    section = GUIDE.split("### Environment\n", 1)[1].split("\n##", 1)[0].split("<!--")[0]
    told = set(re.findall(r"`(\w+)`", section))
    manual = MANUAL.split(".SH ENVIRONMENT", 1)[1].split(".SH ", 1)[0]
    assert read - told == set() and told == set(re.findall(r"\w+", " ".join(re.findall(r"^\.B (.*)", manual, re.M))))
    for name in told:
        found = subprocess.run(["grep", "-rqF", f'"{name}"', str(ROOT / "Sources")])
        assert found.returncode == 0, name
