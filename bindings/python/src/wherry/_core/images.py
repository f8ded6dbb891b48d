# Wherry: images and their compression
# SPDX-License-Identifier: Apache-2.0
"""`Image` inspects, compresses, and decodes images; `Compression` has the settings.

Neither numpy nor Pillow is imported.
"""

from __future__ import annotations

import os

from .._errors import ArgumentError, brief
from .._native import codes
from .._native.library import lib
from .._native.memory import IMAGE_COMPARISON, IMAGE_INFO, IMAGE_PHOTO, Cell, bytes_at, lent_memory, memory_at
from .calls import check, check_freed, create, read_struct
from .image_values import ImageComparison, ImageHash
from .options import Fixed
from .values import choice, file_name_text, milliseconds, path_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from typing import Any, Iterable, List, Optional, Tuple, TypeVar, Union

    Self = TypeVar("Self", bound="Image")

_FORMATS = {"keep": 0, "jpeg": 1, "png": 2}
_ANIMATED = {"refuse": 0, "first": 1}
_METADATA = {"none": 1, "icc": 2, "no_gps": 3, "all": 4}
_FIELDS = {"copyright": 1, "artist": 2, "description": 3, "software": 4, "taken_at": 5, "make": 6, "model": 7}
RESIZE_MODES = {"fit": 0, "crop": 1, "pad": 2}


def _ten_thousandths(ssim: float) -> int:
    if isinstance(ssim, (str, bytes)) or not hasattr(ssim, "__float__"):
        raise TypeError(f"target_ssim= takes a number between 0 and 1, not {brief(ssim)}")
    if not 0 < ssim < 1:
        raise ArgumentError(f"target_ssim= takes a number between 0 and 1, not {brief(ssim)}")
    return min(9999, max(1, round(ssim * 10_000)))


def _percent(sharpen: int) -> int:
    if isinstance(sharpen, bool) or not hasattr(sharpen, "__index__"):
        raise TypeError(f"sharpen= takes an integer from 0 to 500, in percent, not {brief(sharpen)}")
    if not 0 <= sharpen <= 500:
        raise ArgumentError(f"sharpen= takes 0 to 500 percent, not {brief(sharpen)}")
    return sharpen


def _field_text(name: str, value: Union[str, datetime.datetime]) -> bytes:
    if name == "taken_at" and hasattr(value, "isoformat") and hasattr(value, "astimezone"):
        value = value.isoformat(timespec="seconds")
    if not isinstance(value, str):
        kinds = "a datetime.datetime or a str" if name == "taken_at" else "a str"
        raise TypeError(f"{name}= takes {kinds}, not {brief(value)}")
    return text(value)


