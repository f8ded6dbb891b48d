# Wherry: rows N1-N13 from Python, in separate network namespaces
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from typing import Any, List

import pytest
from conftest import PATIENCE

import wherry

ALONE = ["unshare", "-n"]
can_leave = os.geteuid() == 0 and subprocess.run([*ALONE, "true"], check=False).returncode == 0
needs_namespace = pytest.mark.skipif(not can_leave, reason="a network namespace needs root")

PREFACE = """
import asyncio, subprocess, sys, threading
import wherry
def ip(words):
    subprocess.run(["ip", *words.split()], check=True)
def link(name="cable"):
    ip(f"link add {name} type veth peer name peer")
    ip(f"address add 10.9.0.1/24 dev {name}")
    ip("link set peer up")
    ip(f"link set {name} up")
    ip("route add default via 10.9.0.2")
def one(monitor):
    (change,) = monitor.poll(600)
    return change
NONE, WWAN, WIFI = wherry.NOT_REACHABLE, wherry.REACHABLE_VIA_WWAN, wherry.REACHABLE_VIA_WIFI
"""


def apart(program: str) -> str:
    """Runs a program in a namespace without a network."""
    source = PREFACE + textwrap.dedent(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*ALONE, sys.executable, "-W", "error", "-c", source], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_N1_N8_statuses_have_numbers_and_texts() -> None:
    """N1 and N8: AFNetworking's numbers and texts; Chinese, and a table that overrides the texts."""
    numbers = (wherry.UNKNOWN, wherry.NOT_REACHABLE, wherry.REACHABLE_VIA_WWAN, wherry.REACHABLE_VIA_WIFI)
    assert numbers == (-1, 0, 1, 2)
    assert [wherry.reach_text(n) for n in numbers] == [
        "Unknown", "Not Reachable", "Reachable via WWAN", "Reachable via WiFi",
    ]  # fmt: skip
    assert wherry.reach_text(2, "zh") == "通过WiFi连接"
    wherry.set_reach_text(2, "fr", "Joignable")
    assert wherry.reach_text(2, "fr_FR") == "Joignable"
    wherry.set_reach_text(2, "fr", None)
    assert wherry.reach_text(2, "fr") == "Reachable via WiFi"


def test_N8_texts_name_the_interface() -> None:
    """N8: a wired route reads Ethernet, not WiFi; the locale of Taiwan reads traditional Chinese."""
    assert wherry.reach_text(2, interface="wired") == "Reachable via Ethernet"
    assert wherry.reach_text(0, "zh_TW") == "無法連線"
    change = wherry.ReachabilityChange(None, 2, -1, "wired")
    assert str(change) == "Reachable via Ethernet"


def test_N3_N4_N9_a_program_can_report_to_a_monitor() -> None:
    """N3, N4 and N9: a monitor fed by the program; getters, old and new."""
    heard: List[wherry.ReachabilityChange] = []
    monitor = wherry.Reachability(reported=True, callback=heard.append)
    assert (monitor.status, monitor.is_reachable, monitor.interface) == (-1, False, "none")
    with monitor:
        monitor.report(wherry.REACHABLE_VIA_WWAN)
        (change,) = monitor.poll(PATIENCE)
        assert heard == [change]
        assert (change.old, change.status, change.interface) == (-1, 1, "wwan")
        assert str(change) == "Reachable via WWAN" and change.target is None
        assert monitor.is_reachable and monitor.is_reachable_via_wwan
        assert not monitor.is_reachable_via_wifi
        assert monitor.wait_until_reachable(timeout=PATIENCE)
        monitor.report(wherry.REACHABLE_VIA_WIFI)
        assert [(c.old, c.status) for c in monitor.poll(PATIENCE)] == [(1, 2)]
        assert monitor.is_reachable_via_wifi
        assert monitor.poll() == []
    with pytest.raises(wherry.StateError):
        monitor.start()
    with pytest.raises(wherry.ArgumentError):
        wherry.Reachability("example.org", reported=True)


@pytest.mark.parametrize("target", ["http://example.org", "", "a b", "h:80"])
def test_N3_an_invalid_target_fails_at_once(target: str) -> None:
    """N3: a target that is neither a host nor an address fails at once."""
    with pytest.raises(wherry.ArgumentError) as caught:
        wherry.Reachability(target)
    assert caught.value.reason == "bad_value"


