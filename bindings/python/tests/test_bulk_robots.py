# Wherry: robots.txt in bulk jobs
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import random
import threading
from typing import Any, Dict, List, Optional, Tuple

import pytest
from conftest import PATIENCE, Server

from wherry.bulk import Download, ItemError, WebDataset, run
from wherry.bulk import _robots as robots
from wherry.bulk._engines.local import LocalEngine
from wherry.bulk._coordination import Coordinator
from wherry.bulk._robots import Robots, RuleCache, Rules


def allows(text: str, path: str, robot: str = "wherry") -> bool:
    return Rules.parse(text, robot).allows("http://a" + path)


@pytest.mark.parametrize(
    "text, allowed",
    [
        ("", True),
        ("User-agent: *\nDisallow: /", False),
        ("user-agent : WHERRY # us\r\ndisallow : /x\r\n", False),
        ("\ufeffUser-agent: *\rDisallow: /x\r", False),
        ("User-agent: *\nDisallow:", True),
        ("Disallow: /x", True),  # belongs to no group
        ("User-agent: *\nDisallow: /\nUser-agent: wherry\nAllow: /", True),  # only the group with the name applies
        ("User-agent: *\nDisallow: /\nUser-agent: wherry\nDisallow: /y", True),
        ("User-agent: wherry\n\nUser-agent: *\nDisallow: /x", False),  # one group for both
        ("User-agent: wherry\nSitemap: http://a/s.xml\nCrawl-delay: 5\nUser-agent: b\nDisallow: /x", False),
        ("User-agent: wherry\nAllow: /y\nUser-agent: b\nAllow: /\nUser-agent: Wherry\nDisallow: /x", False),
        ("User-agent: wherry/1.0\nDisallow: /x", False),
        ("User-agent: wherry bot\nDisallow: /x", False),
        ("User-agent: wher\nDisallow: /x", True),  # another product token
        ("User-agent: wherrybot\nDisallow: /x", True),
        ("User-agent: *\nDisallow: /x #/y", False),
        ("User-agent: *\nno colon\nDisallow: /x", False),
        ("<!doctype html><p>User-agent: *<p>Disallow: /", True),
    ],
)
def test_B5_the_group_of_the_robot_applies(text: str, allowed: bool) -> None:
    assert allows(text, "/x") == allowed


