# Wherry: loads the shared library and declares its functions
# SPDX-License-Identifier: Apache-2.0
"""The location of libwherry, and the prototypes of its functions.

`DECLARATIONS` contains the declarations of ``include/wherry.h`` verbatim. The ctypes prototype of a
function is parsed from its declaration on first use, so the two cannot differ.
"""

from __future__ import annotations

import ctypes
import os
import struct

from . import forking
from .prototypes import DECLARATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional

    Function = Callable[..., Any]

#: The directory of the package `wherry`.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: The major and minor version of the library that these declarations match.
ABI = 0 * 1000 + 1

# Handles and out-parameters are plain addresses, because an int is the cheapest ctypes argument.
_TYPES: Dict[str, Any] = {
    "void": None,
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "const char *": ctypes.c_char_p,
}

_LOADED_SEGMENT = 1

#: The characters of the names of functions and parameters.
_NAME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

# Calls that can be slow release the GIL. The others keep the GIL, so that a busy program does not
# give it up several times per request.
_SLOW_ENDS = tuple(
    "_" + end
    for end in (
        "perform perform_for wait next read drain pause resume cancel discard download send"
        " send_url send_group upload_images load_image load_image_for prefetch_image list ratio set_log_file advance_ms restart copy_storage new_file"
        " new_bytes new_pixels new_pixels_lent image_free image_decode image_hash image_compare image_read_photo inspect compress compress_many read_cache"
        " write_cache remove_cache list_cache clear_cache read_cache_entry cache_usage access load"
        " load_next load_previous load_page refresh copy_items endpoint_json"
    ).split()
)
_SLOW_NAMES = frozenset(
    "wherry_" + name
    for name in (
        "agent_main client_new client_free queue_new queue_free endpoint_free pager_free"
        " request_set_body request_add_part request_add_part_file reachability_start"
        " reachability_stop reachability_free"
    ).split()
)


def _is_slow(name: str) -> bool:
    return name.endswith(_SLOW_ENDS) or name in _SLOW_NAMES or name.startswith("wherry_session_")


class Library:
    """The loaded library. Each function becomes an attribute on first use."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._slow = ctypes.CDLL(path)
        self._quick = ctypes.PyDLL(path, handle=self._slow._handle)

    def __getattr__(self, name: str) -> Function:
        function = self._new_function(name)
        setattr(self, name, function)
        return function

    def _new_function(self, name: str, has_prepared_arguments: bool = False) -> Function:
        line = declaration(name)
        if line is None:
            raise AttributeError(f"{name} is not a function of wherry.h")
        # Indexing creates a new function, so a thread never sets the types of one that another thread calls.
        function = (self._slow if _is_slow(name) else self._quick)[name]
        function.restype, *types = prototype(line)
        if not has_prepared_arguments:
            function.argtypes = types
        return function

    def prepared(self, name: str) -> Function:
        """See `prepared`."""
        return self._new_function(name, has_prepared_arguments=True)


def declaration(name: str) -> Optional[str]:
    """Returns the declaration of a function on one line, without the semicolon. None if there is none."""
    place = DECLARATIONS.find(f"{name}(")
    if place < 0 or DECLARATIONS[place - 1] not in " *":
        return None
    start, end = DECLARATIONS.rfind(";", 0, place) + 1, DECLARATIONS.index(";", place)
    lines = DECLARATIONS[start:end].split("\n")
    return " ".join([line.strip() for line in lines if not line.startswith("//")]).strip()


def prototype(line: str) -> List[Any]:
    """Returns the ctypes types of a declaration: the result type, then the parameter types."""
    result, _, rest = line.partition("(")
    # A text with a count may contain NULs, at which a c_char_p would end.
    types = [ctypes.c_void_p if _type(result) is ctypes.c_char_p and "*out_count" in rest else _type(result)]
    for parameter in rest.rstrip(" );").split(", "):
        if parameter != "void":
            types.append(_type(parameter))
    return types


def _type(text: str) -> Any:
    words = text.rstrip(_NAME_LETTERS).strip()
    found = _TYPES.get(words)
    if found is None and words not in _TYPES:
        found = ctypes.c_void_p if "*" in words else ctypes.c_int  # a pointer, or an enum
    return found


def _checkout() -> Optional[str]:
    """The top of the checkout that contains this file; None in an installed package."""
    root = os.path.abspath(os.path.join(_PACKAGE, *[os.pardir] * 4))
    return root if os.path.exists(os.path.join(root, "include", "wherry.h")) else None


def candidates() -> Iterator[str]:
    """Yields the possible paths of the library, best first."""
    path = os.environ.get("WHERRY_LIBRARY")
    if path:
        yield path
        return
    yield os.path.join(_PACKAGE, "_lib", "libwherry.so.0")
    root = _checkout()
    if root is not None:
        built = [
            os.path.join(root, *parts)
            for parts in (
                ("build", "libwherry.so.0"),
                (".build", "release", "libwherry-c.so"),
                (".build", "debug", "libwherry-c.so"),
            )
        ]
        yield from sorted(filter(os.path.exists, built), key=os.path.getmtime, reverse=True) or built
    yield "libwherry.so.0"


def is_truncated(path: str) -> bool:
    """Whether the library file is truncated. The system's loader would crash on such a file."""
    try:
        with open(path, "rb", buffering=0) as file:
            return os.fstat(file.fileno()).st_size < loaded_size(file.read(4096))
    except OSError:
        return False


