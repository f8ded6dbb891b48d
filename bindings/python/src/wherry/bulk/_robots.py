# Wherry: robots.txt in bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""`Rules` are the rules of one robots.txt file for one robot (RFC 9309); `Robots` finds the rules of each site.

A worker downloads the file of a site once, and keeps the rules of all of its shards. The coordinator passes the rules on
to the other workers.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from .. import WherryError
from ._items import ItemError

#: The maximum size of robots.txt; the remaining bytes are ignored.
MAX_BYTES = 500 * 1024
#: The maximum number of redirects of robots.txt. A file with more redirects counts as missing.
MAX_REDIRECTS = 5
#: The minimum and maximum time in seconds for which rules are kept, whatever Cache-Control says.
SHORTEST, LONGEST = 300.0, 86_400.0
#: The number of sites whose rules a worker or the coordinator keeps, and the maximum size of these rules.
SITES, BYTES = 100_000, 64 * 1024 * 1024
#: The maximum size of rules that workers share; see `Rules.size`.
SHARED = 16 * 1024

#: Characters of paths that are compared as they are. RFC 3986 calls them unreserved, or permits them in paths.
_PLAIN = "/:@!&'()+,;=?[]"
_NAME = re.compile(r"[^\s/*;,]+")
#: The maximum length of a path that rules are compared with.
_LONGEST_PATH = 16 * 1024

#: The seconds for which rules are valid, and `Rules.values`.
Shared = List[Any]


@dataclass(frozen=True)
class Rules:
    """The rules of a robots.txt file that apply to one robot.

    ``patterns``  (allow, pattern) pairs, the longest pattern first; the first pattern that matches a path decides
    ``failure``   the reason and the message of the failure if the file could not be downloaded, which disallows everything
    """

    patterns: Tuple[Tuple[bool, str], ...] = ()
    failure: Optional[Tuple[str, str]] = None

    @classmethod
    def parse(cls, text: str, robot: str) -> Rules:
        """Returns the rules for ``robot``: those of all groups that name it, or else of all groups for ``*``."""
        own: List[Tuple[bool, str]] = []
        general: List[Tuple[bool, str]] = []
        is_named = False
        groups: List[List[Tuple[bool, str]]] = []  # the lists to which the rules of the current group belong
        in_names = False
        for key, value in _lines(text):
            if key == "user-agent":
                if not in_names:
                    groups = []
                in_names = True
                name = _NAME.match(value)
                if value.startswith("*"):
                    groups.append(general)
                elif name is not None and name[0].lower() == robot.lower():
                    groups.append(own)
                    is_named = True
            elif key in ("allow", "disallow"):
                in_names = False
                if value:
                    for group in groups:
                        group.append((key == "allow", _canonical(value, is_pattern=True)))
        found = dict.fromkeys(own if is_named else general)
        return cls(tuple(sorted(found, key=lambda rule: (-len(rule[1]), not rule[0]))))

    def allows(self, url: str) -> bool:
        """Whether the rules permit a request for an absolute URL."""
        if self.failure is not None:
            return False
        if not self.patterns:
            return True
        path = path_of(url)
        if path == "/robots.txt":
            return True
        return next((allow for allow, pattern in self.patterns if _matches(pattern, path)), True)

    def values(self) -> List[Any]:
        """The rules as values that JSON and MessagePack can represent."""
        return [[list(rule) for rule in self.patterns], list(self.failure) if self.failure else None]

    @classmethod
    def from_values(cls, values: Sequence[Any]) -> Rules:
        """Returns the rules with these `values`."""
        patterns, failure = values
        return cls(
            tuple((bool(allow), str(pattern)) for allow, pattern in patterns), tuple(failure) if failure else None
        )

    @property
    def size(self) -> int:
        """The approximate size of the rules in memory in bytes."""
        return 500 + sum(120 + len(pattern) for _, pattern in self.patterns)


def _lines(text: str) -> Any:
    for line in re.split(r"[\r\n]+", text.lstrip("\ufeff")):
        key, _, value = line.partition("#")[0].partition(":")
        yield key.strip().lower(), value.strip()