@pytest.mark.parametrize(
    "rules, path, allowed",
    [
        ("Disallow: /fish", "/fish", False),
        ("Disallow: /fish", "/fish.html?id=1", False),
        ("Disallow: /fish", "/Fish", True),
        ("Disallow: /fish", "/catfish", True),
        ("Disallow: /fish/", "/fish", True),
        ("Disallow: /*.php", "/a/b.php?x", False),
        ("Disallow: /*.php$", "/a/b.php", False),
        ("Disallow: /*.php$", "/a/b.php?x", True),
        ("Disallow: /*.php$", "/a.php.php", False),
        ("Disallow: /fish*.php", "/fishheads/catfish.php?p", False),
        ("Disallow: /fish*.php", "/Fish.PHP", True),
        ("Disallow: /a*b*c$", "/aXbXc", False),
        ("Disallow: /a*b*c$", "/aXbX", True),
        ("Disallow: /ab*b$", "/ab", True),  # The same character cannot match twice.
        ("Disallow: *", "/", False),
        ("Disallow: /$", "/", False),
        ("Disallow: /$", "/a", True),
        ("Disallow: /a$b", "/a$b/c", False),
        ("Disallow: /\nAllow: /p", "/page", True),
        ("Allow: /folder\nDisallow: /folder", "/folder/page", True),  # the least restrictive rule of equal length
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        ("Allow: /x\nDisallow: /x/y\nAllow: /x/y/z", "/x/y/z", True),
        ("Disallow: /", "/robots.txt", True),
        # RFC 9309, section 2.2.2
        ("Disallow: /foo/bar?baz=quz", "/foo/bar?baz=quz", False),
        ("Disallow: /foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", False),
        ("Disallow: /foo/bar?baz=https%3a%2f%2ffoo.bar", "/foo/bar?baz=https://foo.bar", False),
        ("Disallow: /foo/bar/ツ", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%E3%83%84", "/foo/bar/ツ", False),
        ("Disallow: /foo/bar/%62%61%7A", "/foo/bar/baz", False),
        ("Disallow: /foo/bar/baz", "/foo/bar/%62%61%7a", False),
        ("Disallow: /a%2Fb", "/a/b", True),  # An encoded slash separates no segments.
        ("Disallow: /a%2Fb", "/a%2fb", False),
        # section 2.2.3
        ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-*.html", False),
        ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-b.html", True),
        ("Disallow: /path/foo-%24", "/path/foo-$", False),
        ("Disallow: /path/foo-%24", "/path/foo-", True),
        # other spellings of a URL
        ("Disallow: /private", "/public/../private/x", False),
        ("Disallow: /private", "//x/../../private/x", False),
        ("Disallow: /", "//evil/./x", False),
        ("Disallow: //evil/x", "//evil/./x", False),
        ("Disallow: /a/$", "/a/b/..", False),
        ("Disallow: /a/$", "/a/.", False),
        ("Disallow: /a", "/../../a", False),
        ("Disallow: /private", "/public/%2e%2e/private/x", False),
        ("Disallow: /private", "/./private", False),
        ("Disallow: /a", "/a#/b", False),
        ("Disallow: /*?", "/a?", False),
        ("Disallow: /*?", "/a#?", True),
        ("Disallow: /100%", "/100%25", False),
        ("Disallow: /a", "/" + "b" * 20_000 + "/a", True),
        ("Disallow: /*b$", "/" + "b" * 20_000, True),  # Only the start of a very long path is compared.
        ("Disallow: /\ud800", "/\udcff", False),
    ],
)
def test_B5_the_longest_pattern_decides(rules: str, path: str, allowed: bool) -> None:
    assert allows("User-agent: *\n" + rules, path) == allowed


def test_B5_the_package_protego_decides_in_the_same_way() -> None:
    protego = pytest.importorskip("protego")
    chance = random.Random(0)

    def path(alphabet: str) -> str:
        return "/" + "".join(chance.choice(alphabet) for _ in range(chance.randint(0, 6)))

    for _ in range(3000):
        lines = ["User-agent: " + chance.choice(["*", "wherry", "other"])]
        for _ in range(chance.randint(1, 5)):
            end = chance.choice(["", "", "$"])
            lines.append(chance.choice(["Allow: ", "Disallow: "]) + path("ab/*") + end)
            if chance.random() < 0.2:
                lines.append("User-agent: " + chance.choice(["*", "wherry", "other"]))
        text = "\n".join(lines)
        for _ in range(5):
            url = "http://a" + path("ab/")
            assert Rules.parse(text, "wherry").allows(url) == protego.Protego.parse(text).can_fetch(url, "wherry"), (
                text, url,
            )  # fmt: skip


def test_B5_hostile_rules_are_compared_quickly() -> None:
    # With regular expressions or recursion, this would take longer than the universe exists.
    text = "User-agent: *\n" + "Disallow: /" + "*a" * 200_000 + "b\n" + "Disallow: /*" + "*" * 100_000 + "$\n"
    assert not allows(text, "/" + "a" * 10_000)


# Sites and caches


def test_B5_a_site_is_a_scheme_host_and_port() -> None:
    assert [robots.site_of(url) for url in ("http://u:p@A.b:80/x", "https://[::1]:8/", "ftp://a/", "x", "http://[")] == [
        "http://a.b:80", "https://[::1]:8", "", "", "",
    ]  # fmt: skip


def test_B5_a_cache_forgets_the_rules_that_were_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "SITES", 2)
    cache, rules = RuleCache(), Rules(((False, "/x"),))
    for site in ("a", "b"):
        cache.put(0, site, 10, rules)
    assert cache.get(5, "a") == (5, rules)
    cache.put(5, "c", 10, rules)
    assert cache.get(5, "b") is None and cache.get(20, "a") == (-10, rules)
    monkeypatch.setattr(robots, "BYTES", rules.size)
    cache.put(5, "c", 10, rules)
    assert cache.get(5, "a") is None and cache.get(5, "c") is not None


class Site:
    """Downloads rules, and counts the downloads."""

    def __init__(self, *results: Tuple[float, Rules]) -> None:
        self.results = list(results)
        self.count = 0

    async def fetch(self, site: str) -> Tuple[float, Rules]:
        self.count += 1
        await asyncio.sleep(0)
        return self.results.pop(0)


def test_B5_items_wait_for_one_download_of_the_rules() -> None:
    site = Site((10, Rules()))
    found = Robots(RuleCache())

    async def main() -> None:
        await asyncio.gather(*[found.check(f"http://a/{n}", site.fetch) for n in range(5)])

    asyncio.run(main())
    assert site.count == 1


