# Wherry: from keywords to native requests
# SPDX-License-Identifier: Apache-2.0
"""Builds native requests. `KEYWORDS` maps each keyword to the function that applies it."""

from __future__ import annotations

from ..._errors import ArgumentError, brief, check_plain_function, name_keyword
from ..._native import codes
from ..._native.library import lib
from ..._native.memory import Cell, raw_text_at
from ..calls import check, create
from ..credentials import DigestAuth, credentials
from ..forms import flat, form_bytes, is_form, json_bytes, json_shape, pairs, refuse_pairs
from ..headers import refuse_field
from ..option_table import REQUEST
from ..options import Timeout
from ..query import add_query
from ..request.body import Source, join_sources
from ..request.files import Path, body_of, parts
from ..response.response import Response, received
from ..settings import NONE_IS_A_VALUE, conversions
from ..values import (
    CACHE_POLICIES, METHODS, NotWhole, as_names, cut_milliseconds, file_name_text, path_text,
    status_range, text, whole,
)  # fmt: skip
from .hooks import set_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Tuple, Union,
    )  # fmt: skip

    from ..images import NativeImage
    from ..progress import Progress
    from ..request.arguments import RequestArguments


class Draft:
    """A native request under construction, and the objects that it needs while it runs."""

    __slots__ = (
        "handle", "url", "source", "progress", "tag", "context", "accepted", "images",
        "is_separate", "wants_metrics", "on_cached", "functions", "client", "accepted_range",
        "_cache_seconds", "_cache_policy", "arguments", "has_files", "transport_error",
        "uses_jar",
    )  # fmt: skip

    def __init__(self, method: Optional[str], url: str) -> None:
        name = METHODS.get(method)
        if name is None and method is not None:
            if not isinstance(method, (str, bytes)):
                raise TypeError(f"method must be a str such as 'GET', not {brief(method)}")
            name = text(method.upper(), "bad_method")
        self.url = url
        #: The arguments behind `Response.request`.
        self.arguments: Optional[RequestArguments] = None
        self.source: Optional[Source] = None
        self.progress: Optional[Callable[[Progress], object]] = None
        self.tag: Optional[str] = None
        self.context: Any = None
        self.accepted: FrozenSet[int] = frozenset()
        self.accepted_range: Optional[range] = None
        #: The images of an upload.
        self.images: List[NativeImage] = []
        self.is_separate = False
        #: Whether ``data=`` contains the fields of a multipart form.
        self.has_files = False
        self.wants_metrics = False
        self.on_cached: Optional[Callable[[Response], object]] = None
        #: The hooks, by wherry_hook.
        self.functions: Dict[int, Callable[..., Any]] = {}
        #: Whether the client sends the cookies of its jar.
        self.uses_jar = True
        #: The client that uses the token from a ``refresh_token=`` hook.
        self.client: Any = None
        #: The error of the last attempt, if a transport raised it.
        self.transport_error: Optional[BaseException] = None
        self._cache_seconds: float = 0
        self._cache_policy: Optional[int] = None
        self.handle = create(lib.wherry_request_new, name, text(url, "bad_url"))

    def apply(self, options: Mapping[str, Any]) -> Draft:
        """Applies the keywords. Frees the request if a keyword is invalid."""
        try:
            refuse_pairs(options)
            if "files" in options and "data" in options:
                # Fields are sent before files, regardless of the order of the keywords.
                files = options["files"]
                self.has_files = bool(files)
                options = {name: value for name, value in options.items() if name != "files"}
                options["files"] = files
            if options.get("headers") is not None and ("auth" in options or "cookies" in options):
                # ``auth=`` overrides a header; a header overrides ``cookies=``.
                options = {"headers": options["headers"], **options}
            for name, value in options.items():
                function = KEYWORDS.get(name)
                if function is None:
                    from ..hints import KEYWORD, unknown

                    raise unknown("a request has no keyword", name, KEYWORD, KEYWORDS)
                if value is not None or name in NONE_IS_A_VALUE:
                    try:
                        function(self, value)
                    except (TypeError, ArgumentError) as error:
                        name_keyword(name, error)
                        raise
                    except NotWhole:
                        raise ArgumentError(
                            f"{name}= must be a whole number, not {brief(value)}", "bad_value"
                        ) from None
        except BaseException:
            self.free()
            raise
        return self

    def free(self) -> None:
        """Frees the native request."""
        handle, self.handle = self.handle, 0
        if handle:
            lib.wherry_request_free(handle)

    @property
    def needs_events(self) -> bool:
        """Whether the caller must read events while the request runs."""
        return (
            self.source is not None or self.progress is not None or self.on_cached is not None
            or bool(self.functions)
        )  # fmt: skip

    def new_response(self) -> Response:
        """Creates the response, which is empty except for the values that the caller gave."""
        response = received(url=self.url, tag=self.tag)
        response._arguments = self.arguments
        if self.context is not None:
            response.context = self.context
        if self.accepted:
            response._accepted = self.accepted
        if self.accepted_range is not None:
            response._accepted_range = self.accepted_range
        return response

    # Queries and fields

    def params(self, values: Any) -> None:
        add_query(self.handle, values)

    def record_body(self, kind: str, content: Any) -> None:
        """Records the body for `Response.request`."""
        if self.arguments is not None:
            self.arguments.record_body(kind, content)

    def parameters(self, values: Any) -> None:
        known = dict(pairs(values, "parameters"))
        body = json_bytes(known)
        if self.arguments is not None:
            self.arguments.record_parameters(known)
        check(lib.wherry_request_set_parameters_json(self.handle, body, len(body)))

    def headers(self, values: Any) -> None:
        known = set()
        for name, value in pairs(values, "headers"):
            refuse_field(name, value)
            key = text(name, "bad_header").lower()
            if value is not None and key in known:
                field = text(value, "bad_header")
                check(lib.wherry_request_add_header(self.handle, text(name, "bad_header"), field))
            else:
                self.header(name, value)
            known.add(key)

    def header(self, name: Union[str, bytes], value: Union[str, bytes, None]) -> None:
        field = None if value is None else text(value, "bad_header")
        check(lib.wherry_request_set_header(self.handle, text(name, "bad_header"), field))

    def auth(self, value: Any) -> None:
        if value is None:
            self.without_credentials()
            return
        found = credentials(value)
        if isinstance(found, DigestAuth):
            kind = codes.AUTH_ANY if found.basic else codes.AUTH_DIGEST
            user, password = text(found.username), text(found.password)
            check(lib.wherry_request_set_credentials(self.handle, kind, user, password))
        elif found is not None:
            self.header("Authorization", found.field())

    def without_credentials(self) -> None:
        """Omits the client's credentials. A header set on the request itself is kept."""
        if not self.has_header(b"authorization"):
            self.header("Authorization", None)

    def has_header(self, name: bytes) -> bool:
        """Whether the request itself has a header. The name is in lower case."""
        found = Cell()
        index = 0
        while lib.wherry_request_header_at(self.handle, index, found.address, None):
            if raw_text_at(found.take()).lower() == name:
                return True
            index += 1
        return False

    def cookies(self, values: Any) -> None:
        if isinstance(values, bool):
            self.option(codes.OPTION_COOKIES, int(values))
            return
        from ..cookies import cookie_pairs

        if self.has_header(b"cookie"):
            return  # A header takes precedence, as in requests and httpx.
        found = cookie_pairs(values, self.url)
        if not found:
            return
        if any(";" in name + value or "=" in name for name, value in found):
            raise ArgumentError(
                "the names in cookies= must not contain = or a semicolon, and the values no semicolon", "bad_value"
            )
        self.header("Cookie", "; ".join(f"{name}={value}" for name, value in found))
        if self.uses_jar:
            self.option(codes.OPTION_COOKIES, MERGED)

    # Bodies

    def json(self, value: Any) -> None:
        body = json_bytes(value)
        check(lib.wherry_request_set_json(self.handle, body, len(body)))
        self.record_body("application/json", body)

    def data(self, value: Any) -> None:
        if is_form(value):
            self.fields(value)
        else:
            self.content(value, "data")

    def fields(self, values: Any) -> None:
        fields = list(flat(values, "data"))
        self.record_body("application/x-www-form-urlencoded", fields)
        has_bytes = any(isinstance(each, bytes) for pair in fields for each in pair)
        if has_bytes and not self.has_files:
            # The library accepts only text, so other bytes are encoded here.
            body = form_bytes(fields)
            kind = b"application/x-www-form-urlencoded"
            check(lib.wherry_request_set_body(self.handle, body, len(body), kind))
            return
        for name, value in fields:
            if has_bytes:  # Send all fields as parts, which keep their order.
                self.part(name, None, value if isinstance(value, bytes) else value.encode(), None)
                continue
            check(
                lib.wherry_request_add_field(self.handle, text(name, "bad_parameters"), text(value, "bad_parameters"))
            )

    def content(self, value: Any, keyword: str = "content") -> None:
        body = body_of(value)
        self.record_body("", body if isinstance(body, bytes) else None)
        if isinstance(body, Source):
            self.source = body
            body.chunk_name = f"a chunk of {keyword}="
            check(lib.wherry_request_set_body_stream(self.handle, body.count, None))
            if body.restart is not None:
                self.option(codes.OPTION_REWINDABLE_BODY, 1)
        elif isinstance(body, bytes):
            check(lib.wherry_request_set_body(self.handle, body, len(body), None))
        else:
            check(lib.wherry_request_set_body_file(self.handle, path_text(body), None))

    def files(self, values: Any) -> None:
        self.record_body("", None)
        self.set_progress(self.progress)  # Otherwise, parts would report progress by default.
        sources: List[Source] = []
        for field, name, content, kind, headers in parts(values):
            self.part(field, name, content, kind)
            self.part_headers(headers)
            if isinstance(content, Source):
                sources.append(content)
        if sources:
            self.source = join_sources(sources)

    def part_headers(self, values: Any) -> None:
        """Sets headers of the part that was added last."""
        for name, value in pairs(values or {}, "part headers in files"):
            field = text(value, "bad_header")
            check(lib.wherry_request_set_part_header(self.handle, text(name, "bad_header"), field))

    def part(self, field: Union[str, bytes], name: Optional[str], content: Any, kind: Optional[str]) -> None:
        about = (
            None if name is None else file_name_text(name),
            None if kind is None else text(kind, "bad_header"),
        )
        label = text(field, "bad_header")
        if isinstance(content, Path):
            check(lib.wherry_request_add_part_file(self.handle, label, path_text(content), *about))
        elif isinstance(content, Source):
            count = content.count
            check(lib.wherry_request_add_part_stream(self.handle, label, count, *about))
        else:
            check(lib.wherry_request_add_part(self.handle, label, content, len(content), *about))

    # Settings

    def timeout(self, value: Any) -> None:
        for option, number in Timeout.of(value).options():
            self.option(option, number)

    def option(self, option: int, value: int) -> None:
        check(lib.wherry_request_set_option(self.handle, option, value))

    def target_exists(self, what: int, wanted: Any) -> None:
        if wanted:
            self.option(codes.OPTION_TARGET_EXISTS, what)

    def separate(self, count: int) -> None:
        """Sends each image in a separate request, ``count`` at a time."""
        self.is_separate = count > 0
        self.option(codes.OPTION_SEPARATE_IMAGES, whole(count))

    def set_base(self, value: Union[str, Sequence[str]]) -> None:
        check(lib.wherry_request_set_base(self.handle, text(",".join(as_names(value)))))

    def set_tag(self, value: str) -> None:
        self.tag = value
        check(lib.wherry_request_set_text(self.handle, codes.TEXT_TAG, text(value)))

    def set_progress(self, value: Optional[Callable[[Progress], object]]) -> None:
        """Sets the progress callback.

        Without one, no progress events are created, which saves time.
        """
        if value is not None:
            check_plain_function("progress", value)
        self.progress = value
        self.option(codes.OPTION_WANT_PROGRESS, 0 if value is None else 1)

    def accept_status(self, values: Iterable[int]) -> None:
        is_iterable = hasattr(values, "__iter__") and not isinstance(values, (str, bytes))
        self.accepted = frozenset(values) if is_iterable else frozenset()
        if not is_iterable or not all(isinstance(value, int) for value in self.accepted):
            raise TypeError(f"accept_status= takes statuses such as (404, 410), not {brief(values)}")
        for value in self.accepted:
            check(lib.wherry_request_accept_status(self.handle, value))

    def json_shape(self, value: Any) -> None:
        check(lib.wherry_request_set_json_shape(self.handle, json_shape(value)))

    def accept_status_range(self, value: Union[range, Tuple[int, int]]) -> None:
        self.accepted_range = statuses = status_range(value)
        self.option(codes.OPTION_ACCEPT_STATUS_MIN, statuses.start)
        self.option(codes.OPTION_ACCEPT_STATUS_MAX, statuses.stop - 1)

    # Caches

    def cache(self, seconds: float) -> None:
        if isinstance(seconds, bool):
            raise TypeError(f"cache= of a request must be a number of seconds, not {seconds}")
        self._cache_seconds = seconds
        self._set_cache()

    def cache_policy(self, name: str) -> None:
        if not isinstance(name, str) or name not in CACHE_POLICIES:
            known = ", ".join(CACHE_POLICIES)
            raise ArgumentError(f"cache_policy= must be one of {known}, not {brief(name)}", "bad_value")
        self._set_policy(CACHE_POLICIES[name])

    def set_on_cached(self, function: Callable[[Response], object]) -> None:
        check_plain_function("on_cached", function)
        self.on_cached = function
        self._set_policy(codes.CACHE_THEN_NETWORK)

    def _set_policy(self, policy: int) -> None:
        if self._cache_policy not in (None, policy):
            raise ArgumentError(
                'on_cached= implies cache_policy="then_network", and cannot be combined with another policy',
                "bad_argument",
            )
        self._cache_policy = policy
        self._set_cache()

    def _set_cache(self) -> None:
        duration = cut_milliseconds(self._cache_seconds)
        policy = codes.CACHE_USE if self._cache_policy is None else self._cache_policy
        check(lib.wherry_request_set_cache(self.handle, policy, duration))

    def cache_ignore(self, names: Union[str, Iterable[str]]) -> None:
        for name in as_names(names):
            check(lib.wherry_request_add_cache_ignored(self.handle, text(name)))

    def cache_headers(self, names: Union[str, Iterable[str]]) -> None:
        for name in as_names(names):
            check(lib.wherry_request_add_cache_header(self.handle, text(name, "bad_header")))

    def cache_partition(self, value: str) -> None:
        check(lib.wherry_request_set_cache_partition(self.handle, text(value)))

    def stale_if_error(self, seconds: float) -> None:
        milliseconds = cut_milliseconds(seconds)
        check(lib.wherry_request_set_stale_if_error_ms(self.handle, milliseconds))

    def cache_version(self, value: int) -> None:
        check(lib.wherry_request_set_cache_version(self.handle, whole(value)))

    def set_context(self, value: Any) -> None:
        self.context = value

    def set_metrics(self, value: bool) -> None:
        self.wants_metrics = bool(value)


