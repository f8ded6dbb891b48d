# Wherry: TLS trust settings of a client
# SPDX-License-Identifier: Apache-2.0
"""Applies ``verify=``, ``cert=``, ``pins=``, and related settings to a native configuration."""

from __future__ import annotations

import os

from .._errors import ArgumentError, Keyword, brief
from .._native import codes
from .._native.library import lib
from .calls import check
from .forms import mapping
from .option_table import WORDS
from .settings import FIXED_NUMBERS
from .values import as_names, keyword_int, path_text, text, word_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

    from .keywords import Cert, Pins, Verify


def apply_trust(
    config: int,
    verify: Verify,
    cert: Cert,
    pins: Optional[Pins],
    base_url: str,
    others: Dict[str, Any],
) -> Dict[str, Any]:
    """Applies the trust settings to a configuration, removes them from `others`, and returns them."""
    applied: Dict[str, Any] = {}
    for name in [name for name in others if name in FIXED_NUMBERS or name in _SPECIAL]:
        applied[name] = value = others.pop(name)
        if value is None:
            continue
        if name in FIXED_NUMBERS:
            option, convert = FIXED_NUMBERS[name]
            number = keyword_int(name, convert, value)
            check(lib.wherry_config_set_option(config, option, number))
        else:
            with Keyword(name):
                _SPECIAL[name](config, value)
    with Keyword("verify"):
        _verify(config, verify)
    with Keyword("cert"):
        _set_certificates(config, cert, base_url)
    with Keyword("pins"):
        for host, pins_of_host in mapping(pins or {}, "pins").items():
            _pin(config, host, pins_of_host)
    return applied


def _set_certificates(config: int, cert: Cert, base_url: str) -> None:
    for origin, certificate in _certificates(cert, base_url or None):
        path, key, password = certificate
        check(
            lib.wherry_config_set_client_certificate(
                config, None if origin is None else text(origin), path_text(os.fspath(path)),
                None if key is None else path_text(os.fspath(key)),
                None if password is None else text(password),
            )
        )  # fmt: skip


def _verify(config: int, verify: Verify) -> None:
    if verify is True:
        return
    if verify is False:
        check(lib.wherry_config_set_option(config, codes.OPTION_INSECURE, 1))
    elif isinstance(verify, (bytes, bytearray)) and verify:
        check(lib.wherry_config_set_ca_certificates(config, bytes(verify), len(verify)))
    elif isinstance(verify, (str, os.PathLike)) and os.fspath(verify):
        path = os.fspath(verify)
        option = codes.TEXT_CA_DIRECTORY if os.path.isdir(path) else codes.TEXT_CA_FILE
        check(lib.wherry_config_set_text(config, option, path_text(path)))
    else:
        raise TypeError(
            f"verify= takes True, False, the path of a CA file or folder, or PEM bytes, not {brief(verify)}"
        )


def _certificates(
    cert: Cert, home: Optional[str]
) -> Iterable[Tuple[Optional[str], Tuple[Any, Optional[Any], Optional[str]]]]:
    if cert is None:
        return
    if hasattr(cert, "items"):
        for origin, one in cert.items():
            yield origin, _certificate(one)
    else:
        yield home, _certificate(cert)


def _certificate(cert: Any) -> Tuple[Any, Optional[Any], Optional[str]]:
    if isinstance(cert, (str, os.PathLike)):
        return cert, None, None
    if isinstance(cert, tuple) and 2 <= len(cert) <= 3:
        return cert[0], cert[1], cert[2] if len(cert) == 3 else None
    found = f"a tuple of length {len(cert)}" if isinstance(cert, tuple) else type(cert).__name__
    # The message omits the value, which may contain a password.
    raise TypeError(
        "cert= takes a path, (certificate, key) or (certificate, key, password),"
        f" or a dictionary of these by origin, not {found}"
    )


def _pin(config: int, host: str, value: Any) -> None:
    single = isinstance(value, (str, bytes, bytearray, os.PathLike)) or not hasattr(value, "__iter__")
    pins: List[Any] = [value] if single else list(value)
    if not pins:
        raise ArgumentError(f"{brief(host)} has no pins. Add one, or omit the host.", "bad_pin")
    for pin in pins:
        if isinstance(pin, (bytes, bytearray)):
            check(lib.wherry_config_add_pin_certificate(config, text(host), bytes(pin), len(pin)))
        else:
            check(lib.wherry_config_add_pin(config, text(host), path_text(os.fspath(pin))))


def _pin_mode(config: int, mode: str) -> None:
    check(lib.wherry_config_set_option(config, codes.OPTION_PIN_MODE, word_number("pin_mode", mode)))


def _pin_expiry(config: int, times: Mapping[str, float]) -> None:
    for host, seconds in mapping(times, "pin_expiry").items():
        if not isinstance(seconds, (int, float)):
            raise TypeError(f"pin_expiry= takes seconds since 1970 for {brief(host)}, not {brief(seconds)}")
        check(lib.wherry_config_set_pin_expiry(config, text(host), int(seconds)))


def _deny_addresses(config: int, kinds: Union[str, Iterable[str]]) -> None:
    bits, known = 0, WORDS["deny_addresses"]
    for word in as_names(kinds):
        if word not in known:
            raise ArgumentError(
                f"deny_addresses= must be one or more of {', '.join(known)}, not {brief(word)}", "bad_value"
            )
        bits |= known[word]
    check(lib.wherry_config_set_option(config, codes.OPTION_DENY_ADDRESSES, bits))


def _crl_file(config: int, path: Any) -> None:
    check(lib.wherry_config_set_text(config, codes.TEXT_CRL_FILE, path_text(os.fspath(path))))


_SPECIAL: Dict[str, Callable[[int, Any], None]] = {
    "pin_mode": _pin_mode,
    "pin_expiry": _pin_expiry,
    "deny_addresses": _deny_addresses,
    "crl_file": _crl_file,
}