def test_B5_expired_rules_apply_while_the_file_is_unreachable() -> None:
    now = [0.0]
    denied = Rules(((False, "/x"),))
    site = Site((10, denied), (10, Rules(failure=("robots_unreachable", "503"))), (10, Rules()))
    found = Robots(RuleCache(), lambda: now[0])

    async def reason(path: str) -> Optional[str]:
        try:
            await found.check("http://a" + path, site.fetch)
        except ItemError as error:
            return error.reason
        return None

    async def main() -> None:
        for time_now, count in ((0, 1), (9, 1), (10, 2), (19, 2)):
            now[0] = time_now
            assert (await reason("/x"), await reason("/y"), site.count) == ("robots_denied", None, count)
        now[0] = 20
        assert await reason("/x") is None

    asyncio.run(main())


def test_B5_workers_share_the_rules_that_they_downloaded() -> None:
    now = [0.0]
    coordinator = Coordinator(1, clock=lambda: now[0])
    first, second = (Robots(RuleCache(), lambda: now[0]) for _ in range(2))
    site = Site((100, Rules(((False, "/x"),))))
    asyncio.run(first.check("http://a/", site.fetch))
    coordinator.exchange("first", first.report())
    now[0] = 60

    second.foresee("http://a/x")  # The rules are unknown: asks for them.
    second.learn(coordinator.exchange("second", second.report())["rules"])
    with pytest.raises(ItemError, match="http://a/robots.txt disallows"):
        second.foresee("http://a/x")
    second.foresee("http://a/y")
    assert second.report() == {"sites": [], "rules": {}}
    now[0] = 100
    second.foresee("http://a/x")  # expired, also at the coordinator
    assert coordinator.exchange("second", second.report())["rules"] == {} and site.count == 1


def test_B5_reports_survive_message_formats() -> None:
    msgpack = pytest.importorskip("msgpack")
    for rules in (Rules(((True, "/a*$"), (False, "/"))), Rules(failure=("robots_unreachable", "why"))):
        assert Rules.from_values(msgpack.unpackb(msgpack.packb(rules.values()))) == rules


# Jobs


def job(
    server: Server, source: Any, folder: Any, engine: Any = "local", shard_size: int = 1000, **step: Any
) -> Any:  # fmt: skip
    settings: Dict[str, Any] = {"deny_addresses": None, "headers": {"X-Test-Key": server.key}, "timeout": 600, **step}
    return run(
        source, [Download(total_timeout=3600, **settings)], WebDataset(folder), engine, workers=1,
        shard_size=shard_size, progress=False, report=False,
    )  # fmt: skip


def robots_txt(server: Server, *steps: Any) -> None:
    server.script("robots.txt", [{"body": step} if isinstance(step, str) else step for step in steps])


def asked(server: Server) -> List[str]:
    """The paths of the requests, without the parameters."""
    return [entry["target"].partition("?")[0] for entry in server.log()]


def test_B5_disallowed_items_fail_without_a_request(server: Server, tmp_path: Any) -> None:
    robots_txt(server, "User-agent: wherry\nDisallow: /bytes/2\n")
    urls = [server.url(f"/bytes/{size}") for size in (1, 2, 3)]
    result = job(server, urls, tmp_path / "a")

    assert result.statistics.failures == {"robots_denied": 1} and result.statistics.succeeded == 2
    assert sorted(asked(server)) == ["/bytes/1", "/bytes/3", "/robots.txt"]
    other = job(server, urls, tmp_path / "b", user_agent_token="examplebot")
    ignoring = job(server, urls, tmp_path / "c", robots=False)
    assert other.statistics.succeeded == ignoring.statistics.succeeded == 3
    assert asked(server).count("/robots.txt") == 2


def test_B5_a_worker_asks_once_for_all_of_its_shards(server: Server, tmp_path: Any) -> None:
    robots_txt(server, "User-agent: *\nDisallow: /x\n")
    urls = [server.url(f"/bytes/{size}") for size in range(12)]
    assert job(server, urls, tmp_path, shard_size=3).statistics.succeeded == 12
    assert asked(server).count("/robots.txt") == 1


class Watched(LocalEngine):
    """Tells when a worker has reported rules."""

    def start(self, job: Any, limit: int) -> None:
        super().start(job, limit)
        self.reported = threading.Event()
        exchange = self._coordinator.exchange

        def watched(worker: str, report: Any) -> Any:
            reply = exchange(worker, report)
            if report.get("rules"):
                self.reported.set()
            return reply

        self._coordinator.exchange = watched  # type: ignore[method-assign]