class Compression(Fixed):
    """Settings for compressing images before upload. None keeps the default of a setting.

    ``quality`` is the JPEG quality, 0 to 1 (default: 1). 1 sends the original if it fits the other
    settings. Any number outside this range means 1, so 50 is not a percentage.

    ``format`` is "keep", "jpeg" or "png"; other values raise an error. ``type`` is the older form:
    "png" or "PNG" means PNG, and any other value means JPEG.

    ``resize_mode`` is how the image fills ``max_width`` and ``max_height``. "fit", the default, keeps the
    whole image inside them. "crop" keeps the center, with this size; a smaller image is only cropped to
    this aspect ratio. "pad" makes an image of exactly this size, with the whole image in the center. The
    padding has the color ``background``, an integer such as 0xFFFFFF; without this setting, it is
    transparent if the result has alpha, and otherwise white. "crop" and "pad" need both limits. No image is
    enlarged.

    ``sharpen`` is the strength of the sharpening of a scaled image in percent, 0 (the default) to 500; 50 to
    100 is good for thumbnails. An image that is not scaled is never sharpened.

    ``target_ssim`` is the structural similarity to the resized source that a JPEG must have, greater than 0
    and less than 1, such as 0.98. At most five qualities up to ``quality`` are tried, and the lowest one that
    reaches the target is used; if none does, ``quality``. ``max_bytes`` has priority.

    ``smallest`` searches for the smallest JPEG of the quality: about 12 % fewer bytes at the same SSIM than a
    progressive JPEG, in about four times its CPU time, with memory for the whole image.

    ``never_larger`` (default: True) keeps the original if the result has more bytes. ``keep_orientation``
    (False) keeps the EXIF orientation instead of rotating the pixels.

    ``optimize`` makes JPEGs 5 to 8 % smaller, in half as much CPU time again (default: only if the image is
    scaled). ``progressive`` (False) makes progressive JPEGs. ``subsampling`` is 444, 422, or 420 (default: 444
    at quality 0.9 or higher, otherwise 420). ``best_filter`` (False) makes smaller PNGs, more slowly.

    ``max_pixels`` (default: 100 million), ``max_memory_bytes`` (256 MiB), and ``deadline``, in seconds (30),
    limit what an image may cost. Otherwise it fails with the reason ``image_too_large``.

    ``animated`` is "refuse" (the default) or "first", which decodes the first frame of an animation, or
    the default image of an animated PNG.

    ``copyright``, ``artist``, ``description``, ``software``, ``make``, and ``model`` set texts of EXIF, and
    ``taken_at`` the time of the exposure: a `datetime.datetime` or a text such as
    "2024-05-01T12:34:56+02:00". "" removes a text. They apply after ``metadata`` has kept or removed the
    rest, also to images that had no EXIF. Copies of these fields in XMP, IPTC, and the texts of a PNG are
    removed. Removing ``taken_at`` removes all times in EXIF.

    ``location_decimals``, 0 to 6, rounds a location that ``metadata="all"`` keeps to this many decimals of
    degrees; 2 is about 1 km. Altitudes and locations outside EXIF are removed. With other metadata, there is
    no location, and the setting has no effect.
    """

    __slots__ = ("quality", "type", "options", "texts")
    _advice = "Create another one, such as Compression(0.5, max_width=1600)."

    quality: float
    type: Optional[str]
    options: Tuple[Tuple[int, int], ...]
    texts: Tuple[Tuple[int, bytes], ...]

    def __init__(
        self,
        quality: float = 1.0,
        *,
        type: Optional[str] = None,
        format: Optional[str] = None,
        max_width: Optional[int] = None,
        max_height: Optional[int] = None,
        resize_mode: Optional[str] = None,
        sharpen: Optional[int] = None,
        max_bytes: Optional[int] = None,
        target_ssim: Optional[float] = None,
        background: Optional[int] = None,
        metadata: Optional[str] = None,
        keep_orientation: Optional[bool] = None,
        never_larger: Optional[bool] = None,
        optimize: Optional[bool] = None,
        progressive: Optional[bool] = None,
        smallest: Optional[bool] = None,
        subsampling: Optional[int] = None,
        best_filter: Optional[bool] = None,
        animated: Optional[str] = None,
        max_pixels: Optional[int] = None,
        max_memory_bytes: Optional[int] = None,
        deadline: Optional[float] = None,
        copyright: Optional[str] = None,
        artist: Optional[str] = None,
        description: Optional[str] = None,
        software: Optional[str] = None,
        taken_at: Union[str, datetime.datetime, None] = None,
        make: Optional[str] = None,
        model: Optional[str] = None,
        location_decimals: Optional[int] = None,
    ) -> None:
        fields = (copyright, artist, description, software, taken_at, make, model)
        texts = tuple(
            (_FIELDS[name], _field_text(name, value)) for name, value in zip(_FIELDS, fields) if value is not None
        )
        numbers = (
            (codes.IMAGE_MAX_WIDTH, max_width),
            (codes.IMAGE_MAX_HEIGHT, max_height),
            (codes.IMAGE_RESIZE_MODE, choice(RESIZE_MODES, "resize_mode", resize_mode)),
            (codes.IMAGE_SHARPEN, None if sharpen is None else _percent(sharpen)),
            (codes.IMAGE_MAX_BYTES, max_bytes),
            (codes.IMAGE_TARGET_SSIM, None if target_ssim is None else _ten_thousandths(target_ssim)),
            (codes.IMAGE_FORMAT, choice(_FORMATS, "format", format)),
            (codes.IMAGE_BACKGROUND_RGB, background),
            (codes.IMAGE_LOCATION_DECIMALS, location_decimals),
            (codes.IMAGE_METADATA, choice(_METADATA, "metadata", metadata)),
            (codes.IMAGE_KEEP_ORIENTATION, keep_orientation),
            (codes.IMAGE_NEVER_LARGER, never_larger),
            (codes.IMAGE_OPTIMIZE, optimize),
            (codes.IMAGE_PROGRESSIVE, progressive),
            (codes.IMAGE_SMALLEST, smallest),
            (codes.IMAGE_SUBSAMPLING, subsampling),
            (codes.IMAGE_BEST_FILTER, best_filter),
            (codes.IMAGE_ANIMATED, choice(_ANIMATED, "animated", animated)),
            (codes.IMAGE_MAX_PIXELS, max_pixels),
            (codes.IMAGE_MAX_MEMORY_BYTES, max_memory_bytes),
            (
                codes.IMAGE_DEADLINE_MS,
                None if deadline is None else milliseconds(deadline, "deadline=", none="the default"),
            ),
        )
        options = tuple((option, int(number)) for option, number in numbers if number is not None)
        if isinstance(quality, (str, bytes)) or not hasattr(quality, "__float__"):
            raise TypeError(f"quality= takes a number from 0 to 1, not {brief(quality)}")
        self._set(quality=float(quality), type=type, options=options, texts=texts)


