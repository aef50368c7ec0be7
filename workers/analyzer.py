"""The Analyzer: decides whether a query needs memory, and chooses the summary that fits it best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

import asyncpg
import structlog
from pydantic import BaseModel, Field, ValidationError, field_validator

from maas.engine.claims import Outcome, Run
from maas.engine.stages import Deps
from maas.memory.excerpts import excerpt, question_stems
from maas.memory.health import MemoryReason
from maas.memory.notes import parse_note_command, run_note_command
from maas.memory.query import SearchFilter, scope_of
from maas.memory.ranking import Evidence, RankedMessage, rank
from maas.memory.search import EVIDENCE, gather_evidence, is_search_failure, narrow_evidence, no_evidence
from maas.memory.summaries import (
    Summary,
    search_summaries_without_messages,
    summaries_of_messages,
    summary_of_best,
    without_parents,
)
from maas.prompting.model_calls import ask_or_fall_back, skip_call, with_builtin_model
from maas.prompting.prompts import read_profile, read_prompts
from maas.runs.debug_info import debug_log, run_events
from shared import tokens
from shared.errors import problems_of
from shared.json import json_object
from shared.models import Message, Request
from shared.text import clean, escape, fill, offload, one_line

NAME = "analyzer"
MIN_RELEVANCE = 0.3
MAX_CANDIDATES = 20
MAX_CANDIDATE_TOKENS = 2000
LINE_TOKENS = 60  # of a candidate's id, period and tags
SUMMARY_CHARS = 600
MAX_MESSAGES = 50  # whose summaries are candidates
MAX_KEYWORD_MESSAGES = 20
NO_SUMMARIES = "—"
log = structlog.get_logger()


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
        return [keyword for raw in value[:8] if (keyword := clean(one_line(raw))[:100])]


SCHEMA = Analysis.model_json_schema()
GENERAL = Analysis(needs_context=False, context_type="GENERAL")


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: the query, this user's memory, prompt Analyzer. Writes: analysis_result, notes. Next: ANALYZED."""
    profile = await read_profile(deps.db, run.assistant, run.assistants_version)
    if profile == "off":
        return Outcome(analysis=GENERAL.model_dump())
    if command := parse_note_command(run.user_query):
        async with run_events(run, deps), debug_log().span(2, "memory_command", {"command": command.verb}):
            answer = await run_note_command(deps.db, run.id, run.user_id, command)
        return Outcome(analysis=GENERAL.model_dump() | {"fast_path": "memory_command", "answer": answer})
    deps = deps if profile == "full" else with_builtin_model(deps)
    prompt = (await read_prompts(deps.db, "Analyzer", version=run.assistants_version))["Analyzer"]
    messages, candidates = await _recall(run, deps)
    if (
        deps.settings.fast_path
        and not (messages or candidates)
        and not await deps.db.rows("recent_turns", run.user_id, run.seq, 1)
    ):
        skip_call(run, deps, NAME, prompt, "Analyzer")  # there is nothing to choose from
        return Outcome(analysis=GENERAL.model_dump())
    summaries = _within_budget(candidates)
    now = run.as_of or datetime.now(UTC)
    about = question_stems(run.user_query)
    chars = sum(len(summary.text) for summary in summaries)
    lines = await offload(chars, lambda: "\n".join(_line(summary, about, now) for summary in summaries))
    text = fill(
        prompt.text,
        {
            "user_query": escape(run.user_query),
            "lsm_records_summary": lines or NO_SUMMARIES,
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
            "memory_score": max([*(one.coverage for one in messages), *(one.score for one in summaries)], default=0.0),
            "candidates": [
                {"id": str(one.id), "period": one.period, "summary": one.text[:SUMMARY_CHARS], "score": one.score,
                 "scope": scope_of(one.occurred_at, now)}
                for one in summaries
            ],
        },
    )  # fmt: skip
    analysis, is_degraded = await ask_or_fall_back(
        run, deps, NAME, prompt, request, parse_analysis, deps.settings.analyzer_timeout
    )
    checked = await _check(run, deps, analysis, summaries, candidates)
    result = checked.model_dump() | ({"degraded": True} if is_degraded else {})
    return Outcome(analysis=result, degraded="Analyzer" if is_degraded else None)


def parse_analysis(reply: str) -> Analysis:
    """Parse the first JSON object in a model's reply. Raises ValueError, which says what is missing."""
    body = json_object(reply)
    if body is None:
        raise ValueError("there is no JSON object")
    try:
        return Analysis.model_validate(body)
    except ValidationError as error:
        raise ValueError(str(problems_of(error)[0])) from error


