"""Structured logs: one event name a line, context by contextvars, secrets and phone numbers masked."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

_SECRET_KEY = re.compile(r"(?i)(password|passwd|secret|token|api_?key|authorization|dsn|database_url)$")
_SECRETS = (
    (re.compile(r"\b(sk|rk|pk)-[A-Za-z0-9_\-]{8,}"), r"\1-***"),
    (re.compile(r"\bAIza[0-9A-Za-z_\-]{10,}"), "AIza***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._\-+/=]{8,}"), r"\1 ***"),
    (re.compile(r"(?i)(postgres(?:ql)?://[^:/\s@]+:)[^@\s]+@"), r"\1***@"),
    (re.compile(r"(?<![\w-])\+?\d[\d ()\-]{8,16}\d(\d{3})(?![\w-])"), r"***\1"),
)


def mask(text: str) -> str:
    """The text without keys, passwords in addresses and phone numbers (the last digits stay)."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def _redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if key == "timestamp":
            continue
        if _SECRET_KEY.search(key) and value is not None:
            event[key] = "***"
        elif isinstance(value, str):
            event[key] = mask(value)
    return event


def configure(level: str = "info", form: str = "auto") -> None:
    """Log to standard error from now on; `form` is auto, console or json."""
    console = form == "console" or (form == "auto" and sys.stderr.isatty())
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if console
        else structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _redact,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