_MODES = {"L": 1, "RGB": 3, "RGBA": 4}
_ORDERS = {
    "gray": codes.PIXELS_GRAY8, "rgb": codes.PIXELS_RGB8, "rgba": codes.PIXELS_RGBA8,
    "bgra": codes.PIXELS_BGRA8,
}  # fmt: skip
_HASHES = {"difference": codes.HASH_DIFFERENCE, "perceptual": codes.HASH_PERCEPTUAL}
_CHANNELS = {1: codes.PIXELS_GRAY8, 3: codes.PIXELS_RGB8, 4: codes.PIXELS_RGBA8}


class ImageInfo:
    """Information about an image, read without decoding it. Attributes:

    ``format``         "jpeg", "png", "gif", "webp", "heic", or "avif"; None for raw pixels
    ``width``, ``height``    size in pixels as stored, before rotation
    ``upright_size``   (width, height) as displayed
    ``orientation``    the EXIF orientation, 1 to 8; 1 is upright
    ``components``     as stored: 1 gray or palette, 2 gray with alpha, 3 RGB, 4 RGBA or CMYK
    ``bit_depth``      bits per sample
    ``has_alpha``, ``has_icc``, ``has_exif``, ``has_gps``, ``is_animated``
    ``is_progressive`` a progressive JPEG or interlaced PNG, which is decoded in memory as a whole
    ``byte_count``     the encoded size in bytes; None for raw pixels
    ``pixel_bytes``    the size of the decoded pixels in bytes

    From EXIF; None if it is missing or malformed:

    ``taken_at``       the local time of the exposure, "2024-05-01T12:34:56", followed by the offset
                       from UTC, such as "+02:00", if the camera recorded it;
                       `datetime.datetime.fromisoformat` reads both
    ``make``, ``model``    the manufacturer and the model of the camera
    ``latitude``, ``longitude``    degrees north and east, negative for south and west
    ``altitude``       meters above sea level, negative below
    ``copyright``, ``artist``, ``description``, ``software``    texts, cut after 255, 127, 255, and 63 bytes

    For results of `Image.compress` also:

    ``original_bytes`` the size of the original in bytes; None for raw pixels
    ``quality``        the JPEG quality, 1 to 100; None for PNG, and if the image was not re-encoded
    ``way``            how the result was produced, cheapest first: "untouched"; "stripped", with metadata
                       removed or edited; "turned" or "recoded", both without decoding a JPEG completely;
                       "streamed", decoded row by row; or "whole", decoded in memory
    """

    __slots__ = (
        "format", "width", "height", "orientation", "components", "bit_depth", "has_alpha",
        "has_icc", "has_exif", "has_gps", "is_animated", "is_progressive", "byte_count",
        "pixel_bytes", "original_bytes", "quality", "way", "taken_at", "make", "model", "latitude", "longitude",
        "altitude", "copyright", "artist", "description", "software",
    )  # fmt: skip

    def __init__(self, values: Tuple[int, ...], photo: Optional[Tuple[Any, ...]] = None) -> None:
        count, self.pixel_bytes, original, form, self.width, self.height = values[:6]
        self.orientation, self.components, self.bit_depth, quality, way, flags = values[6:12]
        self.format: Optional[str] = codes.IMAGE_FORMATS.get(form)
        self.byte_count: Optional[int] = None if count < 0 else count
        self.original_bytes: Optional[int] = None if original < 0 else original
        self.quality: Optional[int] = quality or None
        self.way: Optional[str] = codes.IMAGE_WAYS.get(way)
        self.has_alpha = bool(flags & codes.IMAGE_HAS_ALPHA)
        self.has_icc = bool(flags & codes.IMAGE_HAS_ICC)
        self.has_exif = bool(flags & codes.IMAGE_HAS_EXIF)
        self.has_gps = bool(flags & codes.IMAGE_HAS_GPS)
        self.is_animated = bool(flags & codes.IMAGE_IS_ANIMATED)
        self.is_progressive = bool(flags & codes.IMAGE_IS_PROGRESSIVE)
        north, east, height, known, _, *texts = photo or (0.0, 0.0, 0.0, 0, 0, *[b""] * 7)
        self.latitude: Optional[float] = north if known & codes.PHOTO_HAS_POSITION else None
        self.longitude: Optional[float] = east if known & codes.PHOTO_HAS_POSITION else None
        self.altitude: Optional[float] = height if known & codes.PHOTO_HAS_ALTITUDE else None
        found = [content.split(b"\0", 1)[0].decode() or None for content in texts]
        self.taken_at: Optional[str] = found[0]
        self.make: Optional[str] = found[1]
        self.model: Optional[str] = found[2]
        self.copyright: Optional[str] = found[3]
        self.artist: Optional[str] = found[4]
        self.description: Optional[str] = found[5]
        self.software: Optional[str] = found[6]

    @property
    def upright_size(self) -> Tuple[int, int]:
        """The size (width, height) as displayed, after rotation."""
        turned = self.orientation >= 5
        return (self.height, self.width) if turned else (self.width, self.height)

    def __repr__(self) -> str:
        return f"<ImageInfo {self.format or 'pixels'} {self.width}x{self.height}>"