def test_N5_the_status_is_known_when_start_returns() -> None:
    """N5: this machine is reachable over loopback, which is known when start returns."""
    with wherry.Reachability("127.0.0.1", initial_sync=True) as monitor:
        assert monitor.is_reachable_via_wifi
        assert (monitor.interface, monitor.interface_name) == ("loopback", "lo")
        assert [c.status for c in monitor.poll(PATIENCE)] == [2]
    with pytest.raises(wherry.ArgumentError):
        wherry.set_interface("", "wwan")


def test_N12_a_reachability_probe_requires_a_response_from_a_server(server: Any) -> None:
    """N12: a route alone is not enough, a server must respond; a redirect comes from another
    server.
    """
    for probe, status in (
        (server.url("/echo"), 2), (server.url("/status/500"), 0),
        (server.url("/redirect/302?to=/echo"), 0),
        ("tcp://" + server.base.split("//")[1], 2), ("tcp://127.0.0.1:9", 0),
    ):  # fmt: skip
        with wherry.Reachability("127.0.0.1", probe=probe) as monitor:
            assert [c.status for c in monitor.poll(PATIENCE)] == [status], probe


@needs_namespace
def test_N6_N7_N2_N5_each_change_is_reported_once_to_its_monitor_and_to_observers_of_all() -> None:
    """N2, N5, N6 and N7: each change is reported once, to the monitor and to observers of all
    monitors.
    """
    apart("""
        with wherry.ReachabilityObserver() as everything, wherry.Reachability() as monitor:
            assert (one(monitor).status, monitor.interface_name) == (NONE, "")
            link()
            change = one(monitor)
            assert (change.old, change.status, change.interface) == (NONE, WIFI, "wired"), change
            assert monitor.interface_name == "cable"
            ip("address add 10.9.0.7/24 dev cable")
            told = [NONE, WIFI]
            for flip in range(100):
                ip("link set peer " + ("up" if flip % 2 else "down"))
                told.append(one(monitor).status)
            assert told == [NONE, WIFI] + [NONE, WIFI] * 50, told
            heard = []
            while len(heard) < len(told):
                heard += [change.status for change in everything.poll(600)]
            assert heard == told
            monitor.stop()
            ip("link set cable down")
            assert monitor.poll() == [] and monitor.status == WIFI
    """)


@needs_namespace
def test_N2_mobile_networks_are_detected_by_name_and_by_rule() -> None:
    """N2: mobile networks by name and by rule."""
    apart("""
        link("wwan0")
        with wherry.Reachability("192.0.2.1") as monitor:
            change = one(monitor)
            assert (change.status, change.interface, change.target) == (WWAN, "wwan", "192.0.2.1")
            ip("link del wwan0")
            assert one(monitor).status == NONE
            wherry.set_interface("usb*", "wwan")
            link("usb1")
            assert one(monitor).status == WWAN
    """)


@needs_namespace
def test_N13_N10_a_wait_ends_when_the_link_is_up() -> None:
    """N13 and N10: a wait ends when the link is up; the client has a separate monitor."""
    apart("""
        client = wherry.Client()
        monitor = client.reachability
        assert monitor is client.reachability
        assert monitor.status == wherry.UNKNOWN
        assert not monitor.wait_until_reachable(timeout=0.05)
        thread = threading.Thread(target=link)
        thread.start()
        assert monitor.wait_until_reachable(timeout=600)
        thread.join()
        assert monitor.status == WIFI
        client.close()
    """)


@needs_namespace
def test_N6_N13_the_event_loop_gets_changes_and_can_wait() -> None:
    """N6 and N13 with asyncio: changes in the event loop, and a wait that does not block it."""
    apart("""
        async def main():
            heard = []
            with wherry.Reachability(callback=lambda change: heard.append(change.status)) as monitor:
                assert not await monitor.wait_until_reachable_async(timeout=0.05)
                waiting = asyncio.ensure_future(monitor.wait_until_reachable_async())
                seen = []
                async for change in monitor:
                    seen.append(change.status)
                    if change.status == NONE:
                        await asyncio.get_running_loop().run_in_executor(None, link)
                    else:
                        break
                assert seen == [NONE, WIFI] and heard == seen, (seen, heard)
                assert await waiting
        asyncio.run(main())
    """)


