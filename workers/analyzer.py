"""The Analyzer decides whether memory is needed, and which record fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from maas.memory.notes import obey, parse_command
from maas.memory.ranking import Ranked
from maas.memory.reach import Reach, scope_of
from maas.memory.records import Record, records_of_turns, wordless_records
from maas.memory.search import rank_turns
from maas.pipeline.ledger import consult, skip
from maas.pipeline.profiles import by_rule, read_profile
from maas.pipeline.prompts import read_prompts
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps
from shared import tokens
from shared.errors import problems_of
from shared.models.types import Message, Request
from shared.offload import offload
from shared.text import clean, escape, excerpt, fill, json_object, one_line

NAME = "analyzer"
RELEVANT = 0.3
CANDIDATES = 20
CANDIDATE_TOKENS = 2000
SUMMARY_CHARS = 600


class Found(BaseModel):
    """The record that the answer should look at; all null when there is none."""

    period: str | None = None
    summary: str | None = None
    relevance_score: float = 0.0
    lsm_record_id: str | None = None


class Analysis(BaseModel):
    """`analysis_result`: the fixed shape that other programs read."""

    needs_context: bool
    context_type: Literal["GENERAL", "SPECIFIC_HISTORY"]
    time_scope: Literal["hot", "warm", "cold"] = "hot"
    search_keywords: list[str] = Field(default_factory=list)
    context_found: Found = Found()

    @field_validator("context_type", mode="before")
    @classmethod
    def _synonym(cls, value: object) -> object:
        return "SPECIFIC_HISTORY" if value == "NEED_CONTEXT" else value

    @field_validator("context_found", mode="before")
    @classmethod
    def _nothing(cls, value: object) -> object:
        return {} if value is None else value

    @field_validator("search_keywords")
    @classmethod
    def _few(cls, value: list[str]) -> list[str]:
        return [word for raw in value[:8] if (word := clean(one_line(raw))[:100])]


SCHEMA = Analysis.model_json_schema()


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: the query, this user's records, prompt Analyzer. Writes: analysis_result, notes. Next: ANALYZED."""
    profile = await read_profile(deps.db, run.assistant)
    if profile == "off":
        return Outcome(analysis=Analysis(needs_context=False, context_type="GENERAL").model_dump())
    if command := parse_command(run.user_query):
        answer = await obey(deps.db, run.id, run.user_id, command)
        analysis = Analysis(needs_context=False, context_type="GENERAL").model_dump()
        return Outcome(analysis=analysis | {"fast_path": "memory_command", "answer": answer})
    deps = deps if profile == "full" else by_rule(deps)
    prompt = (await read_prompts(deps.db, "Analyzer"))["Analyzer"]
    turns = await _rank(run, deps, run.user_query, 50)
    candidates = await _candidates(run, deps, turns)
    if (
        deps.settings.fast_path
        and not (turns or candidates)
        and not await deps.db.rows("recent_turns", run.user_id, run.seq, 1)
    ):
        skip(run, deps, NAME, prompt, "Analyzer")  # there is no memory to choose from
        return Outcome(analysis=Analysis(needs_context=False, context_type="GENERAL").model_dump())
    records = _within_budget(candidates)
    now = run.as_of or datetime.now(UTC)
    chars = sum(len(record.summary) for record in records)
    known = await offload(chars, lambda: "\n".join(_line(record, run.user_query, now) for record in records))
    text = fill(
        prompt.text,
        {
            "user_query": escape(run.user_query),
            "lsm_records_summary": known or "(нет записей)",
        },
    )
    request = Request(
        role="Analyzer",
        messages=(Message("user", text),),
        json_schema=SCHEMA,
        temperature=0.0,
        max_tokens=1000,
        inputs={
            "user_query": run.user_query,
            "memory_score": max([*(one.coverage for one in turns), *(r.score for r in records)], default=0.0),
            "candidates": [
                {"id": str(r.id), "period": r.period, "summary": r.summary[:SUMMARY_CHARS], "score": r.score,
                 "scope": scope_of(r.occurred_at, now)}
                for r in records
            ],
        },
    )  # fmt: skip
    advice, is_degraded = await consult(
        run, deps, NAME, prompt, request, parse_analysis, deps.settings.analyzer_timeout
    )
    settled = await _settle(run, deps, advice, {str(record.id): record for record in records})
    result = settled.model_dump() | ({"degraded": True} if is_degraded else {})
    return Outcome(analysis=result, degraded="Analyzer" if is_degraded else None)


def parse_analysis(reply: str) -> Analysis:
    """The model's JSON, wherever it stands in the reply. Raises ValueError that says what is missing."""
    body = json_object(reply)
    if body is None:
        raise ValueError("there is no JSON object")
    try:
        return Analysis.model_validate(body)
    except ValidationError as error:
        raise ValueError(str(problems_of(error)[0])) from error


async def _settle(run: Run, deps: Deps, analysis: Analysis, known: Mapping[str, Record]) -> Analysis:
    """Make the parts agree: a record must be one of the candidates, and nothing is found without need."""
    if not analysis.needs_context:
        return Analysis(needs_context=False, context_type="GENERAL")
    found = Found()
    record = known.get(analysis.context_found.lsm_record_id or "")
    if record is not None:
        found = _found(record, min(max(analysis.context_found.relevance_score, 0.0), 1.0))
    elif analysis.search_keywords:
        keywords = " ".join(analysis.search_keywords)
        turns = await _rank(run, deps, keywords, 20)
        best = next(iter(await records_of_turns(deps.db, run.user_id, turns, 1, run.as_of)), None)
        if best is not None and best.score >= RELEVANT:
            found = _found(best, best.score)
    return analysis.model_copy(update={"context_type": "SPECIFIC_HISTORY", "context_found": found})


async def _candidates(run: Run, deps: Deps, turns: list[Ranked]) -> list[Record]:
    """The records of the turns, and those that no turn leads to any more, best first."""
    found = await records_of_turns(deps.db, run.user_id, turns, CANDIDATES, run.as_of)
    reach = Reach(before_seq=run.seq, as_of=run.as_of)
    rows = await wordless_records(deps.db, run.user_id, run.user_query, CANDIDATES, reach)
    if not rows:
        return found
    known = {record.id: record for record in [*(Record.from_row(row, row["score"]) for row in rows), *found]}
    scores = {row["id"]: row["score"] for row in rows}
    best = [replace(one, score=max(one.score, scores.get(one.id, 0.0))) for one in known.values()]
    return sorted(best, key=lambda one: -one.score)[:CANDIDATES]


async def _rank(run: Run, deps: Deps, text: str, limit: int) -> list[Ranked]:
    reach = Reach(before_seq=run.seq, as_of=run.as_of, zone=deps.settings.zone)
    return await rank_turns(deps.db, run.user_id, text, limit=limit, reach=reach, questions=deps.questions)


def _found(record: Record, score: float) -> Found:
    return Found(
        period=record.period, summary=record.summary, relevance_score=round(score, 3), lsm_record_id=str(record.id)
    )


def _within_budget(records: list[Record]) -> list[Record]:
    kept, room = [], CANDIDATE_TOKENS
    for record in records:
        room -= tokens.count(record.summary[:SUMMARY_CHARS]) + 60
        if room < 0:
            break
        kept.append(record)
    return kept


def _line(record: Record, query: str, now: datetime) -> str:
    summary = excerpt(one_line(record.summary), query, SUMMARY_CHARS)
    scope = scope_of(record.occurred_at, now)
    return f"- {record.id} | {record.period} ({scope}) | {escape(summary)} [{escape(', '.join(record.tags))}]"