class Image:
    """An image from a path, encoded bytes, an array, or a Pillow image.

    Arrays, such as those of numpy, are uint8 of shape (h, w), (h, w, 3) or (h, w, 4). They are usually not
    copied, so do not change an array while it is in use. ``name`` is the file name in uploads.
    """

    def __init__(self, image: Any, name: Optional[str] = None) -> None:
        self._native = NativeImage.of(image)
        if name is not None:
            self._native.name_for_uploads(name)

    @property
    def info(self) -> ImageInfo:
        """Information from the header of the image. The image is not decoded."""
        info = read_struct(IMAGE_INFO, lib.wherry_image_inspect, self._native.handle)
        return ImageInfo(info, read_struct(IMAGE_PHOTO, lib.wherry_image_read_photo, self._native.handle))

    def compress(self, compression: Union[Compression, float, None] = None, **options: Any) -> Image:
        """Returns a compressed copy: the image that an upload with this compression would send.

        ``compression`` is a `Compression` or a quality. The keyword arguments are those of
        `Compression`: ``image.compress(0.5, max_width=1600)``. Releases the GIL while it runs.
        """
        if compression is None:
            compression = Compression(**options)
        elif not isinstance(compression, Compression):
            compression = Compression(compression, **options)
        elif options:
            raise TypeError("compress() takes a Compression or keywords, not both")
        settings = native_compression(compression)
        try:
            handle = create(lib.wherry_image_compress, self._native.handle, settings)
        finally:
            lib.wherry_compression_free(settings)
        return Image._of(handle)

    @staticmethod
    def _of(handle: int) -> Image:
        image = Image.__new__(Image)
        image._native = NativeImage(handle, None)
        return image

    def compress_many(self, compressions: Iterable[Union[Compression, float]]) -> List[Image]:
        """Returns a compressed copy for each of several compressions, and decodes the image at most once.

        Each compression is a `Compression` or a quality. The image is decoded at the smallest scale that
        suffices for all copies, which are encoded together while rows are decoded. Copies of a PNG
        or of pixels, and those that need no decoding, have the same bytes as from `compress`. Those of a
        JPEG have the same size and almost the same pixels. The strictest limits apply to the decoding. If
        one copy fails, the call fails. Releases the GIL while it runs.
        """
        import array

        settings: List[int] = []
        try:
            for one in compressions:
                settings.append(native_compression(one if isinstance(one, Compression) else Compression(one)))
            count = len(settings)
            given, made = array.array("Q", settings), array.array("Q", bytes(8 * count))
            check(
                lib.wherry_image_compress_many(
                    self._native.handle, given.buffer_info()[0], count, made.buffer_info()[0]
                )
            )
        finally:
            for handle in settings:
                lib.wherry_compression_free(handle)
        return [Image._of(handle) for handle in made]

    def pixels(self, order: Optional[str] = None, **options: Any) -> memoryview:
        """Decodes the image and returns its pixels as an upright uint8 array, top row first.

        The shape is (h, w) for the order "gray", (h, w, 3) for "rgb", and (h, w, 4) for "rgba" and
        "bgra". None selects the smallest of "gray", "rgb", and "rgba" that has all channels of the image.
        Samples of more than 8 bits are always reduced to 8 bits.

        If alpha is removed, the image is blended with ``background=``. "gray" is the luminance of
        the colors. The keyword arguments are those of `Compression`; only size, sharpening, background,
        orientation and limits apply. You can pass the array to numpy.asarray and to `Image`. Releases the
        GIL while it runs.
        """
        wanted = pixel_format(order)
        settings = native_compression(Compression(**options))
        try:
            handle = create(lib.wherry_image_decode, self._native.handle, wanted, settings)
        finally:
            lib.wherry_compression_free(settings)
        try:
            return _array(handle)
        finally:
            lib.wherry_image_free(handle)

    def hash(self, kind: str = "perceptual", **options: Any) -> ImageHash:
        """Decodes the image and returns a perceptual hash: images that look the same have similar ones.

        The kind "difference" compares neighboring pixels, and "perceptual" the lowest frequencies, which
        survive more edits. The hashes equal ``dhash`` and ``phash`` of imagehash 4.3 with Pillow 13, but the
        image is rotated upright first unless ``keep_orientation=True``, and 16-bit gray images are not
        clipped. Alpha is ignored.

        The keyword arguments are those of `Compression`; only orientation and limits apply. Releases the
        GIL while it runs.
        """
        if kind not in _HASHES:
            raise ArgumentError(
                f"the kind of a hash must be one of {', '.join(_HASHES)}, not {brief(kind)}", "bad_value"
            )
        settings = native_compression(Compression(**options))
        cell = Cell()
        try:
            check(lib.wherry_image_hash(self._native.handle, _HASHES[kind], settings, cell.address))
        finally:
            lib.wherry_compression_free(settings)
        return ImageHash(cell.take())

    def compare(self, other: Any, **options: Any) -> ImageComparison:
        """Compares the image with another one of the same size, such as a compressed copy.

        ``other`` is an `Image` or anything that `Image` accepts. SSIM uses a Gaussian window of 11x11 pixels
        with a standard deviation of 1.5, at every position inside the image. Along a side of fewer than 11
        pixels, the window is as long as the side.

        Both images are rotated upright, and alpha is blended with ``background=``. The keyword arguments are
        those of `Compression`; only background, orientation and limits apply. Images of different sizes
        raise an `ArgumentError`. Releases the GIL while it runs.
        """
        native = NativeImage.of(other)
        settings = native_compression(Compression(**options))
        try:
            values: Any = read_struct(
                IMAGE_COMPARISON, lib.wherry_image_compare, self._native.handle, native.handle, settings
            )
        finally:
            lib.wherry_compression_free(settings)
        return ImageComparison(*values)

    @property
    def content(self) -> bytes:
        """The encoded image, if it was created from bytes or by `compress`; otherwise b""."""
        count = Cell()
        found = lib.wherry_image_bytes(self._native.handle, count.address)
        return bytes_at(found, count.take()) if found else b""

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes `content` to a file. Raises an `ArgumentError` if nothing is encoded: call `compress` first."""
        content = self.content
        if not content:
            raise ArgumentError("The image has no encoded content to save. Call compress() first.")
        with open(path, "wb") as file:
            file.write(content)

    def __repr__(self) -> str:
        return f"<Image {self._native.description}>"


class NativeImage:
    """A native image object, and the Python memory that it reads."""

    __slots__ = ("handle", "description", "name", "_view")

    def __init__(self, handle: int, view: Optional[memoryview], description: str = "bytes") -> None:
        self.handle = handle
        self.description = description
        self.name: Optional[str] = None
        self._view = view

    def name_for_uploads(self, name: Optional[str]) -> None:
        """Sets the file name. None derives a name from the time and the index."""
        label = None if name is None else file_name_text(name)
        check(lib.wherry_image_set_file_name(self.handle, label))
        self.name = name

    def add_to(self, request: int, label: bytes, name: Optional[str], settings: int) -> None:
        """Adds the image to a request. ``name`` overrides the file name for this request."""
        known = self.name
        if name is not None:
            self.name_for_uploads(name)
        try:
            check(lib.wherry_request_add_image(request, label, self.handle, settings))
        finally:
            if name is not None:
                self.name_for_uploads(known)

    def __del__(self) -> None:
        handle, self.handle = self.handle, 0
        if handle and lib is not None:
            # Waits until its pixels are no longer in use.
            check_freed(lib.wherry_image_free(handle))
        if self._view is not None:
            self._view.release()

    @classmethod
    def of(cls, image: Any) -> NativeImage:
        """Creates a native image from any supported object."""
        if isinstance(image, Image):
            return image._native
        if is_path(image):
            path = path_text(os.path.abspath(os.fsdecode(image)))
            return cls(create(lib.wherry_image_new_file, path), None, os.fsdecode(image))
        if isinstance(image, (bytes, bytearray)):
            return cls.encoded(bytes(image))
        if hasattr(image, "tobytes") and hasattr(image, "mode") and hasattr(image, "size"):
            return cls.pixels(_pillow(image))
        try:
            view = memoryview(image)
        except TypeError:
            raise TypeError(f"{type(image).__name__} is not an image") from None
        if view.ndim == 1 and view.itemsize == 1:
            return cls.encoded(bytes(view))
        return cls.pixels(view)

    @classmethod
    def encoded(cls, data: bytes) -> NativeImage:
        """Creates a native image from an encoded file in memory."""
        description = f"{len(data)} bytes"
        return cls(create(lib.wherry_image_new_bytes, data, len(data)), None, description)

    @classmethod
    def pixels(cls, view: memoryview) -> NativeImage:
        """Creates a native image from an array.

        The array is not copied if its pixels are contiguous in each row.
        """
        shape = view.shape or ()
        channels = shape[2] if len(shape) == 3 else 1
        is_byte = view.format in ("B", "<B", "@B")
        if not is_byte or len(shape) not in (2, 3) or channels not in _CHANNELS:
            raise ArgumentError(
                f"an array of shape {shape} and format {brief(view.format)} is not an image. "
                "Pass uint8 of shape (h, w), (h, w, 3) or (h, w, 4).",
                "bad_argument",
            )
        height, width = shape[0], shape[1]
        row = width * channels
        inner = (channels, 1) if len(shape) == 3 else (1,)
        steps = view.strides or ()
        if view.suboffsets or steps[1:] != inner or steps[0] < row or 0 in shape:
            view = memoryview(view.tobytes())  # Copy arrays with reversed or interleaved rows.
            steps = (row,)
        return cls(
            create(
                lib.wherry_image_new_pixels_lent, memory_at(view),
                steps[0] * (height - 1) + row if height else 0, _CHANNELS[channels], width, height,
                steps[0],
            ),
            view,
            f"{width}x{height} pixels",
        )  # fmt: skip


def is_path(image: Any) -> bool:
    """Whether an image is given as a path."""
    return isinstance(image, (str, os.PathLike))


def native_compression(settings: Compression) -> int:
    """Creates a native object with the settings."""
    handle = create(lib.wherry_compression_new, settings.quality)
    try:
        for option, number in settings.options:
            check(lib.wherry_compression_set_option(handle, option, number))
        if settings.type is not None:
            check(lib.wherry_compression_set_type(handle, text(settings.type)))
        for field, value in settings.texts:
            check(lib.wherry_compression_set_metadata(handle, field, value))
    except BaseException:
        lib.wherry_compression_free(handle)
        raise
    return handle


def pixel_format(order: Optional[str]) -> int:
    """Returns the native pixel format of an order; that of None is chosen by the library."""
    if order is None:
        return codes.PIXELS_NONE
    if order not in _ORDERS:
        raise ArgumentError(f"the order of pixels must be one of {', '.join(_ORDERS)}, not {brief(order)}", "bad_value")
    return _ORDERS[order]


def pixel_array(image: NativeImage) -> memoryview:
    """Returns the raw pixels of a native image as a read-only array, without a copy."""
    width, height = read_struct(IMAGE_INFO, lib.wherry_image_inspect, image.handle)[4:6]
    stride = Cell()
    place = lib.wherry_image_pixels(image.handle, None, stride.address)
    channels = stride.take() // width  # Decoded rows have no padding.
    shape = (height, width) if channels == 1 else (height, width, channels)
    return lent_memory(place, height * width * channels, image).cast("B", shape)


def _array(handle: int) -> memoryview:
    """Returns a copy of the raw pixels of a native image."""
    info = ImageInfo(read_struct(IMAGE_INFO, lib.wherry_image_inspect, handle))
    stride = Cell()
    place = lib.wherry_image_pixels(handle, None, stride.address)
    channels = stride.take() // info.width  # Decoded rows have no padding.
    data = memoryview(bytes_at(place, info.height * info.width * channels))
    shape = (info.height, info.width) if channels == 1 else (info.height, info.width, channels)
    return data.cast("B", shape)


def _pillow(image: Any) -> memoryview:
    """Returns the pixels of a Pillow image as an array."""
    if image.mode not in _MODES:
        has_alpha = "A" in image.mode or "transparency" in getattr(image, "info", {})
        image = image.convert("RGBA" if has_alpha else "RGB")
    width, height = image.size
    data = memoryview(image.tobytes())
    return data.cast("B", (int(height), int(width), _MODES[image.mode])) if data.nbytes else data.cast("B", (0, 0))
