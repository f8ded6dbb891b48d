# Wherry: loading images from URLs
# SPDX-License-Identifier: Apache-2.0
"""`ImageLoader` and `AsyncImageLoader`: load images, and keep them decoded in memory."""

from __future__ import annotations

from .._core.calls import check, create, read_struct
from .._core.exchange.events import Exchange, failure
from .._core.exchange.hooks import KEYWORDS
from .._core.images import RESIZE_MODES, Compression, NativeImage, native_compression, pixel_array, pixel_format
from .._core.values import choice, text
from .._errors import ArgumentError, brief, check_not_coroutine, check_plain_function
from .._native import codes
from .._native.library import lib
from .._native.memory import EVENT, IMAGE_USAGE, KIND, STATUS, Cell
from .._waiting.blocking import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Mapping, Optional, Tuple, Union

    from typing_extensions import Unpack

    from .._core.exchange.draft import Draft
    from .._core.keywords import RequestOptions
    from .._native.memory import Record
    from .async_client import AsyncClient
    from .base import BaseClient
    from .client import Client

    Size = Tuple[Optional[int], Optional[int]]
    OnPreview = Callable[[memoryview], object]


class ImageUsage:
    """The decoded images that a client keeps in memory, and how often they were used."""

    __slots__ = ("images", "image_bytes", "limit_bytes", "hits", "misses", "requests")

    def __init__(self, values: Tuple[int, ...]) -> None:
        #: The number of decoded images in memory.
        self.images = values[0]
        #: The size of these images in bytes.
        self.image_bytes = values[1]
        #: The maximum of ``image_bytes``: ``image_memory_bytes=`` of the client.
        self.limit_bytes = values[2]
        #: The number of loads and lookups that found the image in memory.
        self.hits = values[3]
        #: The number of loads that did not.
        self.misses = values[4]
        #: The number of requests that were started for loads.
        self.requests = values[5]

    def __repr__(self) -> str:
        return f"<ImageUsage {self.images} images, {self.image_bytes} of {self.limit_bytes} bytes>"


class _ImageExchange(Exchange):
    """A load of an image. Its result is the image of the DONE event."""

    __slots__ = ("image", "_on_preview")

    def __init__(self, draft: Draft, on_preview: Optional[OnPreview]) -> None:
        if on_preview is not None:
            check_plain_function("on_preview", on_preview)
            draft.option(codes.OPTION_IMAGE_PREVIEWS, 1)
        super().__init__(draft)
        self.image: Optional[NativeImage] = None
        self._on_preview = on_preview

    def read(self, record: Record) -> bool:
        if record[KIND] != codes.EVENT_IMAGE_PREVIEW:
            return super().read(record)
        if self._on_preview is not None and self.error is None:
            try:
                check_not_coroutine("on_preview", self._on_preview(_opened(record)))
            except Exception as error:
                self.fail(error)
        return self.done

    def _finish(self, record: Record) -> None:
        self.done = True
        if self.error is not None:
            return
        if record[STATUS]:
            self.error = self._raised_by_transport(failure(record, self.response, self._draft))
        else:
            self.image = NativeImage(create(lib.wherry_event_open_image, record[EVENT]), None)

    def pixels(self) -> memoryview:
        """Returns the pixels, or raises the error of the load."""
        self.result()
        assert self.image is not None
        return pixel_array(self.image)


def _opened(record: Record) -> memoryview:
    """Returns the pixels of a preview."""
    return pixel_array(NativeImage(create(lib.wherry_event_open_image, record[EVENT]), None))


class _Target:
    """How an image is decoded: the native compression and pixel format. Use it in a ``with`` statement."""

    __slots__ = ("format", "compression")

    def __init__(
        self, size: Optional[Size], mode: str, order: Optional[str], compression: Optional[Compression]
    ) -> None:
        if compression is not None and not isinstance(compression, Compression):
            raise TypeError(f"compression= takes a Compression, not {brief(compression)}")
        resize = choice(RESIZE_MODES, "mode", mode)
        self.format = pixel_format(order)
        width, height = _sides(size)
        if compression is None:
            self.compression = create(lib.wherry_compression_new, 1.0)
        else:
            self.compression = native_compression(compression)
        try:
            if size is not None:
                numbers = (
                    (codes.IMAGE_MAX_WIDTH, width), (codes.IMAGE_MAX_HEIGHT, height),
                    (codes.IMAGE_RESIZE_MODE, resize),
                )  # fmt: skip
                for option, value in numbers:
                    check(lib.wherry_compression_set_option(self.compression, option, value))
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> _Target:
        return self

    def __exit__(self, *_: object) -> None:
        lib.wherry_compression_free(self.compression)


