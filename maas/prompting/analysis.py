"""The Analyzer's result, and the replies of models that it is made of.

The built-in prompt asks for three fields, some 25 tokens. Prompts of operators that have the placeholders ask for the
whole result; a reply in either form is read, whichever was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from maas.prompting.labels import read_labels
from shared.errors import problems_of
from shared.json import json_object
from shared.text import clean, one_line

MAX_KEYWORDS = 4
MAX_KEYWORD_CHARS = 100
SCHEMA: dict[str, Any] = {
    "title": "Choice",
    "type": "object",
    "properties": {
        "about": {"type": "string", "enum": ["person", "world"]},
        "record": {"type": "string"},
        "keywords": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_KEYWORDS},
    },
    "required": ["about", "record", "keywords"],
    "additionalProperties": False,
}  # without the labels: a schema that changes with each request is compiled anew by some providers
_CUT = re.compile(r'\{\s*"about"\s*:\s*"(person|world)"\s*,\s*"record"\s*:\s*"([^"]*)"')


class ChosenSummary(BaseModel):
    """The summary that the answer should use; all null when there is none."""

    period: str | None = None
    summary: str | None = None
    relevance_score: float = 0.0
    lsm_record_id: str | None = None


class Analysis(BaseModel):
    """`analysis_result`: its shape is fixed, because other programs read it."""

    needs_context: bool
    context_type: Literal["GENERAL", "SPECIFIC_HISTORY"]
    time_scope: Literal["hot", "warm", "cold"] = "hot"
    search_keywords: list[str] = Field(default_factory=list)
    context_found: ChosenSummary = ChosenSummary()

    @field_validator("context_type", mode="before")
    @classmethod
    def _synonym(cls, value: object) -> object:
        return "SPECIFIC_HISTORY" if value == "NEED_CONTEXT" else value

    @field_validator("context_found", mode="before")
    @classmethod
    def _null(cls, value: object) -> object:
        return {} if value is None else value

    @field_validator("search_keywords")
    @classmethod
    def _cut(cls, value: list[str]) -> list[str]:
        return [keyword for raw in value[:8] if (keyword := clean(one_line(raw))[:MAX_KEYWORD_CHARS])]


GENERAL = Analysis(needs_context=False, context_type="GENERAL")
WHOLE_SCHEMA = Analysis.model_json_schema()


@dataclass(frozen=True, slots=True)
class Choice:
    """What a model said of a query: is it about its author, which record answers it, and words to search by.

    `label` is one of those shown, None without one. `relevance` (0 to 1) is None where the model was not asked for it.
    """

    is_personal: bool
    label: str | None
    keywords: tuple[str, ...] = ()
    relevance: float | None = None


class _Reply(BaseModel):
    about: Literal["person", "world"]
    record: str | None = None
    keywords: list[str] = Field(default_factory=list)

    @field_validator("about", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator("record", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        return value if isinstance(value, str) else None

    @field_validator("keywords", mode="before")
    @classmethod
    def _texts(cls, value: object) -> object:
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def parse_choice(reply: str, labels: Collection[str]) -> Choice:
    """Parse the first JSON object in a model's reply; a label that was not shown counts as none.

    A reply that was cut within its keywords is read up to there. Raises ValueError, which says what is missing.
    """
    body = json_object(reply)
    if body is None and (cut := _CUT.search(reply)):
        body = {"about": cut[1], "record": cut[2]}
    if body is None:
        raise ValueError("there is no JSON object")
    try:
        if "about" not in body and "needs_context" in body:
            return _from_analysis(Analysis.model_validate(body), labels)
        parsed = _Reply.model_validate(body)
    except ValidationError as error:
        raise ValueError(str(problems_of(error)[0])) from error
    words = (clean(one_line(raw))[:MAX_KEYWORD_CHARS] for raw in parsed.keywords)
    return Choice(parsed.about == "person", _label(parsed.record, labels), tuple(filter(None, words))[:MAX_KEYWORDS])


def _from_analysis(analysis: Analysis, labels: Collection[str]) -> Choice:
    found = analysis.context_found
    relevance = min(max(found.relevance_score, 0.0), 1.0)
    return Choice(
        analysis.needs_context, _label(found.lsm_record_id, labels), tuple(analysis.search_keywords), relevance
    )


def _label(text: str | None, labels: Collection[str]) -> str | None:
    return next(iter(read_labels(text, labels)), None) if text else None
