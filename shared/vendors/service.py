"""Requests to a vendor's HTTP API: limits of time and size, retries of what is safe to repeat, errors without secrets.

Reads are repeated after a lost connection, 429 and 5xx. Writes are repeated only if no connection was made, so none is
sent twice. The secret goes into a header, or into the path where a vendor wants it there, so no URL is ever shown or
logged.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx2
import structlog
from pydantic import AfterValidator, Field, ValidationError

from shared.bounded_http import FILE_EXTENSION, LIMIT_EXTENSION, ReplyTooLarge
from shared.errors import Backoff, problems_of
from shared.json import parse_json
from shared.log import mask, masker
from shared.models.retry import retry_after
from shared.text import clean, one_line, shorten
from shared.vendors import ErrorCode, Vendor, VendorError

MAX_CAUSE_CHARS = 300
MAX_NAME_CHARS = 400
MAX_PAGES = 2000
_SENTENCES: Mapping[ErrorCode, str] = {
    "unreachable": "{} cannot be reached",
    "timeout": "{} did not answer in time",
    "unauthorized": "{} does not accept the access token; an operator must renew it",
    "forbidden": "{} does not permit this",
    "not_found": "{} has no such object",
    "rate_limited": "{} accepts no more requests for now",
    "invalid": "{} refuses the request",
    "too_large": "{} cannot give so much at once; ask for a shorter period",
    "unavailable": "{} has an internal error",
    "bad_reply": "the reply of {} cannot be read",
    "conflict": "{} is serving another program instead of this one",
}
_OF_STATUS: Mapping[int, ErrorCode] = {
    401: "unauthorized",
    402: "forbidden",
    403: "forbidden",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    410: "not_found",
    429: "rate_limited",
}
# What went wrong, from the special to the general, and whether the request may have arrived.
_FAILURES: Sequence[tuple[type[Exception], tuple[ErrorCode, str, bool]]] = (
    (httpx2.ConnectError, ("unreachable", "no connection was made", False)),
    (httpx2.ConnectTimeout, ("timeout", "no connection was made", False)),
    (httpx2.PoolTimeout, ("timeout", "no connection was free", False)),
    (httpx2.TimeoutException, ("timeout", "", True)),
    (httpx2.UnsupportedProtocol, ("invalid", "it cannot be sent", False)),
    (httpx2.LocalProtocolError, ("invalid", "it cannot be sent", False)),
    (httpx2.InvalidURL, ("invalid", "it cannot be sent", False)),
    (httpx2.DecodingError, ("bad_reply", "its compression is damaged", True)),
    (httpx2.TransportError, ("unreachable", "the connection broke", True)),
)
_REPEATED_READS: frozenset[str] = frozenset({"unreachable", "rate_limited", "unavailable"})
_HEADER_VALUE = re.compile(r"[!-~]+")
_log = structlog.get_logger()
T = TypeVar("T")
Params = Sequence[tuple[str, str]]
Files = Mapping[str, tuple[str, bytes, str]]  # by field: name, content, media type


Name = Annotated[str, AfterValidator(lambda text: shorten(one_line(clean(text)), MAX_NAME_CHARS))]
Count = Annotated[int, Field(ge=0, lt=2**63)]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request: times in seconds, `total_s` for all attempts together, the size of a reply in bytes.

    A longer pause than `max_pause_s` is not made: the error is raised at once, with `retry_after` if it is known.
    """

    connect_s: float = 5.0
    read_s: float = 15.0
    total_s: float = 25.0
    max_bytes: int = 16 * 1024 * 1024
    attempts: int = 3
    first_pause_s: float = 0.5
    max_pause_s: float = 5.0


DEFAULT_LIMITS = Limits()


class Refusal(NamedTuple):
    """What a response other than 2xx means. `may_be_done`: a write may have been carried out nevertheless."""

    code: ErrorCode
    cause: str = ""
    retry_after: float | None = None
    may_be_done: bool = False


def refusal_of_status(status: int, headers: Mapping[str, str], cause: object = None) -> Refusal:
    """Return what an HTTP status means where the vendor's body says no more than a text, the cause."""
    code = _OF_STATUS.get(status) or ("unavailable" if status >= 500 else "invalid" if status >= 400 else "bad_reply")
    text = f"{status} {cause}" if isinstance(cause, str) and cause else str(status)
    return Refusal(code, text, retry_after(headers), status >= 500 or status == 408)