def _sides(size: Optional[Size]) -> Tuple[int, int]:
    """Returns the maximum width and height of a size; 0 for no limit."""
    if size is None:
        return 0, 0
    sides = tuple(size) if isinstance(size, (tuple, list)) else ()
    if len(sides) != 2 or not all(side is None or (type(side) is int and side > 0) for side in sides):
        raise ArgumentError(
            f"size= takes (width, height) in pixels, of which one may be None, not {brief(size)}", "bad_value"
        )
    return sides[0] or 0, sides[1] or 0


class BaseImageLoader:
    """The common base of `ImageLoader` and `AsyncImageLoader`."""

    __slots__ = ("_client",)

    def __init__(self, client: BaseClient[Any]) -> None:
        self._client = client

    def cached(
        self,
        url: str,
        size: Optional[Size] = None,
        *,
        mode: str = "fit",
        order: Optional[str] = None,
        compression: Optional[Compression] = None,
        **options: Unpack[RequestOptions],
    ) -> Optional[memoryview]:
        """Returns an image that is in memory, or None. Does not wait. Takes the arguments of `load`."""
        with _Target(size, mode, order, compression) as target:
            return self._cached(url, target, options)

    def prefetch(
        self,
        urls: Union[str, Iterable[str]],
        size: Optional[Size] = None,
        *,
        mode: str = "fit",
        order: Optional[str] = None,
        compression: Optional[Compression] = None,
        **options: Unpack[RequestOptions],
    ) -> int:
        """Starts to load one or several images into the memory. Returns without waiting.

        Unless you pass ``priority=``, the loads have the lowest priority; a later `load` of the same
        image raises it. Errors of a load are only logged. ``client.cancel(url=...)`` cancels one, and
        ``client.cancel(tag=...)`` those with this tag.

        Requests that call Python functions, such as ``refresh_token=`` or a transport of the client,
        are not started. Returns the number of those that were. The other arguments are those of `load`.
        """
        started = 0
        with _Target(size, mode, order, compression) as target:
            for url in (urls,) if isinstance(urls, str) else urls:
                draft = self._request(url, options)
                try:
                    if draft.needs_events:
                        continue
                    live = self._client._live()
                    check(lib.wherry_client_prefetch_image(live, draft.handle, None, target.format, target.compression))
                    started += 1
                finally:
                    draft.free()
        return started

    def usage(self) -> ImageUsage:
        """Returns what is in memory, and the numbers of hits, misses, and requests."""
        return ImageUsage(read_struct(IMAGE_USAGE, lib.wherry_client_image_usage, self._client._live()))

    def clear(self) -> None:
        """Removes all images from the memory. Arrays that you have stay valid."""
        check(lib.wherry_client_clear_images(self._client._live()))

    def _request(self, url: str, options: Mapping[str, Any]) -> Draft:
        """Returns the draft of a load. Loads share images if all their hooks are those of the client."""
        draft = self._client._draft("GET", url, options)
        hooks = {KEYWORDS[kind]: each for kind, each in draft.functions.items() if kind != codes.HOOK_RESPOND}
        if hooks and all(self._client._defaults.get(name) is each for name, each in hooks.items()):
            draft.option(codes.OPTION_HOOKS_KEY, self._client._defaults_version)
        return draft

    def _cached(self, url: str, target: _Target, options: Any) -> Optional[memoryview]:
        request = self._client._plain_request("GET", options)
        if request:
            return self._find(request, text(url, "bad_url"), target)
        draft = self._request(url, options)
        try:
            return self._find(draft.handle, None, target)
        finally:
            draft.free()

    def _find(self, request: Any, address: Optional[bytes], target: _Target) -> Optional[memoryview]:
        cell = Cell()
        status = lib.wherry_client_cached_image(
            self._client._live(), request, address, target.format, target.compression, cell.address
        )
        if status == codes.E_CACHE_MISS:
            return None
        check(status)
        return pixel_array(NativeImage(cell.take(), None))


