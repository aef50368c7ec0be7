"""Bounds of what tools give to models: in bytes for one result, in tokens for all that one model is sent.

Results that are too long together are cut evenly: short ones stay whole, long ones get equal parts, and `_meta.cut` of
each says what was cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maas.memory.recent_messages import fair_share
from maas.tools.calls import cut, size, tag_safe_json
from shared import tokens
from shared.text import offload

MAX_RESULT_TOKENS = 16_000  # of all results that the agent of a domain puts into words
MAX_CONTEXT_TOKENS = 2_000  # of the results of all context providers
MAX_DIALOGUE_TOKENS = 64_000  # of the results of all rounds of a tool loop
MIN_ROUND_TOKENS = 1_000  # of the results of one round, however many there were before
MAX_QUESTION_TOKENS = 2_000  # of the question that a model passes on to the agent of a domain
_OPTIONAL_PARTS = ("_entityMap", "recommendations", "arguments")
_WRAPPER_BYTES = 700  # of a result beside its data
_SEPARATOR_TOKENS = 2
_NAME_TOKENS = 12  # of what stands around the name of a tool
_MIN_BYTES = 16
Body = Mapping[str, Any]


def fit_body(body: Body, max_bytes: int) -> Body:
    """The body of one call within `max_bytes` of JSON: optional parts are dropped first, then the data are cut."""
    if size(body) <= max_bytes:
        return body
    short = {name: value for name, value in body.items() if name not in _OPTIONAL_PARTS}
    if "data" in short:
        short["data"], is_cut = cut(short["data"], max(max_bytes - _WRAPPER_BYTES, 0))
        short["_meta"] = short.get("_meta", {}) | ({"cut": ["data"]} if is_cut else {})
    return short


async def fit_together(named: Sequence[tuple[str, Body]], max_tokens: int) -> list[Body]:
    """The bodies of calls by the names of their tools, within `max_tokens` by `tokens.count` together with the names.

    They are counted as they are written for a model: as JSON between tags.
    """
    left = max_tokens - sum(tokens.count(name) + _NAME_TOKENS for name, _ in named)
    bodies = [body for _, body in named]
    return await offload(sum(map(size, bodies)), _fit_together, bodies, max(left, 0))


async def fit_round(named: Sequence[tuple[str, Body]], left: int) -> tuple[list[Body], int]:
    """The bodies of one round of a tool loop that has `left` tokens for results, and what is left then."""
    bodies = [body for _, body in named]
    sizes = sum(map(size, bodies))  # a text has no more tokens than bytes
    if sizes > min(left, MIN_ROUND_TOKENS):
        bodies = await fit_together(named, max(left, MIN_ROUND_TOKENS))
        sizes = await offload(sum(map(size, bodies)), _total, bodies)
    return bodies, left - sizes


def _total(bodies: Sequence[Body]) -> int:
    return sum(map(_cost, bodies))


def _fit_together(bodies: Sequence[Body], max_tokens: int) -> list[Body]:
    costs = [_cost(body) for body in bodies]
    share = fair_share(costs, max_tokens)
    return [body if cost <= share else _fit(body, share) for body, cost in zip(bodies, costs, strict=True)]


def _cost(body: Body) -> int:
    return tokens.count(tag_safe_json(body, is_sorted=True)) + _SEPARATOR_TOKENS


def _fit(body: Body, max_tokens: int) -> Body:
    """Cut one body: data as far as needed; where that is not enough, everything but whether the call has succeeded."""
    short = {name: value for name, value in body.items() if name not in _OPTIONAL_PARTS}
    short["_meta"] = {**short.get("_meta", {}), "cut": ["data"]}
    fitted, data = short, short.get("data")
    max_bytes = size(data)
    while data is not None and (cost := _cost(fitted)) > max_tokens and max_bytes > _MIN_BYTES:
        max_bytes = min(max_bytes * max_tokens // cost, max_bytes * 9 // 10)
        fitted = short | {"data": cut(data, max_bytes)[0]}
    if _cost(fitted) <= max_tokens:
        return fitted
    return {name: body[name] for name in ("success", "error_code") if name in body} | {"_meta": {"cut": ["all"]}}
