# Wherry: image compression settings
# SPDX-License-Identifier: Apache-2.0
"""`Compression`: the settings for compressing images."""

from __future__ import annotations

from ._core.errors import brief
from ._core.values import choice
from ._native import codes
from ._options import Fixed, milliseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

_FORMATS = {"keep": 0, "jpeg": 1, "png": 2}
_ANIMATED = {"refuse": 0, "first": 1}
_METADATA = {"none": 1, "icc": 2, "no_gps": 3, "all": 4}


class Compression(Fixed):
    """Settings for compressing images before upload. None keeps the default of a setting.

    ``quality`` is the JPEG quality, 0 to 1 (default: 1). 1 sends the original if it fits the other
    settings. Any number outside this range means 1, so 50 is not a percentage.

    ``format`` is "keep", "jpeg" or "png"; other values raise an error. ``type`` is the older form:
    "png" or "PNG" means PNG, and any other value means JPEG.

    ``animated`` is "refuse" (the default) or "first", which decodes the default image of an animated
    PNG.
    """

    __slots__ = ("quality", "type", "options")
    _way = "Create another one, such as Compression(0.5, max_width=1600)."

    quality: float
    type: Optional[str]
    options: Tuple[Tuple[int, int], ...]

    def __init__(
        self,
        quality: float = 1.0,
        *,
        type: Optional[str] = None,
        format: Optional[str] = None,
        max_width: Optional[int] = None,
        max_height: Optional[int] = None,
        max_bytes: Optional[int] = None,
        background: Optional[int] = None,
        metadata: Optional[str] = None,
        keep_orientation: Optional[bool] = None,
        never_larger: Optional[bool] = None,
        optimize: Optional[bool] = None,
        progressive: Optional[bool] = None,
        subsampling: Optional[int] = None,
        best_filter: Optional[bool] = None,
        animated: Optional[str] = None,
        max_pixels: Optional[int] = None,
        max_memory_bytes: Optional[int] = None,
        deadline: Optional[float] = None,
    ) -> None:
        numbers = (
            (codes.IMAGE_MAX_WIDTH, max_width),
            (codes.IMAGE_MAX_HEIGHT, max_height),
            (codes.IMAGE_MAX_BYTES, max_bytes),
            (codes.IMAGE_FORMAT, choice(_FORMATS, "format", format)),
            (codes.IMAGE_BACKGROUND_RGB, background),
            (codes.IMAGE_METADATA, choice(_METADATA, "metadata", metadata)),
            (codes.IMAGE_KEEP_ORIENTATION, keep_orientation),
            (codes.IMAGE_NEVER_LARGER, never_larger),
            (codes.IMAGE_OPTIMIZE, optimize),
            (codes.IMAGE_PROGRESSIVE, progressive),
            (codes.IMAGE_SUBSAMPLING, subsampling),
            (codes.IMAGE_BEST_FILTER, best_filter),
            (codes.IMAGE_ANIMATED, choice(_ANIMATED, "animated", animated)),
            (codes.IMAGE_MAX_PIXELS, max_pixels),
            (codes.IMAGE_MAX_MEMORY_BYTES, max_memory_bytes),
            (codes.IMAGE_DEADLINE_MS, None if deadline is None else milliseconds(deadline)),
        )
        options = tuple((option, int(value)) for option, value in numbers if value is not None)
        if isinstance(quality, (str, bytes)) or not hasattr(quality, "__float__"):
            raise TypeError(f"quality= takes a number from 0 to 1, not {brief(quality)}")
        self._fix(quality=float(quality), type=type, options=options)
