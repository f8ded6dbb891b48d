# Wherry: the options behind keywords
# SPDX-License-Identifier: Apache-2.0
# Written by scripts/make-options from options.toml.
"""For each keyword: the number of its option, and the function of `values` that converts its value."""

from __future__ import annotations

from .._native import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Tuple

#: The numbers of named values, by keyword.
WORDS: Dict[str, Dict[str, int]] = {
    "array_style": {"brackets": 0, "repeat": 1, "index": 2},
    "unreadable": {"fail": 0, "skip": 1, "send": 2},
    "body_digest": {"none": 0, "md5": 1, "sha256": 3, "sha512": 4},
    "part_digests": {"none": 0, "md5": 1, "sha256": 3, "sha512": 4},
    "member_style": {"brackets": 0, "dots": 1},
    "bool_style": {"digits": 0, "words": 1},
    "body_coding": {"identity": 0, "gzip": 1, "deflate": 2},
    "coded_body": {"skip": 0, "replace": 1, "error": 2},
    "deny_addresses": {"loopback": 1, "private": 2, "link_local": 4, "metadata": 8, "multicast": 16, "not_public": 31},
    "pin_mode": {"keys": 0, "certificates": 1},
    "partial_of": {"url": 0, "same_path": 1, "any": 2},
}
#: Keywords of requests.
REQUEST: Dict[str, Tuple[int, str]] = {
    "hook_timeout": (codes.OPTION_HOOK_TIMEOUT_MS, "milliseconds"),
    "max_redirects": (codes.OPTION_MAX_REDIRECTS, "whole"),
    "keep_auth_across_hosts": (codes.OPTION_KEEP_AUTH_ACROSS_HOSTS, "whole"),
    "max_retries": (codes.OPTION_MAX_RETRIES, "whole"),
    "retry_unsafe_methods": (codes.OPTION_RETRY_UNSAFE_METHODS, "whole"),
    "wait_for_network": (codes.OPTION_WAIT_FOR_NETWORK_MS, "milliseconds"),
    "http_version": (codes.OPTION_HTTP_VERSION, "http_version"),
    "max_body_bytes": (codes.OPTION_MAX_BODY_BYTES, "whole"),
    "max_send_bytes_per_second": (codes.OPTION_MAX_SEND_BYTES_PER_SECOND, "whole"),
    "max_receive_bytes_per_second": (codes.OPTION_MAX_RECEIVE_BYTES_PER_SECOND, "whole"),
    "default_parameters": (codes.OPTION_DEFAULT_PARAMETERS, "whole"),
    "ignore_base": (codes.OPTION_IGNORE_BASE, "whole"),
    "json_only": (codes.OPTION_JSON_ONLY, "whole"),
    "array_style": (codes.OPTION_ARRAY_STYLE, "words"),
    "priority": (codes.OPTION_PRIORITY, "whole"),
    "extended_names": (codes.OPTION_EXTENDED_NAMES, "whole"),
    "body_digest": (codes.OPTION_BODY_DIGEST, "words"),
    "part_digests": (codes.OPTION_PART_DIGESTS, "words"),
    "member_style": (codes.OPTION_MEMBER_STYLE, "words"),
    "bool_style": (codes.OPTION_BOOL_STYLE, "words"),
    "coalesce": (codes.OPTION_COALESCE, "whole"),
    "body_coding": (codes.OPTION_BODY_CODING, "words"),
    "deny_metered": (codes.OPTION_DENY_METERED, "whole"),
    "body_coding_min_bytes": (codes.OPTION_BODY_CODING_MIN_BYTES, "whole"),
    "coded_body": (codes.OPTION_CODED_BODY, "words"),
    "make_directories": (codes.OPTION_MAKE_DIRECTORIES, "whole"),
    "max_retry_after": (codes.OPTION_MAX_RETRY_AFTER_MS, "milliseconds"),
    "require_verified_length": (codes.OPTION_REQUIRE_VERIFIED_LENGTH, "whole"),
    "keep_alive": (codes.OPTION_KEEP_ALIVE, "whole"),
    "cache_stream": (codes.OPTION_CACHE_STREAM, "whole"),
}
#: Further keywords of uploads.
UPLOAD: Dict[str, Tuple[int, str]] = {
    "unreadable": (codes.OPTION_UNREADABLE_IMAGES, "words"),
}
#: Keywords of downloads.
DOWNLOAD: Dict[str, Tuple[int, str]] = {
    "make_directories": (codes.OPTION_MAKE_DIRECTORIES, "whole"),
    "segments": (codes.OPTION_SEGMENTS, "segments"),
    "stall_timeout": (codes.OPTION_STALL_TIMEOUT_MS, "milliseconds"),
    "partial_of": (codes.OPTION_PARTIAL_OF, "words"),
    "server_time": (codes.OPTION_KEEP_SERVER_TIME, "whole"),
}
#: Numeric settings of a client.
CLIENT: Dict[str, Tuple[int, str]] = {
    "hook_timeout": (codes.OPTION_HOOK_TIMEOUT_MS, "milliseconds"),
    "max_redirects": (codes.OPTION_MAX_REDIRECTS, "whole"),
    "keep_auth_across_hosts": (codes.OPTION_KEEP_AUTH_ACROSS_HOSTS, "whole"),
    "max_retries": (codes.OPTION_MAX_RETRIES, "whole"),
    "retry_unsafe_methods": (codes.OPTION_RETRY_UNSAFE_METHODS, "whole"),
    "wait_for_network": (codes.OPTION_WAIT_FOR_NETWORK_MS, "milliseconds"),
    "send_languages": (codes.OPTION_SEND_LANGUAGES, "whole"),
    "http_version": (codes.OPTION_HTTP_VERSION, "http_version"),
    "compressed": (codes.OPTION_COMPRESSED, "whole"),
    "max_body_bytes": (codes.OPTION_MAX_BODY_BYTES, "whole"),
    "max_header_bytes": (codes.OPTION_MAX_HEADER_BYTES, "whole"),
    "max_send_bytes_per_second": (codes.OPTION_MAX_SEND_BYTES_PER_SECOND, "whole"),
    "max_receive_bytes_per_second": (codes.OPTION_MAX_RECEIVE_BYTES_PER_SECOND, "whole"),
    "max_download_bytes_per_second": (codes.OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND, "whole"),
    "json_only": (codes.OPTION_JSON_ONLY, "whole"),
    "array_style": (codes.OPTION_ARRAY_STYLE, "words"),
    "cookies": (codes.OPTION_COOKIES, "cookie_handling"),
    "unreadable": (codes.OPTION_UNREADABLE_IMAGES, "words"),
    "extended_names": (codes.OPTION_EXTENDED_NAMES, "whole"),
    "body_digest": (codes.OPTION_BODY_DIGEST, "words"),
    "part_digests": (codes.OPTION_PART_DIGESTS, "words"),
    "max_per_host": (codes.OPTION_MAX_PER_HOST, "whole"),
    "max_connections": (codes.OPTION_MAX_CONNECTIONS, "whole"),
    "max_downloads": (codes.OPTION_MAX_DOWNLOADS, "whole"),
    "member_style": (codes.OPTION_MEMBER_STYLE, "words"),
    "bool_style": (codes.OPTION_BOOL_STYLE, "words"),
    "body_coding": (codes.OPTION_BODY_CODING, "words"),
    "deny_metered": (codes.OPTION_DENY_METERED, "whole"),
    "body_coding_min_bytes": (codes.OPTION_BODY_CODING_MIN_BYTES, "whole"),
    "coded_body": (codes.OPTION_CODED_BODY, "words"),
    "cache": (codes.OPTION_HTTP_CACHE, "whole"),
    "cache_max_bytes": (codes.OPTION_CACHE_MAX_BYTES, "whole"),
    "cache_memory_bytes": (codes.OPTION_CACHE_MEMORY_BYTES, "whole"),
    "image_memory_bytes": (codes.OPTION_IMAGE_MEMORY_BYTES, "whole"),
    "rate_limit": (codes.OPTION_RATE_LIMIT, "whole"),
    "host_rate_limit": (codes.OPTION_HOST_RATE_LIMIT, "whole"),
    "rate_burst": (codes.OPTION_RATE_BURST, "whole"),
    "rate_interval": (codes.OPTION_RATE_INTERVAL_MS, "milliseconds"),
    "make_directories": (codes.OPTION_MAKE_DIRECTORIES, "whole"),
    "durability": (codes.OPTION_DURABILITY, "whole"),
    "segments": (codes.OPTION_SEGMENTS, "segments"),
    "stall_bytes_per_second": (codes.OPTION_STALL_BYTES_PER_SECOND, "whole"),
    "stall_timeout": (codes.OPTION_STALL_TIMEOUT_MS, "milliseconds"),
    "max_retry_after": (codes.OPTION_MAX_RETRY_AFTER_MS, "milliseconds"),
    "debug": (codes.OPTION_DEBUG, "whole"),
    "server_time": (codes.OPTION_KEEP_SERVER_TIME, "whole"),
    "require_verified_length": (codes.OPTION_REQUIRE_VERIFIED_LENGTH, "whole"),
    "keep_alive": (codes.OPTION_KEEP_ALIVE, "whole"),
}
#: String settings of a client.
CLIENT_TEXTS: Dict[str, int] = {
    "base_url": codes.TEXT_BASE_URL,
    "app_version": codes.TEXT_APP_VERSION,
    "user_agent": codes.TEXT_USER_AGENT,
    "app_name": codes.TEXT_APP_NAME,
    "image_names": codes.TEXT_IMAGE_NAMES,
    "jpeg_type": codes.TEXT_JPEG_TYPE,
}
#: Numeric settings of a new client.
NEW_CLIENT: Dict[str, Tuple[int, str]] = {
    "https_only": (codes.OPTION_HTTPS_ONLY, "whole"),
    "require_tls_1_3": (codes.OPTION_REQUIRE_TLS_1_3, "whole"),
    "require_staple": (codes.OPTION_REQUIRE_STAPLE, "whole"),
    "allow_invalid": (codes.OPTION_ALLOW_INVALID, "whole"),
    "check_name": (codes.OPTION_CHECK_NAME, "whole"),
    "require_pins": (codes.OPTION_REQUIRE_PINS, "whole"),
    "report_pins": (codes.OPTION_REPORT_PINS, "whole"),
}
#: String settings of a new client.
NEW_CLIENT_TEXTS: Dict[str, int] = {
    "storage_name": codes.TEXT_STORAGE_NAME,
    "storage_directory": codes.TEXT_STORAGE_DIRECTORY,
    "proxy": codes.TEXT_PROXY,
    "interface": codes.TEXT_INTERFACE,
}
#: Those that background sessions have as well.
SESSION_TEXTS: Dict[str, int] = {
    "proxy": codes.TEXT_PROXY,
    "interface": codes.TEXT_INTERFACE,
}