def loaded_size(head: bytes) -> int:
    """The size that a 64-bit ELF file must have, from its program headers."""
    if head[:6] != b"\x7fELF\x02\x01":
        return 0
    if len(head) < 64:
        return 64
    start, width, count = struct.unpack_from("<32xQ14xHH", head)
    ends = [64]
    for at in range(start, start + width * count, width or 1):
        if at + 56 > len(head):
            ends.append(at + 56)
            continue
        kind, offset, size = struct.unpack_from("<I4xQ16xQ", head, at)
        if kind == _LOADED_SEGMENT:
            ends.append(offset + size)
    return max(ends)


def _advice() -> str:
    if os.environ.get("WHERRY_LIBRARY"):
        return "Correct or unset WHERRY_LIBRARY. Tried:"
    if _checkout() is None:
        return "Install it, or set WHERRY_LIBRARY to its path. Tried:"
    return "Build it (cmake -G Ninja -B build && cmake --build build), or set WHERRY_LIBRARY to its path. Tried:"


def _remedy() -> str:
    """What to do about a library that is damaged or another one."""
    if os.environ.get("WHERRY_LIBRARY"):
        return "Correct or unset WHERRY_LIBRARY."
    return "Install wherry again." if _checkout() is None else "Build the library again."


def _open(path: str) -> Library:
    """Loads a file, or a library of the system. Raises FileNotFoundError if there is none, and ImportError
    with the reason and a remedy if it cannot be used."""
    if os.sep in path:
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        if is_truncated(path):
            raise ImportError(f"Could not load {path}: it is incomplete. {_remedy()}")
    try:
        library = Library(path)
        version = int(library.wherry_library_version())
    except OSError as error:
        from . import faults

        if faults.missing(error) == path:
            raise FileNotFoundError(path) from None
        fault = faults.file_fault(path) if os.sep in path else None
        reason = faults.loading_fault(error, _remedy()) if fault is None else f"{fault}. {_remedy()}"
        raise ImportError(f"Could not load {path}: {reason}") from None
    except AttributeError:
        raise ImportError(f"Could not load {path}: it is another library. {_remedy()}") from None
    if version // 1000 != ABI:
        found = f"{version // 1_000_000}.{version // 1000 % 1000}.{version % 1000}"
        advice = ", or unset WHERRY_LIBRARY." if os.environ.get("WHERRY_LIBRARY") else "."
        raise ImportError(
            f"Could not use {path}: it has version {found}, and this Python package needs version "
            f"{ABI // 1000}.{ABI % 1000}. Install the same version of both" + advice
        )
    return library


def load() -> Library:
    """Loads the library. Raises ImportError, which says why each file that exists cannot be used, or else
    lists every path that was tried."""
    tried: List[str] = []
    failures: List[str] = []
    for path in candidates():
        try:
            return _open(path)
        except FileNotFoundError:
            tried.append(f"{path}: not found")
        except ImportError as error:
            failures.append(str(error))
    if failures:
        raise ImportError("\n".join(failures))
    raise ImportError("libwherry was not found. " + _advice() + "\n  " + "\n  ".join(tried))


class _Lazy:
    """A proxy that loads the native library on the first call, not on import."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(_loaded(), name)
        setattr(self, name, function)
        return function


_library: Optional[Library] = None


def _loaded() -> Library:
    global _library
    if _library is None:
        _library = load()
        forking.watch(_library.wherry_library_restart)
    return _library


def prepared(name: str) -> Function:
    """Returns a function for arguments that need no conversion.

    The arguments are bytes, None, and results of `pointer` and `integer`. Do not pass an int: ctypes
    would cut it off to 32 bits. Every request calls a few of these functions, and converting an int for
    the prototype of a function takes longer than the rest of the call.
    """
    return _loaded().prepared(name)


#: Converts an address, handle, or key to an argument of a `prepared` function. The argument can be used
#: for any number of calls.
pointer = ctypes.c_void_p.from_param
#: Converts an int64_t to such an argument.
integer = ctypes.c_int64.from_param

#: The functions of the library.
lib: Any = _Lazy()
