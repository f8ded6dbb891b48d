# Wherry: credentials
# SPDX-License-Identifier: Apache-2.0
"""Credentials for ``auth=``: Basic, Bearer, and Digest."""

from __future__ import annotations

from .._errors import ArgumentError
from .forms import count_text
from .options import Fixed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Tuple, Union

    from .request.auth_flow import Auth
    from .request.sent import SentRequest

    AuthLike = Union[
        None, Tuple[str, str], Tuple[bytes, bytes], "Basic", "Bearer", "DigestAuth", "Auth",
        Callable[["SentRequest"], Any],
    ]  # fmt: skip


class Basic(Fixed):
    """A user name and password for Basic authentication (RFC 7617), in UTF-8.

    A tuple (user, password) has the same effect. Raises ArgumentError if the user name contains a
    colon, or if either value contains control characters.
    """

    __slots__ = ("username", "password")
    _advice = "Create another one, such as client.auth = Basic(user, password)."

    username: Union[str, bytes]
    password: Union[str, bytes]

    def __init__(self, username: Union[str, bytes], password: Union[str, bytes]) -> None:
        self._set(username=username, password=password)
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
    The password itself is never sent. The server rejects the first request, which is then repeated
    with its complete body. Later requests to the same origin need no second attempt.

    If the server requires a digest of the body (``qop=auth-int``), a request whose body can be read
    only once fails with ``body_spent``. If the server requires Basic instead, the call returns the
    401 response, unless ``basic=True`` allows Basic.
    """

    __slots__ = ("username", "password", "basic")
    _advice = "Create another one, such as client.auth = DigestAuth(user, password)."

    username: str
    password: str
    basic: bool

    def __init__(self, username: str, password: str, *, basic: bool = False) -> None:
        self._set(username=username, password=password, basic=basic)

    def __repr__(self) -> str:
        return f"DigestAuth({self.username!r}, ...)"


class Bearer(Fixed):
    """A token for ``Authorization: Bearer``."""

    __slots__ = ("token",)
    _advice = "Create another one, such as client.auth = Bearer(token)."

    token: str

    def __init__(self, token: str) -> None:
        self._set(token=token)
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
        kind = f"a tuple of {count_text(auth)}" if isinstance(auth, tuple) else type(auth).__name__
    raise TypeError(f"auth= takes (user, password), Basic, Bearer, DigestAuth, Auth, or a function, not {kind}")


def hook_credentials(auth: Any) -> Union[None, Basic, DigestAuth]:
    """Converts the result of an ``on_credentials=`` hook to credentials."""
    found = credentials(auth)
    if isinstance(found, Bearer):
        raise TypeError("on_credentials= must return (user, password) or None, not Bearer")
    return found
