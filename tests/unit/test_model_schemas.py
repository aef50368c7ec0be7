"""Schemas for servers that make grammars of them: what is left out, and what only looks like it."""

from __future__ import annotations

from shared.models.schemas import without_patterns


def test_what_grammars_refuse_is_left_out() -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "pattern": r"\S", "maxLength": 100},
            "pattern": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2},
            "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "lines": {"type": "array", "items": {"type": "string", "maxLength": 12_000}, "maxItems": 5000},
            "kind": {"enum": [{"pattern": "kept"}], "default": {"format": "kept"}},
        },
        "$defs": {"format": {"type": "string", "format": "uri"}},
        "required": ["title", "pattern"],
        "additionalProperties": False,
    }
    assert without_patterns(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 100},
            "pattern": {"type": "string", "minLength": 2},
            "day": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "lines": {"type": "array", "items": {"type": "string"}},
            "kind": {"enum": [{"pattern": "kept"}], "default": {"format": "kept"}},
        },
        "$defs": {"format": {"type": "string"}},
        "required": ["title", "pattern"],
        "additionalProperties": False,
    }
