# Wherry: image uploads
# SPDX-License-Identifier: Apache-2.0
"""Creates the request of an image upload."""

from __future__ import annotations

from .._core import option_table
from .._core.forms import pairs
from .._core.images import Compression, NativeImage, is_path, native_compression
from .._core.settings import conversions
from .._core.values import keyword_int, text, whole
from .._errors import ArgumentError, Keyword, brief
from .._native import codes
from .._native.library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Union

    from .._background.session import BaseSession
    from .._client.requests import ClientRequests
    from .._core.exchange.draft import Draft

_KEYWORDS = conversions(option_table.UPLOAD)


def prepare(
    client: Union[ClientRequests[Any], BaseSession], url: str, images: Any, options: Mapping[str, Any]
) -> Draft:
    """Creates the request of an upload."""
    rest = dict(options)
    name, quality = rest.pop("name", "image"), rest.pop("quality", 1.0)
    settings = rest.pop("compression", None)
    if settings is not None and "quality" in options:
        raise ArgumentError(
            "quality= and compression= cannot be combined. Use Compression(quality).",
            "bad_argument",
        )
    settings = settings or Compression(quality)
    fields, progress = rest.pop("fields", None), rest.pop("progress", None)
    separate = rest.pop("separate", 0)
    part_headers = rest.pop("part_headers", None)
    if "skip_broken" in rest:
        raise ArgumentError("an upload has no skip_broken=. Use unreadable='skip'.", "bad_argument")
    numbers = [(codes.OPTION_IMAGE_RETRIES, rest.pop("image_retries", None))]
    for option_name, (option, convert) in _KEYWORDS.items():
        setting = rest.pop(option_name, None)
        if setting is not None:
            numbers.append((option, keyword_int(option_name, convert, setting)))
    if not isinstance(settings, Compression):
        raise TypeError(f"compression= takes a Compression, not {brief(settings)}")
    draft = client._draft(rest.pop("method", "POST"), url, rest)
    draft.record_body("", None)
    try:
        draft.separate(keyword_int("separate", whole, separate))
        for option, value in numbers:
            if value is not None:
                draft.option(option, int(value))
        _add(draft, images, name, settings, fields, part_headers)
        draft.set_progress(progress)
    except BaseException:
        draft.free()
        raise
    return draft


def _add(
    draft: Draft,
    images: Any,
    name: str,
    compression: Compression,
    fields: Optional[Mapping[str, Any]],
    part_headers: Any,
) -> None:
    """Adds the images and the form fields to a request."""
    items = as_list(images)
    if not items:
        raise ArgumentError("an upload needs at least one image", "no_images")
    _add_fields(draft, fields)
    with Keyword("name"):
        label = text(name, "bad_header")
    settings = native_compression(compression)
    try:
        for item in items:
            file_name, image = item if isinstance(item, tuple) else (None, item)
            image = NativeImage.of(image)
            image.add_to(draft.handle, label, file_name, settings)
            draft.part_headers(part_headers)
            # Pixels that are not copied must live as long as the draft of the transfer.
            draft.images.append(image)
    finally:
        lib.wherry_compression_free(settings)


def _add_fields(draft: Draft, fields: Optional[Mapping[str, Any]]) -> None:
    """Adds form fields before the files: servers such as S3 ignore fields after a file."""
    plain: Dict[str, Any] = {}
    has_bytes = False
    for field, value in pairs(fields or {}, "fields"):
        if isinstance(value, (bytes, bytearray)):
            has_bytes = True
            draft.part(str(field), None, bytes(value), None)
        elif has_bytes and isinstance(value, str):
            draft.part(str(field), None, value.encode(), None)  # Parameters come before parts.
        else:
            plain[str(field)] = value
    if plain:
        draft.parameters(plain)


def as_list(images: Any) -> List[Any]:
    """Returns a list of images from one or several. A pair (name, image) counts as one image."""
    if isinstance(images, (list, set, frozenset)) or hasattr(images, "__next__"):
        return list(images)
    if isinstance(images, tuple):
        is_named = len(images) == 2 and isinstance(images[0], str) and not is_path(images[1])
        return [images] if is_named else list(images)
    return [images]
