# Wherry: timeouts, credentials and compression settings
# SPDX-License-Identifier: Apache-2.0
"""Timeouts, credentials, and other small values that clients and requests use as settings."""

from __future__ import annotations

from ._core.errors import ArgumentError, brief
from ._native import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union,
    )  # fmt: skip

    from ._flows import Auth
    from ._sent import SentRequest

    Word = Union[str, bytes]
    Seconds = Union[float, None, "Unset"]
    TimeoutLike = Union[None, float, Tuple[Optional[float], Optional[float]], "Timeout"]
    AuthLike = Union[
        None, Tuple[str, str], Tuple[bytes, bytes], "Basic", "Bearer", "DigestAuth", "Auth",
        Callable[["SentRequest"], Any],
    ]  # fmt: skip


class Unset:
    """The type of `UNSET`, which means that no value is given and the default applies."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = Unset()

#: The keywords for a body. Only a form (``data=``) and ``files=`` can be combined.
BODIES = ("json", "data", "content", "files")


def refuse_pairs(options: Mapping[str, Any]) -> None:
    """Raises ArgumentError if keywords of one request exclude each other."""
    told = [name for name in BODIES if options.get(name) is not None]
    if len(told) < 2 or set(told) == {"data", "files"}:
        if len(told) == 2 and options["files"] and not is_form(options["data"]):
            raise ArgumentError(
                "data= with files= must be a form: a mapping or pairs of names and values, not "
                f"{type(options['data']).__name__}. Send a text as one of the fields.", "bad_argument",
            )  # fmt: skip
        if not (options.get("overwrite") and options.get("rename")):
            return
        told = ["overwrite", "rename"]
    words = " and ".join(f"{name}=" for name in told)
    raise ArgumentError(f"{words} cannot be combined", "bad_argument")


def is_form(data: Any) -> bool:
    """Returns whether ``data=`` contains form fields: a mapping, or pairs."""
    return hasattr(data, "keys") or (
        isinstance(data, (list, tuple)) and all(isinstance(pair, (list, tuple)) for pair in data)
    )


class Fixed:
    """An immutable value.

    A change would have no effect on clients and requests that already read it.
    """

    __slots__ = ()
    #: The advice in the error message: how to use another value.
    _way = "Create another one."

    def _fix(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    if not TYPE_CHECKING:  # Otherwise, type checkers would accept any name.

        def __setattr__(self, name: str, value: Any) -> None:
            kind = type(self).__name__
            raise AttributeError(f"Could not set {name}: a {kind} cannot be changed. {self._way}")

        def __delattr__(self, name: str) -> None:
            self.__setattr__(name, None)

    def _values(self) -> Dict[str, Any]:
        names = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
        values = {name: getattr(self, name) for name in names}
        return {**values, **getattr(self, "__dict__", {})}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values().values()))

    def __reduce__(self) -> Tuple[Any, ...]:
        return _fixed, (type(self), self._values())


def _fixed(kind: Any, values: Dict[str, Any]) -> Any:
    """Recreates a pickled value."""
    made = kind.__new__(kind)
    Fixed._fix(made, **values)
    return made


class Timeout(Fixed):
    """Timeouts in seconds. None means no limit; an omitted timeout keeps its current setting.

    ``Timeout(5)`` limits each wait, as ``timeout=5`` does: it sets ``connect``, ``first_byte``, and
    ``idle``. ``Timeout(5, connect=60)`` gives one of them another limit.

    * ``connect`` (default: 10) limits the name lookup, the connection, and the TLS handshake.

    * ``first_byte`` (default: 30) limits the wait for the response.

    * ``idle`` (default: 20) limits the time without any byte in either direction.

    * ``total`` (default: none) limits everything, including redirects and retries.

    The wait for the response is idle time too: except for downloads, the shorter of ``idle`` and
    ``first_byte`` limits it.
    """

    __slots__ = ("idle", "connect", "first_byte", "total")
    _way = "Create another one, such as client.timeout = Timeout(idle=5)."

    idle: Seconds
    connect: Seconds
    first_byte: Seconds
    total: Seconds

    def __init__(
        self,
        timeout: Seconds = UNSET,
        *,
        idle: Seconds = UNSET,
        connect: Seconds = UNSET,
        first_byte: Seconds = UNSET,
        total: Seconds = UNSET,
    ) -> None:
        waits = {"idle": idle, "connect": connect, "first_byte": first_byte}
        limits = {name: timeout if isinstance(each, Unset) else each for name, each in waits.items()}
        self._fix(**limits, total=total)
        for _ in self.options():  # Raises an error for limits that are none.
            pass

    @classmethod
    def of(cls, value: TimeoutLike) -> Timeout:
        """Converts ``timeout=``: a number limits each wait, as in requests; a pair is (connect, idle)."""
        if isinstance(value, Timeout):
            return value
        if isinstance(value, tuple):
            if len(value) != 2:
                raise TypeError(f"{TIMEOUTS}, not {brief(value)}")
            connect, idle = value
            return cls(idle=idle, connect=connect, first_byte=idle)
        return cls(value)

    def options(self) -> Iterator[Tuple[int, int]]:
        """Yields the native options that this timeout sets, in milliseconds."""
        for option, seconds in (
            (codes.OPTION_IDLE_TIMEOUT_MS, self.idle),
            (codes.OPTION_CONNECT_TIMEOUT_MS, self.connect),
            (codes.OPTION_FIRST_BYTE_TIMEOUT_MS, self.first_byte),
            (codes.OPTION_TOTAL_TIMEOUT_MS, self.total),
        ):
            if not isinstance(seconds, Unset):
                yield option, 0 if seconds is None else milliseconds(seconds)

    def __repr__(self) -> str:
        said = [(n, getattr(self, n)) for n in self.__slots__]
        told = ", ".join(f"{n}={v}" for n, v in said if not isinstance(v, Unset))
        return f"Timeout({told})"


#: What ``timeout=`` accepts.
TIMEOUTS = "timeout= takes a number of seconds, a pair (connect, idle) of them, a Timeout, or None"


def milliseconds(seconds: float) -> int:
    """Converts positive seconds to milliseconds.

    The result is never 0, which would mean no limit.
    """
    try:
        is_possible = not isinstance(seconds, bool) and 0 < seconds <= 9e12
    except TypeError:
        raise TypeError(f"{TIMEOUTS}, not {brief(seconds)}") from None
    if isinstance(seconds, bool):
        raise TypeError(f"{TIMEOUTS}, not {seconds}")
    if not is_possible:
        raise ArgumentError(
            "timeout= must be more than 0 and at most 9e12 seconds, or None for no limit, not "
            f"{brief(seconds)}", "bad_value",
        )  # fmt: skip
    return max(1, round(seconds * 1000))


class Basic(Fixed):
    """A user name and password for Basic authentication (RFC 7617), in UTF-8.

    A tuple (user, password) does the same. Raises ArgumentError if the user name contains a colon,
    or if either value contains control characters.
    """

    __slots__ = ("username", "password")
    _way = "Create another one, such as client.auth = Basic(user, password)."

    username: Union[str, bytes]
    password: Union[str, bytes]

    def __init__(self, username: Union[str, bytes], password: Union[str, bytes]) -> None:
        self._fix(username=username, password=password)
        self.field()  # Raises an error for values that cannot be sent.

    def field(self) -> str:
        """Returns the value of the Authorization header."""
        import binascii

        user, password = _secret(self.username, "user name"), _secret(self.password, "password")
        if b":" in user:
            raise ArgumentError(
                "auth=: a user name for Basic must not contain a colon (RFC 7617). Use another "
                "authentication scheme.", "bad_value",
            )  # fmt: skip
        raw = user + b":" + password
        return "Basic " + binascii.b2a_base64(raw, newline=False).decode("ascii")

    def __repr__(self) -> str:
        return f"Basic({self.username!r}, ...)"


#: The name of `Basic` in httpx.
BasicAuth = Basic


class DigestAuth(Fixed):
    """A user name and password for Digest authentication (RFC 7616).

    The algorithms are SHA-512-256, SHA-256, and MD5; the strongest that the server offers is used.
    The password itself is never sent. The server rejects the first request, which is sent again
    with its complete body. Later requests to the same origin need no second attempt.

    If the server requires a digest of the body (``qop=auth-int``), a body that can be read only
    once fails with ``body_spent``. If the server requires Basic instead, the call returns the 401
    response, unless ``basic=True`` allows Basic.
    """

    __slots__ = ("username", "password", "basic")
    _way = "Create another one, such as client.auth = DigestAuth(user, password)."

    username: str
    password: str
    basic: bool

    def __init__(self, username: str, password: str, *, basic: bool = False) -> None:
        self._fix(username=username, password=password, basic=basic)

    def __repr__(self) -> str:
        return f"DigestAuth({self.username!r}, ...)"


class Bearer(Fixed):
    """A token for ``Authorization: Bearer``."""

    __slots__ = ("token",)
    _way = "Create another one, such as client.auth = Bearer(token)."

    token: str

    def __init__(self, token: str) -> None:
        self._fix(token=token)
        self.field()  # Raises an error for values that cannot be sent.

    def field(self) -> str:
        """Returns the value of the Authorization header."""
        token = self.token
        if not isinstance(token, str):
            raise TypeError(f"auth=: the token of Bearer must be str, not {type(token).__name__}")
        if not token or not all(" " < each < "\x7f" for each in token):
            raise ArgumentError(
                "auth=: a Bearer token must be one or more visible ASCII characters (RFC 6750)",
                "bad_header",
            )  # fmt: skip
        return f"Bearer {token}"

    def __repr__(self) -> str:
        return "Bearer(...)"


def _secret(value: Any, what: str) -> bytes:
    """Encodes a user name or password, and rejects control characters."""
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"auth=: a {what} must be str or bytes, not {type(value).__name__}")
    try:
        raw = value if isinstance(value, bytes) else value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"auth=: the {what} is not Unicode text", "bad_value") from None
    if any(byte < 0x20 or byte == 0x7F for byte in raw):
        raise ArgumentError(f"auth=: a {what} must not contain control characters (RFC 7617)", "bad_value")
    return raw


def is_flow(auth: Any) -> bool:
    """Returns whether ``auth=`` is an auth flow: an `Auth`, or a function that edits the request."""
    return not isinstance(auth, type) and (
        hasattr(auth, "auth_flow") or hasattr(auth, "sync_auth_flow")
        or hasattr(auth, "async_auth_flow") or callable(auth)
    )  # fmt: skip


def credentials(auth: AuthLike) -> Union[None, Basic, Bearer, DigestAuth]:
    """Converts ``auth=`` to credentials."""
    if auth is None or isinstance(auth, (Basic, Bearer, DigestAuth)):
        return auth
    if isinstance(auth, tuple) and len(auth) == 2:
        return Basic(*auth)
    if isinstance(auth, type):
        kind = f"the class {auth.__name__}. Create an object of it"
    else:  # The message omits the value, which may contain a password.
        kind = f"a tuple of {_count(auth)}" if isinstance(auth, tuple) else type(auth).__name__
    raise TypeError(
        f"auth= takes (user, password), Basic, Bearer, DigestAuth, Auth, or a function, not {kind}"
    )


def login(auth: Any) -> Union[None, Basic, DigestAuth]:
    """Converts the result of an ``on_credentials=`` callback to credentials."""
    found = credentials(auth)
    if isinstance(found, Bearer):
        raise TypeError("on_credentials= must return (user, password) or None, not Bearer")
    return found


def pairs(values: Any, argument: str) -> List[Tuple[Any, Any]]:
    """Returns the items of a mapping or of an iterable of pairs. An error names the argument."""
    if hasattr(values, "keys"):
        return [(name, values[name]) for name in values.keys()]
    if isinstance(values, NO_PAIRS) or not hasattr(values, "__iter__"):
        raise TypeError(f"{argument}= takes a mapping or pairs, not {type(values).__name__}")
    found = []
    for place, pair in enumerate(values):
        # A text of two characters, a set, and a mapping can be unpacked too, but are never a pair.
        if isinstance(pair, NO_PAIRS) or hasattr(pair, "keys") or not hasattr(pair, "__iter__"):
            raise _no_pair(argument, place, f"is {_kind(pair)}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise _no_pair(argument, place, f"has {_count(pair)}")
        found.append(pair)
    return found


def mapping(values: Any, argument: str) -> Any:
    """Returns a mapping. The error for other values names the argument."""
    if not hasattr(values, "items"):
        raise TypeError(f"{argument}= takes a mapping, not {type(values).__name__}")
    return values


#: Iterables that are neither pairs nor a sequence of pairs.
NO_PAIRS = (str, bytes, bytearray, memoryview, set, frozenset)


def _no_pair(argument: str, place: int, found: str) -> ArgumentError:
    """Returns the error for an item that is no pair: a ValueError, as in requests."""
    return ArgumentError(f"{argument}= takes a mapping or pairs, but item {place} {found}", "bad_argument")


def _kind(value: Any) -> str:
    """Describes a value without its content, which may be secret."""
    return "None" if value is None else f"of type {type(value).__name__}"


def _count(values: Tuple[Any, ...]) -> str:
    return "1 value" if len(values) == 1 else f"{len(values)} values"


def flat(values: Any, argument: str = "data") -> Iterator[Tuple[Word, Word]]:
    """Yields the names and values of a query or form, as httpx does.

    A list repeats its name, None is an empty value, and True and False are the words true and
    false. Bytes that are not UTF-8 stay bytes.
    """
    for name, value in pairs(values, argument):
        several = value if isinstance(value, LISTS) else (value,)
        for one in several:
            yield raw_word(name), one if isinstance(one, Written) else raw_word(one)


def form_bytes(fields: Iterable[Tuple[Word, Word]]) -> bytes:
    """Encodes the fields of a form as ``application/x-www-form-urlencoded``."""
    from urllib.parse import quote

    encoded = ((quote(name, safe=""), quote(value, safe="")) for name, value in fields)
    return "&".join(f"{name}={value}" for name, value in encoded).encode()


class Written(str):
    """A "name=value" pair of a query, which is sent as written."""

    __slots__ = ()


def queried(values: Any) -> List[Tuple[str, str]]:
    """Converts ``params=`` to pairs, like `flat`.

    ``params=`` may also be the text of a query; each value is then `Written`.
    """
    if not isinstance(values, (str, bytes)):
        return [_quoted(name, value) for name, value in flat(values, "params")]
    from urllib.parse import quote_from_bytes, unquote_plus

    if isinstance(values, bytes):
        try:
            values = values.decode()
        except UnicodeDecodeError:
            values = quote_from_bytes(values, safe="!$%&'()*+,/:;=?@[]^`{|}~")
    pieces = values.split("&") if values else []
    return [(unquote_plus(piece.partition("=")[0]), Written(piece)) for piece in pieces]


def _quoted(name: Word, value: Word) -> Tuple[str, str]:
    """Returns a pair of a query.

    If it contains bytes that are not UTF-8, the value is `Written`.
    """
    if isinstance(name, str) and isinstance(value, str):
        return name, value
    return word(name), Written(form_bytes([(name, value)]).decode())


def raw_word(value: Any) -> Word:
    """Converts a value like `word`, but bytes that contain NUL or are not UTF-8 stay bytes."""
    if isinstance(value, (bytes, bytearray)):
        raw = bytes(value)
        try:
            return raw if b"\0" in raw else raw.decode()
        except UnicodeDecodeError:
            return raw
    return word(value)


#: The types whose items are the values of a repeated name.
LISTS: Any = (
    list, tuple, set, frozenset, range, map, filter, zip, type({}.keys()), type({}.values()),
    type(_ for _ in ()),
)  # fmt: skip
#: Functions and classes. Other callable objects may have a text form.
FUNCTIONS: Any = (type, type(len), type(lambda: 0), type([].append), type(LISTS.__iter__))


def word(value: Any) -> str:
    """Converts a value to its text in a query or form."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "surrogateescape")
    if value is True:
        return "true"
    if value is False:
        return "false"
    kind: Any = type(value)
    has_none = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if has_none or hasattr(value, "keys") or hasattr(value, "read") or isinstance(value, FUNCTIONS):
        raise TypeError(
            f"a value of a query, form, or cookie must have a text form, but {kind.__name__} has none. "
            "Use json= or parameters= for nested values, and files= for files."
        )
    return str(value)


def json_bytes(value: Any) -> bytes:
    """Encodes JSON without spaces.

    Raises ArgumentError `bad_parameters` for values that JSON lacks.
    """
    import json

    try:
        return json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ArgumentError(f"the value cannot be encoded as JSON: {error}", "bad_parameters") from error


def json_shape(value: Any) -> Optional[bytes]:
    """Encodes a shape of types, words, lists, and dictionaries for the library; None for None."""
    words = {str: "string", int: "integer", float: "number", bool: "bool", list: "array",
             dict: "object", object: "any"}  # fmt: skip

    def told(value: Any) -> Any:
        if isinstance(value, type) and value in words:
            return words[value]
        if isinstance(value, (list, tuple)):
            return [told(element) for element in value]
        if isinstance(value, dict):
            return {name: told(shape) for name, shape in value.items()}
        if isinstance(value, str):
            return value
        raise TypeError(
            f"json_shape= takes types ({', '.join(sorted(kind.__name__ for kind in words))}),"
            f" lists of one shape and dictionaries, not {brief(value)}"
        )

    return None if value is None else json_bytes(told(value))
