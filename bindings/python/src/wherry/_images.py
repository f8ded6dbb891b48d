# Wherry: pictures of every kind as parts of an upload
# SPDX-License-Identifier: Apache-2.0
"""Paths, encoded bytes, arrays and Pillow images; neither numpy nor Pillow is imported."""

from __future__ import annotations

import os

from . import _codes as codes
from ._bridge import check, lib, made, text
from ._errors import ArgumentError
from ._options import Compression, pairs
from ._request import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Tuple

    from ._base import BaseClient
    from ._request import Draft

_MODES = {"L": codes.PIXELS_GRAY8, "RGB": codes.PIXELS_RGB8, "RGBA": codes.PIXELS_RGBA8}
_CHANNELS = {1: codes.PIXELS_GRAY8, 3: codes.PIXELS_RGB8, 4: codes.PIXELS_RGBA8}


def prepare(
    client: BaseClient[Any], url: str, pictures: Any, options: Mapping[str, Any]
) -> Draft:
    """The request of an upload."""
    rest = dict(options)
    name, quality = rest.pop("name", "image"), rest.pop("quality", 1.0)
    settings = rest.pop("compression", None)
    if settings is not None and "quality" in options:
        raise ArgumentError(
            "quality= and compression= exclude each other: Compression(quality) has both",
            "bad_argument",
        )
    settings = settings or Compression(quality)
    fields, progress = rest.pop("fields", None), rest.pop("progress", None)
    draft = client._draft(rest.pop("method", "POST"), url, rest)
    try:
        _add(draft, pictures, name, settings, fields)
        draft.set_progress(progress)
    except BaseException:
        draft.free()
        raise
    return draft


def _add(
    draft: Draft,
    pictures: Any,
    name: str,
    compression: Compression,
    fields: Optional[Mapping[str, Any]],
) -> None:
    """Adds the pictures and the fields beside them to a request."""
    items = several(pictures)
    if not items:
        raise ArgumentError("an upload needs at least one picture", "no_images")
    label = text(name, "bad_header")
    settings = native_compression(compression)
    try:
        for item in items:
            file_name, picture = item if isinstance(item, tuple) else (None, item)
            image = native_image(picture)
            try:
                if file_name is not None:
                    check(lib.wherry_image_set_file_name(image, text(file_name, "bad_header")))
                check(lib.wherry_request_add_image(draft.handle, label, image, settings))
            finally:
                lib.wherry_image_free(image)
    finally:
        lib.wherry_compression_free(settings)
    plain: Dict[str, Any] = {}
    for field, value in pairs(fields or {}):
        if isinstance(value, (bytes, bytearray)):
            draft.part(str(field), None, bytes(value), None)
        else:
            plain[str(field)] = value
    if plain:
        draft.parameters(plain)
    draft.has_images = True


def several(pictures: Any) -> List[Any]:
    """One picture or many; a pair of a name and a picture is one."""
    if isinstance(pictures, (list, set, frozenset)) or hasattr(pictures, "__next__"):
        return list(pictures)
    if isinstance(pictures, tuple):
        named = len(pictures) == 2 and isinstance(pictures[0], str) and not is_path(pictures[1])
        return [pictures] if named else list(pictures)
    return [pictures]


def is_path(picture: Any) -> bool:
    """Whether the picture is given by a path."""
    return isinstance(picture, (str, os.PathLike))


def native_compression(settings: Compression) -> int:
    """The settings as an object of the library."""
    handle = made(lib.wherry_compression_new, settings.quality)
    try:
        for option, value in settings.options:
            check(lib.wherry_compression_set_option(handle, option, value))
        if settings.type is not None:
            check(lib.wherry_compression_set_type(handle, text(settings.type)))
    except BaseException:
        lib.wherry_compression_free(handle)
        raise
    return handle


def native_image(picture: Any) -> int:
    """A picture as an object of the library."""
    if is_path(picture):
        path = path_text(os.path.abspath(os.fsdecode(picture)))
        return made(lib.wherry_image_new_file, path)
    if isinstance(picture, (bytes, bytearray)):
        return made(lib.wherry_image_new_bytes, bytes(picture), len(picture))
    if hasattr(picture, "tobytes") and hasattr(picture, "mode") and hasattr(picture, "size"):
        data, form, width, height = _pillow(picture)
    else:
        try:
            view = memoryview(picture)
        except TypeError:
            raise TypeError(f"{type(picture).__name__} is not a picture") from None
        if view.ndim == 1 and view.itemsize == 1:
            return made(lib.wherry_image_new_bytes, bytes(view), view.nbytes)
        data, form, width, height = _array(view)
    channels = {v: k for k, v in _CHANNELS.items()}[form]
    return made(
        lib.wherry_image_new_pixels, data, len(data), form, width, height, width * channels
    )


def _pillow(picture: Any) -> Tuple[bytes, int, int, int]:
    if picture.mode not in _MODES:
        has_alpha = "A" in picture.mode or "transparency" in getattr(picture, "info", {})
        picture = picture.convert("RGBA" if has_alpha else "RGB")
    width, height = picture.size
    return picture.tobytes(), _MODES[picture.mode], int(width), int(height)


def _array(view: memoryview) -> Tuple[bytes, int, int, int]:
    shape = view.shape or ()
    channels = shape[2] if len(shape) == 3 else 1
    is_byte = view.format in ("B", "<B", "@B")
    if not is_byte or len(shape) not in (2, 3) or channels not in _CHANNELS:
        raise ArgumentError(
            f"an array of shape {shape} and format {view.format!r} is not a picture: "
            "uint8 of shape (h, w), (h, w, 3) or (h, w, 4) is",
            "bad_argument",
        )
    return view.tobytes(), _CHANNELS[channels], shape[1], shape[0]