class ImageLoader(BaseImageLoader):
    """Loads images for a `Client`: ``client.images``.

    Decoded images stay in memory, up to ``image_memory_bytes=`` of the client. They are found by URL,
    size, order and settings, and by the headers, parameters and options of the request, except its
    priority. The server is not asked whether a decoded image is still fresh. ``cache_policy="off"``,
    ``"refresh"`` and ``"reload"`` do not read the memory. A response with ``Cache-Control: no-store`` is
    not kept. A change of the client's headers, parameters or credentials removes all images; a change of
    cookies does not.

    Equal loads that run at the same time share one request and one decoding, and loads of different sizes
    share the request. It has the highest priority of its loads, and ends if all of them are cancelled. A
    response that is not a valid image is removed from the caches of the client.

    A load with hooks of its own, such as ``adapt=`` or ``on_headers=``, shares neither its request nor its
    image. Loads with the client's hooks share both, and the hooks are called once for a shared request.
    """

    __slots__ = ()
    if TYPE_CHECKING:
        _client: Client

    def load(
        self,
        url: str,
        size: Optional[Size] = None,
        *,
        mode: str = "fit",
        order: Optional[str] = None,
        compression: Optional[Compression] = None,
        on_preview: Optional[OnPreview] = None,
        **options: Unpack[RequestOptions],
    ) -> memoryview:
        """Loads an image, and returns its pixels as an upright uint8 array, top row first.

        The array is read-only, has the shapes that `Image.pixels` describes, and can be passed to
        numpy.asarray and to `Image`. It shares the memory of the loader, and stays valid when the image is
        removed from there.

        :param url: The URL of an image.
        :param size: The maximum (width, height) in pixels, of which one may be None. None keeps the size of
            the image. No image is enlarged.
        :param mode: How the image fills ``size``: "fit", "crop" or "pad", as in `Compression`.
        :param order: "gray", "rgb", "rgba" or "bgra". None selects the smallest one without loss.
        :param compression: Further settings: only sharpening, background, orientation, animated, and limits
            apply, and without ``size`` also the maximum width and height and the resize mode.
        :param on_preview: Called with the image as far as it has arrived, in the size and order of the
            result: after each scan of a progressive JPEG except the last, as soon as the next scan begins,
            and after each of the first six passes of an interlaced PNG. If several arrive during a call,
            only the newest one follows. Not called for other images, nor for images from memory, a cache,
            or a stub. An exception cancels the load, and is raised.

        The other keywords are those of a GET request, such as ``headers=``, ``priority=`` (-100 to 100) and
        ``max_body_bytes=``. Event hooks and auth flows are not used. Raises `HTTPStatusError` for an error
        status, `ImageError` for anything but a valid image, and `LimitError` for an image that is too large.
        """
        with _Target(size, mode, order, compression) as target:
            found = self._cached(url, target, options)
            if found is not None:
                return found
            draft = self._request(url, options)
            exchange = channel = None
            try:
                exchange = _ImageExchange(draft, on_preview)
                channel = Channel()
                exchange.transfer = self._client._begin(
                    lib.wherry_client_load_image, draft.handle, None, target.format, target.compression,
                    channel.queue, 1,
                )  # fmt: skip
                channel.run(exchange)
            finally:
                if channel is not None:
                    channel.close()
                if exchange is not None:
                    exchange.free()
                draft.free()
        return exchange.pixels()


class AsyncImageLoader(BaseImageLoader):
    """Loads images for an `AsyncClient`: ``client.images``. See `ImageLoader`."""

    __slots__ = ()
    if TYPE_CHECKING:
        _client: AsyncClient

    async def load(
        self,
        url: str,
        size: Optional[Size] = None,
        *,
        mode: str = "fit",
        order: Optional[str] = None,
        compression: Optional[Compression] = None,
        on_preview: Optional[OnPreview] = None,
        **options: Unpack[RequestOptions],
    ) -> memoryview:
        """See `ImageLoader.load`. Cancelling the task cancels the load.

        The event loop calls ``on_preview``, which must be a plain function.
        """
        import asyncio

        from .._waiting.pump import Completion

        with _Target(size, mode, order, compression) as target:
            found = self._cached(url, target, options)
            if found is not None:
                return found
            draft = self._request(url, options)
            try:
                exchange = _ImageExchange(draft, on_preview)
                loop = asyncio.get_running_loop()
                completion = Completion(exchange, loop)
                self._client._pump(loop).load_image(
                    self._client, draft, (target.format, target.compression), exchange, completion.read
                )
            finally:
                draft.free()
        try:
            await completion.wait()
        finally:
            exchange.free()
        return exchange.pixels()
