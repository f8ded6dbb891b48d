# Wherry: deterministic pseudo-random bytes, the same in Python, Swift and C.
# SPDX-License-Identifier: Apache-2.0
"""The bytes behind ``/bytes/N?seed=S``.

The stream is a sequence of 64-bit little-endian words (all arithmetic modulo 2**64)::

    mix(z):  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
             z = (z ^ (z >> 27)) * 0x94D049BB133111EB
             z ^ (z >> 31)
    G = 0x9E3779B97F4A7C15
    word(i) = mix(S + (i % 8192 + 1) * G) ^ mix((S ^ 0x6A09E667F3BCC909) + (i / 8192) * G)

Byte ``n`` is byte ``n % 8`` of word ``n / 8``. Bytes at any offset can be computed directly. A block
of 65,536 bytes is a table XORed with a mask, which is fast in Python.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Iterator

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
SALT = 0x6A09E667F3BCC909
WORDS = 8192
BLOCK = WORDS * 8


def mix(z: int) -> int:
    """The finalizer of splitmix64."""
    z &= MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


@functools.lru_cache(maxsize=64)
def _table(seed: int) -> int:
    raw = b"".join(mix(seed + (j + 1) * GAMMA).to_bytes(8, "little") for j in range(WORDS))
    return int.from_bytes(raw, "little")


@functools.lru_cache(maxsize=256)
def block(seed: int, index: int) -> bytes:
    """Returns block ``index`` (65,536 bytes) of the stream with a seed."""
    mask = mix((seed ^ SALT) + index * GAMMA).to_bytes(8, "little") * WORDS
    return (_table(seed) ^ int.from_bytes(mask, "little")).to_bytes(BLOCK, "little")


def stream(seed: int, start: int, end: int) -> Iterator[bytes]:
    """Yields the bytes [start, end) in chunks of at most one block."""
    seed &= MASK
    position = start
    while position < end:
        index, offset = divmod(position, BLOCK)
        stop = min(BLOCK, offset + end - position)
        piece = block(seed, index)
        yield piece if stop - offset == BLOCK else piece[offset:stop]
        position += stop - offset


def data(seed: int, start: int, end: int) -> bytes:
    """Returns the bytes [start, end) in one chunk."""
    return b"".join(stream(seed, start, end))


@functools.lru_cache(maxsize=1024)
def digest(seed: int, size: int, name: str = "sha256") -> bytes:
    """Returns the digest of the first ``size`` bytes."""
    state = hashlib.new(name)
    for piece in stream(seed, 0, size):
        state.update(piece)
    return state.digest()
