"""Query parameters that several routes have, as JSON schemas with their descriptions."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from maas.engine.states import RunKind, Status
from maas.http.request_input import CURSOR_PATTERN, DEFAULT_PAGE_SIZE, MAX_LEVEL, MAX_PAGE_SIZE, MAX_SEARCH_CHARS
from maas.http.route import Parameters
from maas.http.runs import MAX_ATTRIBUTES_CHARS
from maas.http.schemas import STORABLE_PATTERN, VISIBLE_PATTERN


def one_of(values: type[StrEnum]) -> dict[str, Any]:
    """Return the JSON schema of a string that is one of the values of an enum."""
    return {"type": "string", "enum": [str(value) for value in values]}


NO = {"type": "boolean", "default": False}
ID = {"type": "string", "format": "uuid"}
LEVEL = {"type": "integer", "minimum": 0, "maximum": MAX_LEVEL}
YEAR = {"type": "integer", "minimum": 1, "maximum": 9999}
TIME = {"type": "string", "format": "date-time"}
USER: Parameters = {"user_id": (ID, "The user whose resources are listed.")}
OWNER: Parameters = {"user_id": (ID, "The user that must own the resource.")}
ANSWERS: Parameters = {"answers": (NO, "Also forget the answers that were made from it.")}
PAGE: Parameters = {
    "before": ({"type": "string", "pattern": CURSOR_PATTERN}, "`next` of the previous page."),
    "limit": (
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": DEFAULT_PAGE_SIZE},
        "The page size.",
    ),
}
TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_SEARCH_CHARS, "pattern": STORABLE_PATTERN}
SEARCH = {"type": "string", "minLength": 1, "maxLength": MAX_SEARCH_CHARS, "pattern": VISIBLE_PATTERN}
ATTRIBUTES = {"type": "string", "format": "attributes", "maxLength": MAX_ATTRIBUTES_CHARS}
FILTERS: Parameters = {
    "status": (one_of(Status), "Only runs with this status."),
    "kind": (one_of(RunKind), "Only runs of this kind."),
    "conversation_id": (ID, "Only runs of this conversation."),
    "q": (SEARCH, "Only runs whose query or answer has every word of this, or words that begin with it."),
    "from": (TIME, "Only runs of this time or later; without an offset, in MAAS_TIMEZONE."),
    "to": (TIME, "Only runs before this time."),
    "attributes": (ATTRIBUTES, "Only runs that have all of these, as a JSON object."),
}
