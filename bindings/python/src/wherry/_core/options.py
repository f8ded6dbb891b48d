# Wherry: timeouts and immutable values
# SPDX-License-Identifier: Apache-2.0
"""Timeouts, and the base of the immutable values that clients and requests use as settings."""

from __future__ import annotations

from .._errors import brief
from .._native import codes
from .values import milliseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Optional, Tuple, Union

    Seconds = Union[float, None, "Unset"]
    TimeoutLike = Union[None, float, Tuple[Optional[float], Optional[float]], "Timeout"]


class Unset:
    """The type of `UNSET`, which means that no value is given and the default applies."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = Unset()


class Fixed:
    """An immutable value.

    A change would have no effect on clients and requests that have read it already.
    """

    __slots__ = ()
    #: The advice in the error message: how to use another value.
    _advice = "Create another one."

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    if not TYPE_CHECKING:  # Otherwise, type checkers would accept any name.

        def __setattr__(self, name: str, value: Any) -> None:
            kind = type(self).__name__
            raise AttributeError(f"Could not set {name}: a {kind} cannot be changed. {self._advice}")

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
    value = kind.__new__(kind)
    Fixed._set(value, **values)
    return value


class Timeout(Fixed):
    """Timeouts in seconds. None means no limit; an omitted timeout keeps its current setting.

    ``Timeout(5)`` limits each wait, as ``timeout=5`` does: it sets ``connect``, ``first_byte``, and
    ``idle``. ``Timeout(5, connect=60)`` overrides one of these timeouts.

    * ``connect`` (default: 10) limits the name lookup, the connection, and the TLS handshake together.

    * ``first_byte`` (default: 30) limits the wait for the response.

    * ``idle`` (default: 20) limits the time without any byte in either direction.

    * ``total`` (default: none) limits everything, including redirects and retries.

    While a request waits for the response, both ``idle`` and ``first_byte`` limit it, so by default it waits
    at most 20 seconds. Only ``first_byte`` limits this wait in downloads.
    """

    __slots__ = ("idle", "connect", "first_byte", "total")
    _advice = "Create another one, such as client.timeout = Timeout(idle=5)."

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
        self._set(**limits, total=total)
        for _ in self.options():  # Raises an error for invalid limits.
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
                yield option, 0 if seconds is None else _limit(seconds)

    def __repr__(self) -> str:
        limits = [(n, getattr(self, n)) for n in self.__slots__]
        text = ", ".join(f"{n}={v}" for n, v in limits if not isinstance(v, Unset))
        return f"Timeout({text})"


#: The types that ``timeout=`` accepts.
TIMEOUTS = "timeout= takes a number of seconds, a pair (connect, idle) of them, a Timeout, or None"


def _limit(seconds: float) -> int:
    try:
        return milliseconds(seconds, "timeout=", none="no limit")
    except TypeError:
        raise TypeError(f"{TIMEOUTS}, not {brief(seconds)}") from None