def test_B5_a_worker_learns_the_rules_from_another(server: Server, tmp_path: Any) -> None:
    gate = server.gate()
    robots_txt(server, "User-agent: *\nDisallow: /bytes/2\n")
    engine = Watched(2)

    def source() -> Any:
        yield server.url("/bytes/1", gate=gate)
        assert engine.reported.wait(PATIENCE)  # The first worker still has its item.
        yield from [server.url("/bytes/2"), server.url("/bytes/3")]
        server.open_gate(gate)

    result = job(server, source(), tmp_path, engine=engine, shard_size=1)
    assert result.statistics.failures == {"robots_denied": 1} and result.statistics.succeeded == 2
    assert asked(server).count("/robots.txt") == 1


@pytest.mark.parametrize(
    "step, failures",
    [
        ({"status": 404}, {}),
        ({"status": 403, "body": "User-agent: *\nDisallow: /"}, {}),
        ({"status": 500}, {"robots_unreachable": 1}),
        ({"status": 429}, {"robots_unreachable": 1}),
        ({"raw": [["drop"]]}, {"connection_reset": 1}),
        ({"status": 302, "headers": [["Location", "/robots.txt"]]}, {}),  # a loop
        ({"body": "User-agent: *\nDisallow: /x\n" + "#" * 600_000 + "\nDisallow: /bytes"}, {}),  # only 500 KiB count
        ({"body": "#" * 500_000 + "\nUser-agent: *\nDisallow: /bytes\n"}, {"robots_denied": 1}),
        ({"body": ""}, {}),
        ({"body_base64": "/////w=="}, {}),
    ],
)
def test_B5_each_response_to_robots_txt_permits_or_forbids(
    server: Server, tmp_path: Any, step: Any, failures: Dict[str, int]
) -> None:
    robots_txt(server, step)
    result = job(server, [server.url("/bytes/1")], tmp_path, retries=0)
    assert result.statistics.failures == failures
    assert ("/bytes/1" in asked(server)) == (failures == {})


def test_B5_robots_txt_is_read_after_redirects(server: Server, tmp_path: Any) -> None:
    moved = server.url("/s/moved")
    server.script("moved", [{"body": "User-agent: *\nDisallow: /bytes/1"}])
    robots_txt(server, {"status": 301, "headers": [["Location", moved]]})
    result = job(server, [server.url("/bytes/1"), server.url("/bytes/2")], tmp_path)
    assert result.statistics.failures == {"robots_denied": 1} and result.statistics.succeeded == 1


def test_B5_the_target_of_a_redirect_is_checked(server: Server, tmp_path: Any) -> None:
    robots_txt(server, "User-agent: *\nDisallow: /bytes/2\n")
    urls = [server.url("/redirect-to", url=server.url(f"/bytes/{size}")) for size in (1, 2)]
    result = job(server, urls, tmp_path / "a")
    assert result.statistics.failures == {"robots_denied": 1} and result.statistics.succeeded == 1
    assert "/bytes/2" not in asked(server)
    assert job(server, urls, tmp_path / "b", robots=False).statistics.succeeded == 2


def test_B5_robots_txt_of_a_private_address_is_not_requested(server: Server, tmp_path: Any) -> None:
    result = job(server, [server.url("/bytes/1")], tmp_path, deny_addresses="not_public")
    assert result.statistics.failures == {"address_denied": 1} and server.log() == []


def test_B5_robots_txt_is_requested_again_after_Retry_After(server: Server, tmp_path: Any) -> None:
    busy = {"status": 503, "headers": [["Retry-After", "0"]]}
    robots_txt(server, busy, "User-agent: *\nDisallow: /bytes/2\n")
    result = job(server, [server.url("/bytes/1"), server.url("/bytes/2")], tmp_path)
    assert result.statistics.failures == {"robots_denied": 1} and asked(server).count("/robots.txt") == 2


@pytest.mark.parametrize(
    "header, seconds",
    [("", 86400), ("max-age=3600", 3600), ("public, MAX-AGE=1", 300), ("max-age=99999999", 86400), ("no-store", 86400)],
)
def test_B5_rules_are_kept_as_long_as_Cache_Control_says(header: str, seconds: float) -> None:
    assert robots._lifetime(header) == seconds