async def _recall(run: Run, deps: Deps) -> tuple[list[RankedMessage], list[Summary]]:
    """Return the messages that fit the query best, and their summaries; nothing where the search fails."""
    try:
        evidence = await _gather(run, deps, run.user_query)
        messages = rank(evidence, limit=MAX_MESSAGES)
        candidates = await _candidates(run, deps, evidence, messages)
    except asyncpg.PostgresError as error:
        _note_failure(run, error)
        evidence, messages, candidates = no_evidence(run.user_query, _filters(run, deps)), [], []
    run.carried[EVIDENCE] = evidence
    run.log.memory_reasons |= evidence.reasons
    return messages, candidates


async def _check(
    run: Run, deps: Deps, analysis: Analysis, shown: Sequence[Summary], known: Sequence[Summary]
) -> Analysis:
    """Make the fields consistent: the chosen summary was shown, or else is the best one for the keywords, if any.

    `known` are summaries that need not be read again.
    """
    if not analysis.needs_context:
        return GENERAL
    chosen = ChosenSummary()
    summary = next((one for one in shown if str(one.id) == analysis.context_found.lsm_record_id), None)
    if summary is not None:
        chosen = _choose(summary, min(max(analysis.context_found.relevance_score, 0.0), 1.0))
    elif keywords := analysis.search_keywords:
        try:
            best = await _best_of_keywords(run, deps, keywords, known)
        except asyncpg.PostgresError as error:
            _note_failure(run, error)
            best = None
        if best is not None and best.score >= MIN_RELEVANCE:
            chosen = _choose(best, best.score)
    return analysis.model_copy(update={"context_type": "SPECIFIC_HISTORY", "context_found": chosen})


async def _best_of_keywords(
    run: Run, deps: Deps, keywords: Sequence[str], known: Sequence[Summary]
) -> Summary | None:  # fmt: skip
    evidence = await narrow_evidence(deps.db, run.carried[EVIDENCE], keywords)
    messages = rank(evidence or await _gather(run, deps, " ".join(keywords)), limit=MAX_KEYWORD_MESSAGES)
    if (best := summary_of_best(messages, known)) is not None:
        return best
    return next(iter(await summaries_of_messages(deps.db, run.user_id, messages, 1, run.as_of)), None)


def _note_failure(run: Run, error: asyncpg.PostgresError) -> None:
    """Note that memory could not be searched. Raises the error where the database does not answer at all."""
    if not is_search_failure(error):
        raise error
    log.error("search_failed", cause=repr(error))
    run.log.memory_reasons.add(MemoryReason.SEARCH_FAILED)


async def _candidates(run: Run, deps: Deps, evidence: Evidence, messages: list[RankedMessage]) -> list[Summary]:
    """Return the summaries of the messages and matching ones whose messages are deleted, best first."""
    summaries: list[Summary] = []
    if not evidence.is_memory_empty or evidence.words_gone:
        summaries = await summaries_of_messages(deps.db, run.user_id, messages, MAX_CANDIDATES, run.as_of)
    if not evidence.words_gone:
        return summaries
    filters = SearchFilter(before_seq=run.seq, as_of=run.as_of)
    rows = await search_summaries_without_messages(deps.db, run.user_id, run.user_query, MAX_CANDIDATES, filters)
    if not rows:
        return summaries
    parts = [Summary.from_row(row, row["score"]) for row in rows]
    by_id = {one.id: one for one in [*without_parents(summaries, parts), *parts]}
    scores = {row["id"]: row["score"] for row in rows}
    candidates = [replace(one, score=max(one.score, scores.get(one.id, 0.0))) for one in by_id.values()]
    return sorted(candidates, key=lambda one: -one.score)[:MAX_CANDIDATES]


async def _gather(run: Run, deps: Deps, query: str) -> Evidence:
    return await gather_evidence(deps.db, run.user_id, query, _filters(run, deps), deps.query_embedder)


def _filters(run: Run, deps: Deps) -> SearchFilter:
    return SearchFilter(before_seq=run.seq, as_of=run.as_of, zone=deps.settings.zone)


def _choose(summary: Summary, relevance: float) -> ChosenSummary:
    return ChosenSummary(
        period=summary.period,
        summary=summary.text,
        relevance_score=round(relevance, 3),
        lsm_record_id=str(summary.id),
    )


def _within_budget(summaries: list[Summary]) -> list[Summary]:
    fitting, room = [], MAX_CANDIDATE_TOKENS
    for summary in summaries:
        room -= tokens.count(summary.text[:SUMMARY_CHARS]) + LINE_TOKENS
        if room < 0:
            break
        fitting.append(summary)
    return fitting


def _line(summary: Summary, about: frozenset[str], now: datetime) -> str:
    text = excerpt(summary.text, about, SUMMARY_CHARS)
    scope = scope_of(summary.occurred_at, now)
    return f"- {summary.id} | {summary.period} ({scope}) | {escape(text)} [{escape(', '.join(summary.tags))}]"