class Service:
    """The API of a vendor under `base_url`. `header` carries the secret: its name, and a prefix such as "Bearer ".

    `http` is a client that `bounded_http.open_bounded` has opened; each request says what its reply may have.

    Without `header` the secret is a part of `base_url`; None: the API asks for none.

    `read_refusal` gets the status, the headers and the JSON value of a body that is no success (None if it is no JSON).
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        vendor: Vendor,
        base_url: str,
        header: tuple[str, str] | None,
        secret: str | None,
        read_refusal: Callable[[int, Mapping[str, str], Any], Refusal],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._http, self._vendor, self._limits = http, vendor, limits
        self._base_url = base_url.rstrip("/")
        self._header, self._secret = header, secret
        self._read_refusal = read_refusal

    async def read(
        self,
        path: str,
        parse: Callable[[Any], T],
        *,
        params: Params = (),
        method: str = "GET",
        json: Mapping[str, Any] | None = None,
        read_s: float | None = None,
    ) -> T:
        """Return `parse` of the JSON value of the reply, None for an empty one. Raises VendorError.

        `read_s` replaces the limit of waiting for the reply, in seconds, and is added to that of all attempts.

        `parse` raises ValueError or pydantic's ValidationError for a value that the API should not send.
        """
        return await self._call(_Request(method, path, params, json, read_s=read_s), parse, is_write=False)

    async def download(self, path: str) -> bytes:
        """Return the body of a reply as it is. Raises VendorError."""
        return await self._call(_Request("GET", path, (), is_file=True), lambda content: content, is_write=False)

    async def write(
        self,
        method: str,
        path: str,
        parse: Callable[[Any], T],
        *,
        json: Mapping[str, Any] | None = None,
        form: Mapping[str, str] | None = None,
        files: Files | None = None,
    ) -> T:
        """Send a change once and return `parse` of the reply, as `read`. Raises VendorError."""
        return await self._call(_Request(method, path, (), json, form, files), parse, is_write=True)

    def error(
        self, code: ErrorCode, cause: str = "", retry_after: float | None = None, is_outcome_unknown: bool = False
    ) -> VendorError:
        """Return a VendorError whose message has the cause without secrets and phone numbers."""
        cause = shorten(one_line(mask(masker(self._secret or "")(clean(cause)))), MAX_CAUSE_CHARS)
        message = _SENTENCES[code].format(self._vendor.name) + (f": {cause}" if cause else "")
        if retry_after is not None:
            message += f"; try again in {retry_after:.0f} s"
        if is_outcome_unknown:
            message += "; it is unknown whether the change was made"
        return VendorError(self._vendor.key, code, message, retry_after, is_outcome_unknown)

    async def _call(self, request: _Request, parse: Callable[[Any], T], *, is_write: bool) -> T:
        self._check_configuration()
        limits, clock = self._limits, asyncio.get_running_loop().time
        backoff, end = (
            Backoff(limits.first_pause_s, limits.max_pause_s),
            clock() + limits.total_s + (request.read_s or 0.0),
        )
        attempts = 0
        while True:
            attempts += 1
            try:
                async with asyncio.timeout_at(end):
                    return await self._attempt(request, parse, is_write)
            except TimeoutError:
                raise self.error("timeout", f"{limits.total_s:g} s", is_outcome_unknown=is_write) from None
            except VendorError as error:
                pause_s = max(min(backoff.next_s(), limits.max_pause_s), error.retry_after or 0.0)
                is_safe = (
                    error.code == "unreachable" and not error.is_outcome_unknown
                    if is_write
                    else error.code in _REPEATED_READS
                )
                is_too_long = pause_s > limits.max_pause_s or clock() + pause_s >= end
                if not is_safe or is_too_long or attempts >= limits.attempts:
                    raise
                _log.warning(
                    "vendor_call_retried",
                    vendor=self._vendor.key,
                    code=error.code,
                    attempts=attempts,
                    pause=round(pause_s, 3),
                )
            await asyncio.sleep(pause_s)

    def _check_configuration(self) -> None:
        try:
            url = urlsplit(self._base_url)
            is_address = url.scheme in ("http", "https") and bool(url.hostname)
        except ValueError:
            is_address = False
        if not is_address:
            raise self.error("invalid", "its address must begin with http:// or https://")
        if self._secret is not None and not _HEADER_VALUE.fullmatch(self._secret):
            raise self.error("unauthorized", "a token has no spaces and no letters other than ASCII")

    async def _attempt(self, request: _Request, parse: Callable[[Any], T], is_write: bool) -> T:
        """Send the request once. No error of a library is chained: it may quote the request or the reply."""
        headers = {"accept": "application/json, */*;q=0.5"}
        if self._header is not None and self._secret is not None:
            name, prefix = self._header
            headers[name] = prefix + self._secret
        timeout = httpx2.Timeout(request.read_s or self._limits.read_s, connect=self._limits.connect_s)
        try:
            async with self._http.stream(
                request.method,
                self._base_url + request.path,
                params=list(request.params) or None,
                json=request.json,
                data=request.form,
                files=request.files,
                headers=headers,
                timeout=timeout,
                follow_redirects=False,
                extensions={LIMIT_EXTENSION: self._limits.max_bytes, FILE_EXTENSION: request.is_file},
            ) as response:
                content = await self._body(response)
        except (httpx2.TransportError, httpx2.DecodingError, httpx2.InvalidURL) as error:
            code, cause, may_have_arrived = next(what for kind, what in _FAILURES if isinstance(error, kind))
            raise self.error(code, cause, is_outcome_unknown=is_write and may_have_arrived) from None
        if not response.is_success:
            raise self._refused(response, content, is_write)
        if content is None:
            cause = f"it is larger than {self._limits.max_bytes} bytes"
            raise self.error("bad_reply", cause, is_outcome_unknown=is_write)
        try:
            return parse(content if request.is_file else parse_json(content) if content else None)
        except ValidationError as error:
            cause = str(problems_of(error)[0])
        except ValueError as error:
            cause = str(error)
        raise self.error("bad_reply", cause, is_outcome_unknown=is_write)

    async def _body(self, response: httpx2.Response) -> bytes | None:
        """Return the body, None if it is too large."""
        try:
            content: bytes = await response.aread()
        except ReplyTooLarge:
            return None
        return content

    def _refused(self, response: httpx2.Response, content: bytes | None, is_write: bool) -> VendorError:
        try:
            body = parse_json(content) if content else None
        except ValueError:
            body = None
        is_redirect = response.status_code < 400
        read = refusal_of_status if is_redirect else self._read_refusal
        code, cause, wait_s, may_be_done = read(response.status_code, response.headers, body)
        return self.error(code, cause, wait_s, is_write and may_be_done)


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    params: Params
    json: Mapping[str, Any] | None = None
    form: Mapping[str, str] | None = None
    files: Files | None = None
    read_s: float | None = None
    is_file: bool = False
