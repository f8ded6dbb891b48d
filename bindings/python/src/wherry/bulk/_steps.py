# Wherry: the steps of a bulk job
# SPDX-License-Identifier: Apache-2.0
"""The steps that each item passes: `Download`, `Check`, `Resize`, `Map`, and `Upload`.

Steps are values without state, so that they can be sent to workers. A `Workbench` has the objects that running steps use.
"""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union
from urllib.parse import urlsplit

from .. import AsyncClient, Compression, Image, Response, Timeout, WherryError
from .._errors import ArgumentError, brief
from ._items import Item, ItemError, is_missing
from ._limits import HostGate
from ._robots import Robots, Rules, fetch_rules

#: The directives of X-Robots-Tag by which a site opts out of machine learning.
OPT_OUTS = ("noai", "noimageai", "noindex", "noimageindex")

#: The timeout of the hook for redirects, which may download robots.txt. After it, the client follows the redirect unchecked.
HOOK_SECONDS = 86_400


@dataclass
class Workbench:
    """The objects that running steps use: clients for downloads and uploads, the gate of the hosts, rules of robots.txt,
    and threads."""

    client: AsyncClient
    uploads: AsyncClient
    gate: HostGate
    robots: Robots
    threads: ThreadPoolExecutor
    job: str

    def pause(self, host: str, error: WherryError, _: int = 0) -> None:
        """Pauses a host if an error has Retry-After. ``partial(bench.pause, host)`` is for ``on_retry=``."""
        if error.retry_after is not None:
            self.gate.pause(host, error.retry_after)

    def judge(self, host: str, response: Response) -> None:
        """Reports to the gate how a host responded, and raises an error for an error status."""
        try:
            response.raise_for_status()
        except WherryError as error:
            self.pause(host, error)
            raise
        self.gate.succeeded(host)

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Runs a function in a thread, so that requests continue."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)


class Step:
    """A step for each item. ``run`` changes the item, or raises an exception to fail it."""

    name = "step"

    async def run(self, item: Item, bench: Workbench) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Download(Step):
    """Downloads the URL of each item into memory. It is the first step of every job.

    ``headers``         headers of every request
    ``user_agent``      the User-Agent header, which should contain ``user_agent_token`` and a way to contact you
    ``timeout``         seconds without any data before a request fails (default: 20)
    ``total_timeout``   maximum seconds for one attempt (default: 120)
    ``retries``         maximum number of retries after a transient failure (default: 2)
    ``max_bytes``       maximum body size; items with larger bodies fail with `too_large` (default: 64 MiB)
    ``deny_addresses``  address classes that are never contacted, also after a redirect (default: "not_public");
                        None permits all. Lists from strangers may contain addresses inside your network
    ``robots``          whether robots.txt is honored (default: True). Items with a URL that the file disallows for
                        ``user_agent_token`` fail with `robots_denied`, also after a redirect
    ``opt_outs``        directives of X-Robots-Tag that fail an item with `opted_out`; () ignores the header
    ``user_agent_token``  the name by which robots.txt and X-Robots-Tag can address the job (default: "wherry")
    ``verify``          as in `wherry.Client`
    """

    headers: Dict[str, str] = field(default_factory=dict)
    user_agent: Optional[str] = None
    user_agent_token: str = "wherry"
    timeout: float = 20
    total_timeout: float = 120
    retries: int = 2
    max_bytes: int = 64 * 1024 * 1024
    deny_addresses: Union[str, Sequence[str], None] = "not_public"
    robots: bool = True
    opt_outs: Sequence[str] = OPT_OUTS
    verify: Union[bool, str] = True

    name = "download"

    def __post_init__(self) -> None:
        if isinstance(self.opt_outs, str):
            object.__setattr__(self, "opt_outs", (self.opt_outs,))

    def check(self) -> None:
        """Raises an error for settings that no client accepts."""
        from .. import Client

        Client(**self._settings(1)).close()

    def client(self, concurrency: int) -> AsyncClient:
        """Creates the client of a worker."""
        return AsyncClient(**self._settings(concurrency))

    def _settings(self, concurrency: int) -> Dict[str, Any]:
        settings: Dict[str, Any] = {} if self.deny_addresses is None else {"deny_addresses": self.deny_addresses}
        if self.user_agent is not None:
            settings["user_agent"] = self.user_agent
        return dict(
            headers=self.headers, verify=self.verify, max_body_bytes=self.max_bytes, cookies=False,
            timeout=Timeout(idle=self.timeout, connect=self.timeout, first_byte=self.timeout, total=self.total_timeout),
            max_connections=concurrency, max_per_host=concurrency, **settings,
        )  # fmt: skip

    async def run(self, item: Item, bench: Workbench) -> None:
        host = host_of(item.url)
        loop = asyncio.get_running_loop()
        pause = partial(bench.pause, host)

        async def check(url: str) -> None:
            await bench.robots.check(url, lambda site: self._rules(site, bench))

        async def follow(_: Any, request: Any) -> None:
            await check(request.url)

        redirects: Dict[str, Any] = {}
        permitted = not self.robots or bench.robots.foresee(item.url)
        if self.robots:
            redirects = {"on_redirect": follow, "hook_timeout": HOOK_SECONDS}
        async with bench.gate.turn(host):
            if not permitted:
                await check(item.url)
            begun = loop.time()
            try:
                response = await bench.client.get(
                    item.url, max_retries=self.retries, on_retry=pause, accept_status_range=range(200, 300), **redirects
                )
            finally:
                item.seconds = loop.time() - begun
        item.http_status = response.status_code
        bench.judge(host, response)
        self._respect(response.headers.get_list("x-robots-tag"))
        item.data = response.content
        item.received = len(item.data)
        item.type = response.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def _rules(self, site: str, bench: Workbench) -> Tuple[float, Rules]:
        """Downloads the robots.txt of a site."""
        pause = partial(bench.pause, host_of(site))
        return await fetch_rules(
            site, bench.client, self.user_agent_token, max_retries=self.retries, on_retry=pause
        )  # fmt: skip

    def _respect(self, tags: List[str]) -> None:
        """Raises an error if the site opts out, for all robots or for the user agent of the job."""
        for tag in tags:
            robot, colon, rest = tag.lower().partition(":")
            # A colon also occurs in directives with a value, such as "noindex, max-image-preview: large".
            if not colon or "," in robot or robot.strip() in ("max-snippet", "max-image-preview", "max-video-preview",
                                                              "unavailable_after"):  # fmt: skip
                rest = tag.lower()
            elif robot.strip() != self.user_agent_token.lower():
                continue
            for directive in rest.split(","):
                if directive.strip() in self.opt_outs:
                    raise ItemError("opted_out", f"the site opts out with X-Robots-Tag: {directive.strip()}")


