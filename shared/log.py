"""Structured logs: one event name a line, context from contextvars, secrets and phone numbers masked."""

from __future__ import annotations

import base64
import html
import json
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import structlog

from shared.text import visible, visible_json, visible_line

MIN_SECRET_CHARS = 8  # a shorter one is a placeholder such as `none`, which also occurs in ordinary text
MAX_CACHED_CHARS = 64  # names and codes, which come again with every line
_SECRET_KEY = re.compile(r"(?i)(password|passwd|secret|token|api_?key|authorization|cookie|dsn|database_url)$")
# Of names in snake_case. The digits of an id or a stamp would pass for a phone number.
_NUMBER_NAME = re.compile(r"(?:^|_)(?:ids?|ms|ts|at|time|timestamp)$")
_PHONE_NAME = re.compile(
    r"phone|mobile|msisdn|whats_?app|jid|(?:^|_)(?:tel|wa|contacts?|callers?|chats?|senders?|recipients?)(?:_|$)"
)
_ENTITIES_NAME = "_entity_map"  # names of entities and their ids
_NUMBER = re.compile(r"[0-9]{1,25}")
_Kind = Literal["secret", "phones", "number", "numbers", "other"]
_SECRETS = (
    (re.compile(r"\b(sk|rk|pk)-[A-Za-z0-9_\-]{8,}"), r"\1-***"),
    (re.compile(r"\bAIza[0-9A-Za-z_\-]{10,}"), "AIza***"),
    (re.compile(r"\bEAA[0-9A-Za-z]{20,}"), "EAA***"),
    (re.compile(r"\bmaas_([0-9a-f]{12})_[0-9a-f]{8,}"), r"maas_\1_***"),
    (re.compile(r"\b(maas(?:at|rt|ac))_[A-Za-z0-9_\-]{8,}"), r"\1_***"),
    (
        # Whether a run of such characters ends at a dot is checked once, at its start.
        re.compile(
            r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]++\.)(?>([A-Za-z0-9_-]*?)(?=\beyJ[A-Za-z0-9_-]{5}))"
            r"[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]*+)++"
        ),
        r"\1eyJ***",
    ),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._\-+/=]{8,}"), r"\1 ***"),
    (re.compile(r"(?i)(postgres(?:ql)?://[^:/\s@]+:)(?:(?!postgres(?:ql)?://)[^@\s])++@"), r"\1***@"),
    (re.compile(r"(?i)(https?://)[^/\s@?]+@"), r"\1***@"),
    (re.compile(r"(?i)([?&](?:[a-z-]+_)?(?:key|token|secret|password)=)[^&#\s\"']+"), r"\1***"),
    (re.compile(r"(?i)(\b(?:password|passwd)\s?=\s?)[^&\s]+"), r"\1***"),
    (
        re.compile(
            r"(?i)((?:\b(?:proxy-)?authorization|\b(?:set-)?cookie|"  # a header and its value
            r"(?<![a-z-])(?=[a-z-]*?\bx-)[a-z-]++(?:(?<=key)|(?<=token)))"
            r"\\?[\"']?\s?[:,=]\s?b?\\?[\"']?)(?!\*\*\*)[^\s\"'\\,][^\r\n\"'\\]*"
        ),
        r"\1***",
    ),
    (re.compile(r"(?<![\w.-])\+?(?:\d[ ()\-]{0,3}){7,12}(\d[ \-]?\d[ \-]?\d)(?![\w:-]|\.\d)"), r"***\1"),
)


_registered: set[str] = set()
_registered_pattern: re.Pattern[str] | None = None
_task_pattern: ContextVar[re.Pattern[str] | None] = ContextVar("task_pattern", default=None)


def hide(*secrets: str) -> None:
    """Mask these secrets, in the encodings of `_forms`: keys, passwords and tokens in URLs; short ones are ignored."""
    global _registered_pattern
    for secret in secrets:
        _registered.update(form for part in _parts(secret) for form in _forms(part))
    if _registered:
        _registered_pattern = _pattern(_registered)


