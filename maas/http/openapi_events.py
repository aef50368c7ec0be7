"""Answers that are no schema of a body: events of streams, any JSON value."""

from __future__ import annotations

from typing import Any

from maas.http.schemas import STORABLE_PATTERN
from maas.http.server_sent_events import EVENT_ID_PATTERN, EVENT_STREAM
from maas.runs.user_events import USER_CURSOR_PATTERN

JSON_VALUE = {
    "description": "Any JSON value without NUL characters.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", "pattern": STORABLE_PATTERN},
        {"type": "array", "items": {"$ref": "#/components/schemas/Json"}},
        {
            "type": "object",
            "propertyNames": {"pattern": STORABLE_PATTERN},
            "additionalProperties": {"$ref": "#/components/schemas/Json"},
        },
    ],
}
RUN_EVENT: dict[str, Any] = {
    "description": "One event. A comment is sent after 15 s of silence.",
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string", "pattern": EVENT_ID_PATTERN},
        "event": {"type": "string"},  # see _other_schema
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
USER_EVENT = {
    "description": "The current state of a run. A comment is sent after 15 s of silence.",
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string", "pattern": USER_CURSOR_PATTERN},
        "event": {"type": "string", "enum": ["run"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
COMPLETION_EVENT = {
    "description": "One event of OpenAI's protocol. A comment is sent after 15 s of silence.",
    "type": "object",
    "required": ["data"],
    "properties": {"data": {"type": "string", "description": "A chat.completion.chunk or an error, or [DONE]."}},
}
RESPONSE_EVENT = {
    "description": "One event of OpenAI's Responses API. A comment is sent after 15 s of silence.",
    "type": "object",
    "required": ["data"],
    "properties": {
        "event": {"type": "string", "description": "The `type` of the event; none before [DONE]."},
        "data": {"type": "string", "description": "The event as JSON, or [DONE]."},
    },
}
UI_EVENT = {
    "description": "One event. A comment is sent after 15 s of silence.",
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {"type": "string", "description": "A part of the AI SDK's UI message stream, version 1, or [DONE]."}
    },
}
AG_UI_EVENT = {
    "description": "One event. A comment is sent after 15 s of silence.",
    "type": "object",
    "required": ["data"],
    "properties": {"data": {"type": "string", "description": "An event of AG-UI 1.0 as JSON."}},
}
A2A_EVENT = {
    "description": "One event. A comment is sent after 15 s of silence.",
    "type": "object",
    "required": ["data"],
    "properties": {"data": {"type": "string", "description": "A response whose result is a StreamResponse of A2A."}},
}
OTHER_RESPONSES: dict[tuple[str, str], dict[str, Any]] = {
    ("get_events", EVENT_STREAM): RUN_EVENT,
    ("get_user_events", EVENT_STREAM): USER_EVENT,
    ("post_chat_completion", EVENT_STREAM): COMPLETION_EVENT,
    ("post_response", EVENT_STREAM): RESPONSE_EVENT,
    ("post_ui_chat", EVENT_STREAM): UI_EVENT,
    ("get_ui_stream", EVENT_STREAM): UI_EVENT,
    ("post_ag_ui", EVENT_STREAM): AG_UI_EVENT,
    ("post_a2a", EVENT_STREAM): A2A_EVENT,
    ("get_export", "application/aimem-bundle+json"): {"type": "object"},
    ("openapi", "application/json"): {"type": "object"},
}
