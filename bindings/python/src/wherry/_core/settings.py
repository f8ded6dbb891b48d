# Wherry: the settings of a client
# SPDX-License-Identifier: Apache-2.0
"""The names of a client's settings, and their options in wherry.h."""

from __future__ import annotations

from .._errors import ArgumentError, brief
from .._native import codes
from .values import (
    array_style, body_coding, bool_style, coded_body, content_digest, http_version, member_style,
    milliseconds, segments, unreadable_images, whole,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Tuple

#: The default limit of redirects.
MAX_REDIRECTS = 10


def cookie_handling(value: Any) -> int:
    """Returns the number for ``cookies=`` of a client: a bool, or "isolated"."""
    if value == "isolated":
        return 3
    if isinstance(value, str) or value not in (False, True):
        raise ArgumentError(f'cookies= takes True, False, "isolated", or a mapping, not {brief(value)}', "bad_value")
    return whole(value)


#: Settings that are numbers: the option, and the function that converts the value.
NUMBERS: Dict[str, Tuple[int, Callable[[Any], int]]] = {
    "max_redirects": (codes.OPTION_MAX_REDIRECTS, whole),
    "decision_timeout": (codes.OPTION_DECISION_TIMEOUT_MS, milliseconds),
    "max_retries": (codes.OPTION_MAX_RETRIES, whole),
    "retry_unsafe_methods": (codes.OPTION_RETRY_UNSAFE_METHODS, whole),
    "wait_for_network": (codes.OPTION_WAIT_FOR_NETWORK_MS, milliseconds),
    "require_verified_length": (codes.OPTION_REQUIRE_VERIFIED_LENGTH, whole),
    "deny_metered": (codes.OPTION_DENY_METERED, whole),
    "keep_alive": (codes.OPTION_KEEP_ALIVE, whole),
    "keep_auth_across_hosts": (codes.OPTION_KEEP_AUTH_ACROSS_HOSTS, whole),
    "http_version": (codes.OPTION_HTTP_VERSION, http_version),
    "compressed": (codes.OPTION_COMPRESSED, whole),
    "max_body_bytes": (codes.OPTION_MAX_BODY_BYTES, whole),
    "max_header_bytes": (codes.OPTION_MAX_HEADER_BYTES, whole),
    "max_send_bytes_per_second": (codes.OPTION_MAX_SEND_BYTES_PER_SECOND, whole),
    "max_receive_bytes_per_second": (codes.OPTION_MAX_RECEIVE_BYTES_PER_SECOND, whole),
    "max_download_bytes_per_second": (codes.OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND, whole),
    "json_only": (codes.OPTION_JSON_ONLY, whole),
    "array_style": (codes.OPTION_ARRAY_STYLE, array_style),
    "member_style": (codes.OPTION_MEMBER_STYLE, member_style),
    "bool_style": (codes.OPTION_BOOL_STYLE, bool_style),
    "extended_names": (codes.OPTION_EXTENDED_NAMES, whole),
    "unreadable": (codes.OPTION_UNREADABLE_IMAGES, unreadable_images),
    "body_digest": (codes.OPTION_BODY_DIGEST, content_digest),
    "part_digests": (codes.OPTION_PART_DIGESTS, content_digest),
    "body_coding": (codes.OPTION_BODY_CODING, body_coding),
    "body_coding_min_bytes": (codes.OPTION_BODY_CODING_MIN_BYTES, whole),
    "coded_body": (codes.OPTION_CODED_BODY, coded_body),
    "max_per_host": (codes.OPTION_MAX_PER_HOST, whole),
    "max_connections": (codes.OPTION_MAX_CONNECTIONS, whole),
    "rate_limit": (codes.OPTION_RATE_LIMIT, whole),
    "host_rate_limit": (codes.OPTION_HOST_RATE_LIMIT, whole),
    "rate_burst": (codes.OPTION_RATE_BURST, whole),
    "rate_interval": (codes.OPTION_RATE_INTERVAL_MS, milliseconds),
    "send_languages": (codes.OPTION_SEND_LANGUAGES, whole),
    "cookies": (codes.OPTION_COOKIES, cookie_handling),
    "cache": (codes.OPTION_HTTP_CACHE, whole),
    "cache_max_bytes": (codes.OPTION_CACHE_MAX_BYTES, whole),
    "cache_memory_bytes": (codes.OPTION_CACHE_MEMORY_BYTES, whole),
    "make_directories": (codes.OPTION_MAKE_DIRECTORIES, whole),
    "durability": (codes.OPTION_DURABILITY, whole),
    "max_downloads": (codes.OPTION_MAX_DOWNLOADS, whole),
    "server_time": (codes.OPTION_KEEP_SERVER_TIME, whole),
    "segments": (codes.OPTION_SEGMENTS, segments),
    "stall_bytes_per_second": (codes.OPTION_STALL_BYTES_PER_SECOND, whole),
    "stall_timeout": (codes.OPTION_STALL_TIMEOUT_MS, milliseconds),
    "max_retry_after": (codes.OPTION_MAX_RETRY_AFTER_MS, milliseconds),
    "debug": (codes.OPTION_DEBUG, whole),
}
#: Settings that are text.
TEXTS: Dict[str, int] = {
    "base_url": codes.TEXT_BASE_URL,
    "app_version": codes.TEXT_APP_VERSION,
    "app_name": codes.TEXT_APP_NAME,
    "user_agent": codes.TEXT_USER_AGENT,
    "image_names": codes.TEXT_IMAGE_NAMES,
    "jpeg_type": codes.TEXT_JPEG_TYPE,
}
#: Settings that only a new client accepts.
FIXED: Dict[str, int] = {
    "storage_name": codes.TEXT_STORAGE_NAME,
    "storage_directory": codes.TEXT_STORAGE_DIRECTORY,
    "proxy": codes.TEXT_PROXY,
    "interface": codes.TEXT_INTERFACE,
}
#: Settings that are the defaults of request keywords.
DEFAULTS = frozenset(
    ("adapt", "on_retry", "refresh_token", "on_head", "on_redirect", "accept_status_range")
)