class Secrets:
    """Secrets in the encodings of `_forms`, for `concealing`; those that are too short to be one are left out."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for part in _parts(secret) for form in _forms(part)}
        self.pattern = _pattern(forms) if forms else None
        self._json_forms = {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}

    def are_in(self, text: str) -> bool:
        """Return whether one of them is in a JSON text; takes a few microseconds for a long one."""
        return any(form in text for form in self._json_forms)


@contextmanager
def concealing(secrets: Secrets) -> Iterator[None]:
    """Mask these secrets as well, in this task and only inside the context."""
    if secrets.pattern is None:
        yield
        return
    token = _task_pattern.set(secrets.pattern)
    try:
        yield
    finally:
        _task_pattern.reset(token)


def masker(*secrets: str) -> Callable[[str], str]:
    """Return a function that masks these secrets, in the encodings of `_forms`, and those registered by `hide`.

    For secrets that come and go, such as tokens of users; they are not registered.
    """
    forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, forms))) if forms else None
    return lambda text: conceal(pattern.sub("***", text) if pattern is not None else text)


def conceal(text: str) -> str:
    """Return the text without the secrets registered by `hide`, and those of `concealing`."""
    for pattern in (_registered_pattern, _task_pattern.get()):
        if pattern is not None:
            text = pattern.sub("***", text)
    return text


def is_secret_name(name: str) -> bool:
    """Return whether a value of this name is a secret."""
    return _SECRET_KEY.search(name) is not None


def _pattern(forms: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))


def mask(text: str) -> str:
    """Return the text without keys, passwords in URLs and phone numbers, of which the last digits stay."""
    text = conceal(text)
    return _mask_patterns(text) if len(text) <= MAX_CACHED_CHARS else _mask_patterns.__wrapped__(text)


@lru_cache(maxsize=1024)
def _mask_patterns(text: str) -> str:
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def _parts(secret: str) -> Iterator[str]:
    """Yield the secret parts: of a URL its password, else its user, and its query values; of a key also its words."""
    try:
        url = urlsplit(secret)
    except ValueError:
        url = None
    if url is None or "://" not in secret:
        yield from {secret.strip(), *secret.split()}
        return
    name, _, password = url.netloc.rpartition("@")[0].partition(":")
    if url.scheme.startswith("http"):
        yield from (password or name, *(value for key, value in parse_qsl(url.query) if "version" not in key))
    elif unquote(password) not in (unquote(name), url.path.strip("/")):
        yield from (password, unquote(password))


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and in JSON, Python, URLs, HTML, hexadecimal, and base64 behind whatever else."""
    if len(secret) < MIN_SECRET_CHARS:
        return
    raw = secret.encode()
    yield from {secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1], repr(secret)[1:-1]}
    yield html.escape(secret)
    for pairs in _hex_pairs(raw):
        yield from {"".join(pairs), *(sign + sign.join(pairs) for sign in ("%", r"\x"))}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):  # at any offset: the characters that depend on the secret alone
            whole = encode(bytes(before) + raw).decode()
            yield whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]


def _hex_pairs(raw: bytes) -> tuple[list[str], list[str]]:
    """The bytes in hexadecimal, in small and in capital letters."""
    pairs = raw.hex(" ").split()
    return pairs, [pair.upper() for pair in pairs]


def redact(value: Any) -> Any:
    """Return a JSON value without secrets and phone numbers: by the names of members, in texts, in long numbers.

    A member that is named as an id or a stamp keeps a number of digits alone, unless it belongs to a phone or a chat.
    """
    return _redact_as("other", value)


def _redact_as(kind: _Kind, value: Any) -> Any:
    """`kind` is that of the member which holds the value; phones and `_entityMap` decide for all below them."""
    if kind == "secret" and value is not None:
        return "***"
    if isinstance(value, Mapping):
        inherited: _Kind = kind if kind in ("phones", "numbers") else "other"
        return {mask(str(name)): _redact_member(str(name), one, inherited) for name, one in value.items()}
    if isinstance(value, list | tuple) and len(value) == 2 and _kind_of(str(value[0]).strip("'")) == "secret":
        return [redact(value[0]), "***"]
    if isinstance(value, list | tuple | set | frozenset):
        return [_redact_as(kind, one) for one in value]
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**9):
        return value
    text = str(value)
    if kind in ("number", "numbers") and _NUMBER.fullmatch(text) and conceal(text) == text:
        return value
    return mask(text)


def _redact_member(name: str, value: Any, inherited: _Kind = "other") -> Any:
    kind = _kind_of(name) if len(name) <= MAX_CACHED_CHARS else _kind_of.__wrapped__(name)
    if kind == "other" or (kind == "number" and inherited == "phones"):
        kind = inherited
    return _redact_as(kind, value)


@lru_cache(maxsize=1024)
def _kind_of(name: str) -> _Kind:
    """What a member of this name holds."""
    if _SECRET_KEY.search(name):
        return "secret"
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    if _PHONE_NAME.search(words):
        return "phones"
    if words == _ENTITIES_NAME:
        return "numbers"
    return "number" if _NUMBER_NAME.search(words) else "other"


def _redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if key != "timestamp":
            event[key] = _redact_member(key, value)
    return event


def _escape_values(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape values for a console, so that none steers the terminal or looks like a line of its own."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = visible(value) if key == "exception" else visible_line(value)
    return event


def _dump(value: Any, **options: Any) -> str:
    return visible_json(json.dumps(value, **options))


class _Masking(logging.Formatter):
    """Masks the records of libraries."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(mask(super().format(record)))


def configure(level: str = "info", form: str = "auto") -> None:
    """Write logs to standard error; `form` is auto, console or json."""
    console = form == "console" or (form == "auto" and sys.stderr.isatty())
    renderers: list[Any] = (
        [_escape_values, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
        if console
        else [structlog.processors.JSONRenderer(_dump, ensure_ascii=False, default=str)]
    )
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Masking())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _redact,
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