def host_of(url: str) -> str:
    """Returns the host and port for which connections are limited; "" if the URL is invalid."""
    try:
        parts = urlsplit(url)
        port = parts.port
        name = (parts.hostname or "").rstrip(".")
    except ValueError:
        return ""
    return name if port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f"{name}:{port}"


@dataclass(frozen=True)
class Check(Step):
    """Fails items whose data differs from the expected type, size, or digest.

    ``types``      accepted content types; "image/" accepts all images. JPEG and PNG data must also start
                   with the signature of the format
    ``min_bytes``, ``max_bytes``    limits of the size
    ``digest``     the algorithm, such as "sha256" or "md5", which is also the name of the column with hexadecimal
                   digests; rows without a value are not checked
    ``column``     the name of the column, if it differs from the algorithm
    """

    types: Sequence[str] = ()
    min_bytes: int = 0
    max_bytes: Optional[int] = None
    digest: Optional[str] = None
    column: Optional[str] = None

    name = "check"

    def __post_init__(self) -> None:
        if isinstance(self.types, str):
            object.__setattr__(self, "types", (self.types,))
        fixed = {name for name in hashlib.algorithms_guaranteed if not name.startswith("shake_")}
        if self.digest is not None and self.digest not in fixed:
            raise ArgumentError(
                f"Check(digest=) must be a hashlib algorithm of fixed length, not {brief(self.digest)}", "bad_value"
            )

    async def run(self, item: Item, bench: Workbench) -> None:
        count = len(item.data)
        if count < self.min_bytes or (self.max_bytes is not None and count > self.max_bytes):
            raise ItemError("too_large" if count > self.min_bytes else "truncated", f"the body has {count} bytes")
        if self.types:
            self._check_type(item)
        expected = item.row.get(self.column or self.digest or "")
        if self.digest is not None and not is_missing(expected):
            found = hashlib.new(self.digest, item.data).hexdigest()
            if found != str(expected).strip().lower():
                raise ItemError("checksum", f"the {self.digest} digest is {found}, not {expected}")

    def _check_type(self, item: Item) -> None:
        if not any(item.type == kind or (kind.endswith("/") and item.type.startswith(kind)) for kind in self.types):
            raise ItemError(
                "content_type", f"the content type is {item.type or 'missing'}, not {', '.join(self.types)}"
            )
        magic = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG"}.get(item.type)
        if magic is not None and not item.data.startswith(magic):
            raise ItemError("content_type", f"the body is not {item.type}, although the response header says so")


