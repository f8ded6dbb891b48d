# Wherry: hashes of images and results of comparisons
# SPDX-License-Identifier: Apache-2.0
"""Results of `Image.hash` and `Image.compare`."""

from __future__ import annotations

from .._errors import ArgumentError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union


class ImageHash:
    """A perceptual hash of 64 bits. Images that look the same have similar hashes.

    ``a - b`` is the number of bits in which two hashes differ: usually at most 4 for copies of an
    image, and 20 or more for different images. Compare only hashes of the same kind. ``str(hash)``
    has 16 hexadecimal digits, as the package imagehash prints them, and ``int(hash)`` is the number.
    ``ImageHash("c3d1...")`` and ``ImageHash(number)`` create a hash that was stored.
    """

    __slots__ = ("_bits",)

    def __init__(self, hash: Union[int, str]) -> None:
        if isinstance(hash, str):
            if len(hash) != 16 or not set(hash) <= set("0123456789abcdefABCDEF"):
                raise ArgumentError(f"a hash has 16 hexadecimal digits, unlike {brief(hash)}", "bad_value")
            hash = int(hash, 16)
        if not 0 <= hash < 1 << 64:
            raise ArgumentError(f"a hash has 64 bits, unlike {brief(hash)}", "bad_value")
        self._bits = hash

    def __sub__(self, other: ImageHash) -> int:
        if not isinstance(other, ImageHash):
            return NotImplemented
        return bin(self._bits ^ other._bits).count("1")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageHash) and self._bits == other._bits

    def __hash__(self) -> int:
        return hash(self._bits)

    def __int__(self) -> int:
        return self._bits

    def __str__(self) -> str:
        return f"{self._bits:016x}"

    def __repr__(self) -> str:
        return f"ImageHash({str(self)!r})"


class ImageComparison:
    """The similarity of two images: a result of `Image.compare`. Attributes:

    ``ssim``   the mean structural similarity of the gray images, 1 for equal images
    ``psnr``   the peak signal-to-noise ratio of the RGB images in decibels; ``math.inf`` for equal images
    """

    __slots__ = ("psnr", "ssim")

    def __init__(self, ssim: float, psnr: float) -> None:
        self.ssim = ssim
        self.psnr = psnr

    def __repr__(self) -> str:
        return f"<ImageComparison ssim={self.ssim:.4f} psnr={self.psnr:.2f}>"
