"""Schemas and names of tools that servers accept: for those that make grammars of schemas, without what these refuse.

Whatever is left out is still checked by our own code when the reply comes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MAX_REPEATS = 1000  # a grammar repeats its rule for each character or item that is counted
_PATTERNS = ("pattern", "format")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_SCHEMAS_BY_NAME = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_VALUES = ("enum", "const", "default", "examples")
_NOT_BLANK = r"\S"
_MAX_NAME_CHARS = 64
_REFUSED_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def accepted_name(name: str) -> str:
    """A tool's name as a model has written it, in characters that every server accepts in a dialogue."""
    return _REFUSED_IN_NAMES.sub("_", name[:_MAX_NAME_CHARS]) or "_"


def without_patterns(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a schema without patterns, formats and large counts; text that is not blank has a length."""
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _PATTERNS:
            if value == _NOT_BLANK:
                plain.setdefault("minLength", 1)
        elif key in _COUNTS and isinstance(value, int) and value > MAX_REPEATS:
            continue
        elif key in _VALUES:
            plain[key] = value
        elif key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            plain[key] = {name: _plain(one) for name, one in value.items()}
        else:
            plain[key] = _plain(value)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_patterns(value)
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