@dataclass(frozen=True)
class Resize(Step):
    """Decodes each image, and encodes it again so that it fits into ``width`` times ``height`` pixels.

    Images keep their aspect ratio, and are never enlarged. They are rotated upright, and lose GPS positions and other
    metadata except the color profile.

    ``quality``   JPEG quality, 0 to 1 (default: 0.9)
    ``format``    "jpeg" (the default), "png", or "keep"
    ``optimize``  whether JPEG files get their own Huffman tables: about 5 % fewer bytes, and 30 % more processor time
                  (default: False)
    ``options``   other settings of `wherry.Compression`, such as {"resize_mode": "crop"}
    ``sharpen``   how much to sharpen a scaled image, 0 to 500 percent (default: 0)
    """

    width: int
    height: Optional[int] = None
    quality: float = 0.9
    format: str = "jpeg"
    optimize: bool = False
    options: Dict[str, Any] = field(default_factory=dict)
    sharpen: int = 0

    name = "resize"

    def __post_init__(self) -> None:
        self._compression()

    def _compression(self) -> Compression:
        return Compression(
            self.quality, format=self.format, max_width=self.width, max_height=self.height or self.width,
            never_larger=False, optimize=self.optimize, sharpen=self.sharpen, **self.options,
        )  # fmt: skip

    async def run(self, item: Item, bench: Workbench) -> None:
        original, result = await bench.in_thread(self._resize, item.data)
        item.fields.update(
            original_width=original.upright_size[0], original_height=original.upright_size[1],
            width=result.info.width, height=result.info.height,
        )  # fmt: skip
        item.data = result.content
        item.type = f"image/{result.info.format}"

    def _resize(self, data: bytes) -> Tuple[Any, Image]:
        image = Image(data)
        return image.info, image.compress(self._compression())


@dataclass(frozen=True)
class Upload(Step):
    """Sends each item to a server, as a file of a multipart form.

    If a worker dies after the request, another one repeats the upload with the same ``Idempotency-Key``. The uploads of
    one item have different keys. Retry-After of a response pauses the host, as for downloads.

    ``url``       the URL of the form
    ``fields``    other fields of the form
    ``columns``   columns of the row that are sent as fields
    ``headers``   headers of the request
    ``retries``   maximum number of retries after a transient failure (default: 2)
    ``file_field``  the name of the file's field (default: "file")
    """

    url: str
    fields: Dict[str, str] = field(default_factory=dict)
    columns: Sequence[str] = ()
    headers: Dict[str, str] = field(default_factory=dict)
    retries: int = 2
    file_field: str = "file"

    name = "upload"

    async def run(self, item: Item, bench: Workbench) -> None:
        name = f"{item.key}.{item.extension}"
        columns = {column: item.row.get(column) for column in self.columns}
        texts = {column: "" if is_missing(value) else str(value) for column, value in columns.items()}
        item.uploads += 1
        key = f"{bench.job}-{item.key}" + (f"-{item.uploads}" if item.uploads > 1 else "")
        host = host_of(self.url)
        pause = partial(bench.pause, host)
        async with bench.gate.turn(host):
            response = await bench.uploads.post(
                self.url, data={**self.fields, **texts},
                files={self.file_field: (name, item.data, item.type or "application/octet-stream")},
                headers={"Idempotency-Key": key, **self.headers}, on_retry=pause,
                max_retries=self.retries, retry_unsafe_methods=True, accept_status_range=range(200, 300),
            )  # fmt: skip
        bench.judge(host, response)
        item.fields["upload_status"] = response.status_code


@dataclass(frozen=True)
class Map:
    """Calls a function with batches of items that have not failed.

    The function gets a list of `Item` values. It may change items, fail items with
    ``item.fail("map", reason, message)``, and return a shorter list. Items that are not in the returned list are
    dropped from the output. None keeps all items. If the function raises an exception, all items of the batch fail.

    ``function``  a function of an importable module, or its name as "module:function"
    ``batch``     the maximum number of items in a batch (default: 256)
    """

    function: Union[str, Callable[[List[Item]], Optional[List[Item]]]]
    batch: int = 256

    name = "map"

    def __post_init__(self) -> None:
        if isinstance(self.function, str) and ":" not in self.function:
            raise ArgumentError(f'Map() takes a function or "module:function", not {brief(self.function)}', "bad_value")
        if self.batch < 1:
            raise ArgumentError(f"Map(batch=) must be 1 or more, not {self.batch}", "bad_value")

    def call(self, items: List[Item]) -> List[Item]:
        """Calls the function, and returns the items that remain."""
        result = self.resolved()(items)
        return items if result is None else list(result)

    def resolved(self) -> Callable[[List[Item]], Optional[List[Item]]]:
        """Returns the function, which is imported if ``function`` is a name."""
        if not isinstance(self.function, str):
            return self.function
        from importlib import import_module

        module, _, name = self.function.partition(":")
        found: Callable[[List[Item]], Optional[List[Item]]] = getattr(import_module(module), name)
        return found


#: The steps of a job by the names that plans use.
STEPS: Dict[str, Any] = {"download": Download, "check": Check, "resize": Resize, "map": Map, "upload": Upload}


def checked(steps: Sequence[Any]) -> Tuple[Any, ...]:
    """Returns the steps of a job, or raises ArgumentError."""
    found = tuple(steps)
    for step in found:
        if not isinstance(step, (Step, Map)):
            raise ArgumentError(f"a step is {brief(step)}, not one of {', '.join(s.__name__ for s in STEPS.values())}",
                                "bad_argument")  # fmt: skip
    if not found or not isinstance(found[0], Download):
        raise ArgumentError("the first step must be Download()", "bad_argument")
    found[0].check()
    if any(isinstance(step, Download) for step in found[1:]):
        raise ArgumentError("Download() can only be the first step", "bad_argument")
    return found