@needs_namespace
def test_N11_names_are_looked_up(tmp_path: Any) -> None:
    """N11: a name is looked up; without a DNS response or an address it is not reachable."""
    hosts, resolver = tmp_path / "hosts", tmp_path / "resolv.conf"
    hosts.write_text("10.9.0.2 known.test\n127.0.0.1 localhost\n")
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    program = PREFACE + textwrap.dedent("""
        with wherry.Reachability("known.test") as known, wherry.Reachability("unknown.test") as unknown:
            assert one(known).status == NONE
            assert one(unknown).status == NONE
            ip("link set lo up")
            link()
            assert one(known).status == WIFI
            assert unknown.status == NONE
    """)
    script = (
        f"mount --make-rprivate / && mount --bind {hosts} /etc/hosts"
        f' && mount --bind {resolver} /etc/resolv.conf && exec "$@"'
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        ["unshare", "-n", "-m", "sh", "-c", script, "sh", sys.executable, "-c", program],
        env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@needs_namespace
def test_R30_a_request_waits_for_the_network() -> None:
    """R30: the request is sent when a route exists; without the setting it fails at once, and after
    a wait in vain it is offline.
    """
    apart("""
        import http.server
        server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), http.server.BaseHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        with wherry.Client(trust_env=False) as client:
            for options, reason in (({}, "connect"), ({"wait_for_network": 0.05}, "offline")):
                try:
                    client.get(url, **options)
                except wherry.NetworkError as error:
                    assert error.reason == reason, error
                else:
                    raise AssertionError(reason)
            waiting = threading.Timer(0, ip, ("link set lo up",))
            waiting.start()
            assert client.get(url, wait_for_network=600).status_code == 501
            waiting.join()
        server.shutdown()
    """)


@needs_namespace
def test_C13_metered_requests_avoid_mobile_networks() -> None:
    """C13: a request that may not use a mobile network fails without a connection."""
    apart("""
        link("wwan0")
        with wherry.Client(trust_env=False, deny_metered=True) as client:
            for url in ("http://192.0.2.1/", "http://10.9.0.2/"):
                try:
                    client.get(url)
                except wherry.NetworkError as error:
                    assert error.reason == "metered", error
                else:
                    raise AssertionError(url)
    """)


@needs_namespace
def test_D13_a_download_survives_a_lost_network(tmp_path: Any) -> None:
    """D13: the link goes down halfway and comes back: one success, without lost bytes."""
    apart(f"""
        import http.server, pathlib
        size, half = 1_000_000, threading.Event()
        content = bytes(range(250)) * (size // 250)
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *_): pass
            def do_GET(self):
                span = self.headers.get("Range")
                start = int(span[6:].split("-")[0]) if span else 0
                self.send_response(206 if span else 200)
                self.send_header("ETag", '"one"')
                if span:
                    self.send_header("Content-Range", f"bytes {{start}}-{{size - 1}}/{{size}}")
                self.send_header("Content-Length", str(size - start))
                self.end_headers()
                if span:
                    self.wfile.write(content[start:])
                    return
                self.wfile.write(content[:400_000])
                self.wfile.flush()
                half.set()
                gone.wait()
                self.connection.close()
        gone = threading.Event()
        ip("link set lo up")
        server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target = pathlib.Path({str(tmp_path)!r}) / "file"
        def flip():
            half.wait()
            ip("link set lo down")
            gone.set()
            ip("link set lo up")
        flipping = threading.Thread(target=flip)
        flipping.start()
        with wherry.Client(trust_env=False) as client:
            client.download(
                f"http://127.0.0.1:{{server.server_port}}/", target, stall_timeout=1, segments=1)
        flipping.join()
        assert target.read_bytes() == content
    """)


@pytest.mark.parametrize("kind", ["Reachability", "ReachabilityObserver"])
@pytest.mark.parametrize("is_thread", [False, True])
def test_N6_closing_ends_a_waiting_iteration(kind: str, is_thread: bool) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        monitor: Any = getattr(wherry, kind)(**{"reported": True} if kind == "Reachability" else {})
        if kind == "Reachability":
            monitor.start()
        reading = asyncio.ensure_future(monitor.__anext__())
        # The iteration is waiting once the loop has reached this line.
        await asyncio.sleep(0)
        assert monitor._queue._waits and not reading.done()
        if is_thread:
            await loop.run_in_executor(None, monitor.close)
        else:
            await asyncio.ensure_future(closed(monitor))
        with pytest.raises(StopAsyncIteration):
            await reading
        assert not monitor._queue._waits
        with pytest.raises(StopAsyncIteration):
            await monitor.__anext__()
        with pytest.raises(wherry.StateError):
            monitor.poll()

    asyncio.run(main())


async def closed(what: Any) -> None:
    what.close()


def test_N13_closing_ends_a_wait_for_the_network() -> None:
    async def main() -> None:
        monitor = wherry.Reachability(reported=True)
        waiting = asyncio.ensure_future(monitor.wait_until_reachable_async())
        await asyncio.sleep(0)
        assert not waiting.done()
        monitor.close()
        with pytest.raises(wherry.StateError, match="closed"):
            await waiting

    asyncio.run(main())
