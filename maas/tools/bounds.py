"""Bounds of what tools give to models: in bytes for one result, in tokens for all that one model is sent.

Results that are too long together are cut evenly: short ones stay whole, long ones get equal parts. What is left out is
whole rows, `_meta` of each says how many and how to ask for them: see maas.tools.rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maas.memory.recent_messages import fair_share
from maas.tools.calls import tag_safe_json
from maas.tools.rows import DATA, fit_rows, how_to_see_the_rest, merged, size
from maas.tools.tool import Tool
from shared import tokens
from shared.text import offload

MAX_RESULT_TOKENS = 16_000  # of all results that the agent of a domain puts into words
MAX_CONTEXT_TOKENS = 2_000  # of the results of all context providers
MAX_DIALOGUE_TOKENS = 64_000  # of the results of all rounds of a tool loop
LEFT_OUT = "left out: call it again if you need it"
MIN_OLD_TOKENS = 150  # of a result of an earlier round, where the newest ones are long
MAX_QUESTION_TOKENS = 2_000  # of the question that a model passes on to the agent of a domain
_OPTIONAL_PARTS = ("_entityMap", "recommendations", "arguments")
_WRAPPER_BYTES = 700  # of a result beside its data
_SEPARATOR_TOKENS = 2
_NAME_TOKENS = 12  # of what stands around the name of a tool
_MIN_BYTES = 16
Body = Mapping[str, Any]


def fit_body(body: Body, max_bytes: int, tool: Tool | None = None) -> Body:
    """The body of one call within `max_bytes` of JSON: optional parts are dropped first, then rows of the data."""
    if size(body) <= max_bytes:
        return body
    short = {name: value for name, value in body.items() if name not in _OPTIONAL_PARTS}
    return _with_fewer_rows(short, max(max_bytes - _WRAPPER_BYTES, 0), tool) if DATA in short else short


async def fit_together(
    named: Sequence[tuple[str, Body]], max_tokens: int, tools: Sequence[Tool | None] = ()
) -> list[Body]:
    """The bodies of calls by the names of their tools, within `max_tokens` by `tokens.count` together with the names.

    They are counted as they are written for a model: as JSON between tags. `tools` are those of the calls in order.
    """
    left = max_tokens - sum(tokens.count(name) + _NAME_TOKENS for name, _ in named)
    bodies = [body for _, body in named]
    return await offload(sum(map(size, bodies)), _fit_together, bodies, max(left, 0), tools or (None,) * len(bodies))


async def fit_rounds(rounds: Sequence[Sequence[tuple[str, Body, Tool | None]]], room: int) -> list[Body]:
    """The bodies of all rounds of a tool loop in order, within `room` tokens together; each with its name and tool.

    Where they do not fit, the newest round has all but what the older ones need, MIN_OLD_TOKENS for each of these and
    half of the room at most; the older ones get equal parts of what it leaves.
    """
    every = [one for round_ in rounds for one in round_]
    if sum(size(body) for _, body, _ in every) <= room:  # a text has no more tokens than bytes
        return [body for _, body, _ in every]
    *older, newest = [list(round_) for round_ in rounds]
    old = [one for round_ in older for one in round_]
    needed = await _cost_of(old)
    kept = min(needed, len(old) * MIN_OLD_TOKENS, room // 2)
    fitted = await _fit_named(newest, room - kept)
    left = room - await _cost_of([(name, body, tool) for (name, _, tool), body in zip(newest, fitted, strict=True)])
    return [*await _fit_named(old, left), *fitted]


async def _fit_named(named: Sequence[tuple[str, Body, Tool | None]], max_tokens: int) -> list[Body]:
    return await fit_together([one[:2] for one in named], max_tokens, [tool for _, _, tool in named])


async def _cost_of(named: Sequence[tuple[str, Body, Tool | None]]) -> int:
    """The tokens of bodies with the names of their tools."""
    bodies = [body for _, body, _ in named]
    names = sum(tokens.count(name) + _NAME_TOKENS for name, _, _ in named)
    return names + await offload(sum(map(size, bodies)), _total, bodies)


def _total(bodies: Sequence[Body]) -> int:
    return sum(map(_cost, bodies))


def _fit_together(bodies: Sequence[Body], max_tokens: int, tools: Sequence[Tool | None]) -> list[Body]:
    costs = [_cost(body) for body in bodies]
    share = fair_share(costs, max_tokens)
    of_each = zip(bodies, costs, tools, strict=True)
    return [body if cost <= share else _fit(body, share, tool) for body, cost, tool in of_each]


def _cost(body: Body) -> int:
    return tokens.count(tag_safe_json(body, is_sorted=True)) + _SEPARATOR_TOKENS


def _fit(body: Body, max_tokens: int, tool: Tool | None) -> Body:
    """Cut one body: rows as far as needed; where that is not enough, everything but whether the call has succeeded."""
    short = {name: value for name, value in body.items() if name not in _OPTIONAL_PARTS}
    fitted, max_bytes = short, size(short.get(DATA))
    while DATA in short and (cost := _cost(fitted)) > max_tokens and max_bytes > _MIN_BYTES:
        max_bytes = min(max_bytes * max_tokens // cost, max_bytes * 9 // 10)
        fitted = _with_fewer_rows(short, max_bytes, tool)
    if _cost(fitted) <= max_tokens:
        return fitted
    least = {name: body[name] for name in ("success", "error_code") if name in body} | {"_meta": {"cut": ["all"]}}
    noted = least | {"_meta": {"cut": ["all"], "rest": LEFT_OUT}}
    return noted if _cost(noted) <= max_tokens else least


def _with_fewer_rows(body: Body, max_bytes: int, tool: Tool | None) -> dict[str, Any]:
    """The body with data of at most `max_bytes`, and in `_meta` what is missing and how to ask for it."""
    data, missing = fit_rows(body[DATA], max_bytes)
    meta = body.get("_meta", {})
    if not missing:  # the results of other calls in it are cut, and say so
        return {**body, DATA: data}
    left_out = merged(meta.get("left_out", {}), missing)
    return {**body, DATA: data, "_meta": with_rest({**meta, "cut": [DATA], "left_out": left_out}, tool)}


def with_rest(meta: Mapping[str, Any], tool: Tool | None) -> dict[str, Any]:
    """`_meta` of a result with the sentence on what it leaves out, where it does."""
    if not meta.get("left_out"):
        return dict(meta)
    is_known = tool is not None and not tool.is_meta
    name = tool.name if tool is not None and is_known else "the tool"
    parameters = tool.parameters if tool is not None and is_known else None
    return {**meta, "rest": how_to_see_the_rest(name, parameters)}