def _canonical(text: str, is_pattern: bool) -> str:
    """Returns a path or pattern in the form in which both are compared (RFC 9309, section 2.2.2).

    Percent-encoded characters are decoded, except "/" in a path, "%", "*", and "$". All others are encoded.
    """
    end = ""
    if is_pattern and text.endswith("$"):
        text, end = text[:-1], "$"
    path, mark, query = text.partition("?")
    special = "*" if is_pattern else ""
    return _encoded(path, "%2f%25%2a%24", special) + mark + _encoded(query, "%25%2a%24", special) + end


def _encoded(text: str, kept: str, special: str) -> str:
    parts = re.split(f"((?:{kept.replace('%', '|%')[1:]}))", text, flags=re.IGNORECASE)
    return "".join(
        part.upper()
        if place % 2
        else quote_from_bytes(unquote_to_bytes(part.encode("utf-8", "replace")), safe=_PLAIN + special)
        for place, part in enumerate(parts)
    )


def _without_dots(path: str) -> str:
    """Removes the dot segments of an absolute path (RFC 3986, section 5.2.4).

    `urllib.parse.urljoin` cannot: it takes "//a" for a host.
    """
    kept: List[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        if part == "..":
            kept[-1:] = []
        elif part != ".":
            kept.append(part)
    if parts[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def path_of(url: str) -> str:
    """Returns the path and query of a URL as rules are compared with it, without dot segments."""
    parts = urlsplit(url)
    path = _canonical(parts.path or "/", is_pattern=False)
    if "/." in path:
        path = _without_dots(path)
    if "?" in url.partition("#")[0]:
        path += _canonical("?" + parts.query, is_pattern=False)
    # The end of a longer path is replaced by a character that no pattern has.
    return path if len(path) <= _LONGEST_PATH else path[:_LONGEST_PATH] + "\0"


def _matches(pattern: str, path: str) -> bool:
    whole = pattern.endswith("$")
    first, *others = (pattern[:-1] if whole else pattern).split("*")
    if not path.startswith(first):
        return False
    if not others:
        return not whole or path == first
    place = len(first)
    for part in others[:-1]:
        place = path.find(part, place)
        if place < 0:
            return False
        place += len(part)
    if whole:
        return path.endswith(others[-1]) and len(path) - len(others[-1]) >= place
    return path.find(others[-1], place) >= 0


def site_of(url: str) -> str:
    """Returns the scheme, host, and port of an http or https URL, to which one robots.txt applies; "" for other URLs."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme}://{host}" if parts.scheme in ("http", "https") and host else ""


class RuleCache:
    """The rules of sites until they expire. Drops the rules that were used least recently. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sites: OrderedDict[str, Tuple[float, Rules]] = OrderedDict()
        self._size = 0

    def get(self, now: float, site: str) -> Optional[Tuple[float, Rules]]:
        """Returns the remaining seconds of a site's rules, and the rules. Expired rules have 0 or less seconds."""
        with self._lock:
            found = self._sites.get(site)
            if found is None:
                return None
            self._sites.move_to_end(site)
            return found[0] - now, found[1]

    def put(self, now: float, site: str, seconds: float, rules: Rules) -> None:
        """Keeps the rules of a site for a number of seconds."""
        with self._lock:
            self._drop(site)
            self._sites[site] = now + seconds, rules
            self._size += rules.size
            while len(self._sites) > SITES or self._size > BYTES:
                self._drop(next(iter(self._sites)))

    def _drop(self, site: str) -> None:
        known = self._sites.pop(site, None)
        if known is not None:
            self._size -= known[1].size


#: The cache of each job in this process. A worker of a cluster keeps the last ones only.
_caches: OrderedDict[str, RuleCache] = OrderedDict()
_caches_lock = threading.Lock()


def cache_of(job: str) -> RuleCache:
    """Returns the cache that all shards of a job in this process share."""
    with _caches_lock:
        found = _caches.setdefault(job, RuleCache())
        _caches.move_to_end(job)
        while len(_caches) > 4:
            _caches.popitem(last=False)
        return found


#: Downloads the rules of a site: returns the seconds for which they are valid, and the rules.
Fetch = Callable[[str], Awaitable[Tuple[float, Rules]]]


class Robots:
    """The rules of all sites, as the items of one shard need them."""

    def __init__(self, cache: RuleCache, clock: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._clock = clock
        self._locks: Dict[str, asyncio.Lock] = {}
        self._asked: Dict[str, None] = {}
        self._found: Dict[str, Shared] = {}

    def foresee(self, url: str) -> bool:
        """Whether known rules permit the URL. Raises ItemError if they forbid it. Asks the coordinator for unknown rules."""
        site = site_of(url)
        known = self._cache.get(self._clock(), site)
        if known is not None and known[0] > 0:
            _judge(known[1], url, site)
            return True
        if site:
            self._asked[site] = None
        return False

    async def check(self, url: str, fetch: Fetch) -> None:
        """Raises ItemError if the rules forbid the URL. Downloads rules that are unknown."""
        site = site_of(url)
        if site:
            _judge(await self._rules(site, fetch), url, site)

    async def _rules(self, site: str, fetch: Fetch) -> Rules:
        async with self._locks.setdefault(site, asyncio.Lock()):
            known = self._cache.get(self._clock(), site)
            if known is not None and known[0] > 0:
                return known[1]
            seconds, rules = await fetch(site)
            if rules.failure is not None and known is not None and known[1].failure is None:
                rules = known[1]  # As long as the file is unreachable, its last version applies.
            self._cache.put(self._clock(), site, seconds, rules)
            if rules.size <= SHARED:
                self._found[site] = [seconds, rules.values()]
            return rules

    def report(self) -> Dict[str, Any]:
        """Returns what the coordinator should know: the sites whose rules are needed, and new rules."""
        found = {"sites": list(self._asked), "rules": self._found}
        self._asked, self._found = {}, {}
        return found

    def learn(self, shared: Mapping[str, Shared]) -> None:
        """Keeps the rules that other workers have found."""
        for site, (seconds, values) in shared.items():
            self._cache.put(self._clock(), site, seconds, Rules.from_values(values))


def _judge(rules: Rules, url: str, site: str) -> None:
    if rules.failure is not None:
        raise ItemError(*rules.failure)
    if not rules.allows(url):
        raise ItemError("robots_denied", f"{site}/robots.txt disallows the URL")


async def fetch_rules(site: str, client: Any, robot: str, **options: Any) -> Tuple[float, Rules]:
    """Downloads the rules of a site. Returns the seconds for which they are valid, and the rules.

    A response with a 4xx status permits everything, except 429. An error, another status, and 429 forbid everything for
    five minutes. ``options`` are keywords of the request.
    """
    url = f"{site}/robots.txt"
    try:
        async with client.stream("GET", url, max_redirects=MAX_REDIRECTS, **options) as response:
            status = response.status_code
            seconds = _lifetime(response.headers.get("cache-control", ""))
            if 400 <= status < 500 and status != 429:
                return seconds, Rules()
            if not 200 <= status < 300:
                why = f"{url} has the status {status}, so no URL of the site may be requested"
                return SHORTEST, Rules(failure=("robots_unreachable", why))
            body = b""
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    body = body[:MAX_BYTES].rpartition(b"\n")[0]
                    break
    except WherryError as error:
        if error.reason == "too_many_redirects":
            return SHORTEST, Rules()
        return SHORTEST, Rules(failure=(error.reason or "internal", f"{url}: {error.message}"))
    return seconds, Rules.parse(body.decode("utf-8", "replace"), robot)


def _lifetime(cache_control: str) -> float:
    found = re.search(r"\bmax-age\s*=\s*\"?(\d{1,9})", cache_control, re.IGNORECASE)
    return LONGEST if found is None else min(max(float(found[1]), SHORTEST), LONGEST)