def _hook(kind: int) -> Callable[[Draft, Any], None]:
    return lambda draft, function: set_function(draft, kind, function)


def _number(option: int, convert: Callable[[Any], int]) -> Callable[[Draft, Any], None]:
    return lambda draft, value: draft.option(option, convert(value))


#: WHERRY_OPTION_COOKIES: the Cookie header of the request is sent together with the jar's cookies.
MERGED = 2

KEYWORDS: Dict[str, Callable[[Draft, Any], None]] = {
    "params": Draft.params,
    "parameters": Draft.parameters,
    "headers": Draft.headers,
    "auth": Draft.auth,
    "json": Draft.json,
    "data": Draft.data,
    "content": Draft.content,
    "files": Draft.files,
    "cookies": Draft.cookies,
    "timeout": Draft.timeout,
    "tag": Draft.set_tag,
    "context": Draft.set_context,
    "metrics": Draft.set_metrics,
    "progress": Draft.set_progress,
    "cache": Draft.cache,
    "cache_policy": Draft.cache_policy,
    "on_cached": Draft.set_on_cached,
    "store": _hook(codes.HOOK_STORE),
    "adapt": _hook(codes.HOOK_ADAPT),
    "on_headers": _hook(codes.HOOK_HEADERS),
    "on_redirect": _hook(codes.HOOK_REDIRECT),
    "overwrite": lambda draft, value: draft.target_exists(1, value),
    "rename": lambda draft, value: draft.target_exists(2, value),
    "on_credentials": _hook(codes.HOOK_CREDENTIALS),
    "on_retry": _hook(codes.HOOK_RETRY),
    "refresh_token": _hook(codes.HOOK_TOKEN),
    "stale_if_error": Draft.stale_if_error,
    "cache_ignore": Draft.cache_ignore,
    "cache_headers": Draft.cache_headers,
    "cache_partition": Draft.cache_partition,
    "cache_version": Draft.cache_version,
    "accept_status": Draft.accept_status,
    "accept_status_range": Draft.accept_status_range,
    "json_shape": Draft.json_shape,
    "base": Draft.set_base,
    **{name: _number(option, convert) for name, (option, convert) in conversions(REQUEST).items()},
}
