# Wherry: the part of scripts/demo that runs after the build
# SPDX-License-Identifier: Apache-2.0
"""Demonstrates and checks requests, uploads, and a download that resumes after being killed."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import Any, NoReturn

ROOT = pathlib.Path(__file__).resolve().parents[1]
WHERRY = ROOT / ".build/debug/wherry-cli"
PHOTOS = pathlib.Path("/usr/share/backgrounds")
SIZE = 256 << 20
RATE = 80 << 20  # bytes per second: slow enough to watch
GUARD = 180  # seconds: a guard against hangs

COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
# Progress goes to the terminal, or to stdout if stderr is not a terminal.
ERRORS = None if sys.stderr.isatty() else subprocess.STDOUT
facts: list[tuple[bool, str]] = []


def paint(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if COLOUR else text


def say(text: str = "") -> None:
    print(text, flush=True)


def heading(text: str) -> None:
    say("\n" + paint(text, "1"))


def show(*words: object) -> None:
    """Prints a command as it would be typed."""
    say(paint("$ " + shlex.join(str(word) for word in words), "2"))


def prove(holds: bool, what: str) -> None:
    facts.append((holds, what))
    say(("  " + paint("✓", "32") if holds else "  " + paint("✗", "31")) + " " + what)


def human(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"


class Server:
    """The test server as a child process; it exits with this program."""

    def __init__(self, saved: pathlib.Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "wherry_testserver", "--port", "0", "--save-dir", str(saved)],
            cwd=ROOT / "Tests/TestServer",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout
        self.base = f"http://127.0.0.1:{json.loads(self.process.stdout.readline())['port']}"

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(self.base + path, timeout=GUARD) as answer:
            return answer.read()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(GUARD)


def wherry(*words: object) -> tuple[int, Any]:
    """Runs the command and returns its JSON output."""
    done = subprocess.run(
        [str(WHERRY), *map(str, words), "--json-output"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        timeout=GUARD,
    )
    return done.returncode, json.loads(done.stdout)


def requests(server: Server) -> None:
    heading("1. JSON requests")
    url = f"{server.base}/echo"
    body = {"text": "hello from the shell", "n": 9007199254740993}
    show("wherry", "post", url, "--param", "page=2", "--json", json.dumps(body))
    status, result = wherry("post", url, "--param", "page=2", "--json", json.dumps(body))
    seen = result.get("json", {})
    say(f"  the server saw {seen.get('method')} {seen.get('target')} with {json.dumps(seen.get('json'))}")
    prove(
        status == 0 and seen.get("json") == body and seen.get("query") == [["page", "2"]],
        "JSON was sent and received, with exact 64-bit numbers",
    )

    show("wherry", "get", f"{server.base}/status/404")
    status, result = wherry("get", f"{server.base}/status/404?body=no+such+note")
    say(f"  {result.get('error', {}).get('message')}; body: {result.get('text')}")
    prove(status == 3 and result.get("text") == "no such note", "an HTTP error status is an error with exit status 3")


def uploads(server: Server, saved: pathlib.Path) -> None:
    heading("2. Compressed image uploads")
    photos = sorted(PHOTOS.rglob("*.jpg"), key=lambda path: path.stat().st_size, reverse=True)[:2]
    url = f"{server.base}/upload-photo"
    show("wherry", "upload", url, *photos, "--quality", "0.5")
    done = subprocess.run(
        [str(WHERRY), "upload", url, *map(str, photos), "--quality", "0.5"],
        stdout=subprocess.PIPE,
        stderr=None if sys.stderr.isatty() else sys.stdout,
        stdin=subprocess.DEVNULL,
        timeout=GUARD,
    )
    files = json.loads(done.stdout)["files"] if done.returncode == 0 else []
    before = sum(path.stat().st_size for path in photos)
    after = sum(file["size"] for file in files)
    kept = {hashlib.sha256(path.read_bytes()).hexdigest() for path in saved.rglob("*") if path.is_file()}
    prove(
        len(photos) == 2 and len(files) == 2 and kept >= {file["sha256"] for file in files},
        "the server has both images, byte for byte as they were sent",
    )
    prove(
        0 < after < before / 2,
        f"{human(before)} compressed to {human(after)}: {100 - 100 * after // max(1, before)} % saved",
    )


def downloads(server: Server, folder: pathlib.Path) -> None:
    heading("3. A download of 256 MiB, killed in the middle")
    url = f"{server.base}/bytes/{SIZE}?rate={RATE}&key=demo"
    target = folder / "big.bin"
    command = [str(WHERRY), "download", url, "-o", str(target)]
    wanted = server.ask(f"/digest/{SIZE}").decode().strip()
    show("wherry", "download", url, "-o", target.name)
    began = time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=ERRORS)
    try:
        server.ask(f"/_wait?sent={SIZE * 55 // 100}&key=demo&timeout={GUARD}")
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(GUARD)
    if sys.stderr.isatty():
        print(file=sys.stderr)  # ends the line of the unfinished progress bar
    say(paint(f"  kill -9 {child.pid}", "31"))
    left = sorted(path.name for path in folder.iterdir())
    prove(
        child.returncode == -signal.SIGKILL and not target.exists() and len(left) == 2,
        f"killed after {time.monotonic() - began:.1f} s; the file does not exist yet, only " + ", ".join(left),
    )

    show("wherry", "download", url, "-o", target.name, "--sha256", wanted[:12] + "...")
    again = subprocess.run([*command, "--sha256", wanted], stdin=subprocess.DEVNULL, stderr=ERRORS, timeout=GUARD)
    log = json.loads(server.ask("/_log?key=demo"))["requests"]
    asked = next((value for name, value in log[-1]["headers"] if name.lower() == "range"), "nothing")
    prove(
        again.returncode == 0 and asked.startswith("bytes=") and asked != "bytes=0-",
        f"the same command resumed the download: it requested {asked}",
    )
    digest = hashlib.sha256()
    if target.exists():
        with target.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    prove(digest.hexdigest() == wanted, f"its SHA-256 matches the server's file: {wanted[:16]}...")
    prove([path.name for path in folder.iterdir()] == [target.name], "no other file is left in the folder")


def languages(server: Server) -> None:
    heading("4. The same GET from C and from Python, through libwherry.so")
    url = f"{server.base}/text/hello"
    expected = server.ask("/text/hello")
    python = "import sys, wherry; sys.stdout.buffer.write(wherry.get(sys.argv[1]).content)"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "bindings/python/src"),
        "WHERRY_LIBRARY": str(ROOT / "build/libwherry.so"),
    }
    for name, line, command in (
        ("C", f"build/demo-get {url}", [str(ROOT / "build/demo-get"), url]),
        (
            "Python",
            f"python3 -c 'import wherry; print(wherry.get(\"{url}\").text)'",
            [sys.executable, "-c", python, url],
        ),
    ):
        say(paint("$ " + line, "2"))
        done = subprocess.run(command, capture_output=True, env=environment, timeout=GUARD)
        if done.returncode != 0:
            say("  " + done.stderr.decode(errors="replace").strip())
        prove(done.returncode == 0 and done.stdout == expected, f"{name} got {len(done.stdout)} bytes, as expected")


def main() -> int:
    began = time.monotonic()
    if shutil.disk_usage(tempfile.gettempdir()).free < 2 * SIZE:
        say(f"the demo needs {human(2 * SIZE)} of free space in {tempfile.gettempdir()}")
        return 1
    with tempfile.TemporaryDirectory(prefix="wherry-demo-") as place:
        saved, folder = pathlib.Path(place) / "saved", pathlib.Path(place) / "downloads"
        saved.mkdir()
        folder.mkdir()
        server = Server(saved)
        try:
            requests(server)
            uploads(server, saved)
            downloads(server, folder)
            languages(server)
        finally:
            server.close()
    wrong = [what for holds, what in facts if not holds]
    heading("Summary")
    if wrong:
        say(f"{len(wrong)} of {len(facts)} checks failed: " + "; ".join(wrong))
        return 1
    say(f"all {len(facts)} checks passed in {time.monotonic() - began:.0f} s. Try: .build/debug/wherry-cli --help")
    return 0


def stopped(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stopped)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
