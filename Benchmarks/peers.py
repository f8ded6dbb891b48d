# Wherry: installs what Benchmarks/run compares Wherry with, and says what it does there
# SPDX-License-Identifier: Apache-2.0
"""The packages of Benchmarks/python/peers.txt, in Benchmarks/.venv, the driver of async-http-client in
Benchmarks/peers-swift, the commands of these HTTP clients, and the programs of Debian packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from typing import FrozenSet, List, NamedTuple, Optional, Sequence

from table import Case, Commands

HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = os.path.join(HERE, "python", "peers.txt")
#: The verbs of Benchmarks/python/bench_peers.py that each HTTP client supports.
VERBS = {
    "pycurl": ("sync", "get", "upload"),
    "aiohttp": ("get", "upload"),
    "httpx": ("sync", "get", "upload"),
    "requests": ("sync", "upload"),
    "pyreqwest": ("sync", "get", "upload"),
    "curl_cffi": ("sync", "get", "upload"),
    "niquests": ("sync", "get", "upload"),
}
WITHOUT_HTTP2 = ("aiohttp", "requests")
#: Clients that send a tenth of the GETs. With 256 in flight, httpx needs 12 ms for each.
SLOW = ("httpx", "niquests")
SWIFT = "async-http-client"
#: The Debian package of each program whose package has another name.
PACKAGES = {"aria2c": "aria2"}


class Peers(NamedTuple):
    """An interpreter, the names of the packages that are installed for it, and the driver of async-http-client."""

    python: str
    names: FrozenSet[str]
    swift: Optional[str] = None


NONE = Peers("", frozenset())


def install() -> Peers:
    """Installs the packages. Prints a message about each that cannot be installed."""
    folder = os.path.join(HERE, ".venv")
    stamp, python = os.path.join(folder, "installed"), os.path.join(folder, "bin", "python")
    with open(WANTED, encoding="utf-8") as file:
        text = file.read()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    options = [word for line in lines if line.startswith("-") for word in line.split()]
    wanted = {line.split("==")[0].split("[")[0]: line for line in lines if not line.startswith("-")}
    everything = Peers(python, frozenset(wanted))
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == text:
                return everything
    try:
        venv.create(folder, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"left out: {', '.join(wanted)}: {error}", file=sys.stderr)
        return NONE
    if pip(python, [*options, *wanted.values()]):
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(text)
        return everything
    found = [name for name, requirement in wanted.items() if pip(python, [*options, requirement])]
    for name in sorted(set(wanted) - set(found)):
        print(f"left out: {name}: it cannot be installed", file=sys.stderr)
    return Peers(python, frozenset(found))


def pip(python: str, words: List[str]) -> bool:
    """Whether pip installs the packages."""
    # Without this variable, urllib3-future replaces urllib3.
    environment = {**os.environ, "URLLIB3_NO_OVERRIDE": "1"}
    return subprocess.run([python, "-m", "pip", "install", "--quiet", *words], env=environment).returncode == 0


def build_swift() -> Optional[str]:
    """Builds the driver of async-http-client. Prints a message if it cannot be built."""
    words = ["swift", "build", "-c", "release", "--package-path", os.path.join(HERE, "peers-swift")]
    try:
        built = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    except OSError as error:
        print(f"left out: {SWIFT}: {error}", file=sys.stderr)
        return None
    if built.returncode != 0:
        errors = [line for line in built.stdout.splitlines() if "error:" in line]
        print(f"left out: {SWIFT}: {errors[0] if errors else built.stdout}", file=sys.stderr)
        return None
    shown = subprocess.run([*words, "--show-bin-path"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return os.path.join(shown.stdout.decode().strip(), "bench-async-http-client")


def install_programs(names: Sequence[str], may_install: bool) -> None:
    """Installs the Debian packages of missing programs, as root. Prints a message about each that stays missing."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing and may_install and os.geteuid() == 0 and shutil.which("apt-get"):
        packages = [PACKAGES.get(name, name) for name in missing]
        install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["apt-get", "update", "-q"], install):
            subprocess.run(words, env=environment, stdout=subprocess.DEVNULL)
    for name in missing:
        if shutil.which(name) is None:
            print(f"left out: {name}: it is not installed", file=sys.stderr)


def commands(peers: Peers, case: Case) -> Commands:
    """The command lines of the HTTP clients that support a case."""
    script = os.path.join(HERE, "python", "bench_peers.py")
    is_http2 = case.verb == "get" and len(case.words) == 4
    found = {}
    if peers.swift:
        found[SWIFT] = [peers.swift, case.verb, *case.words]
    for name, verbs in VERBS.items():
        if name not in peers.names or case.verb not in verbs or is_http2 and name in WITHOUT_HTTP2:
            continue
        words = list(case.words)
        if name in SLOW and case.verb != "upload":
            words[1] = str(int(words[1]) // 10)
        found[name] = [peers.python, script, name, case.verb, *words]
    return found
