"""The Analyzer: decides whether a query needs memory, and chooses the summary that fits it best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any

import asyncpg
import structlog

from maas import queries
from maas.builtin_model.analyzer import MIN_CANDIDATE_SCORE, time_scope
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps, Prompt
from maas.memory.dates import local, named_moment
from maas.memory.excerpts import excerpt, question_stems
from maas.memory.health import MemoryReason
from maas.memory.notes import parse_note_command, run_note_command
from maas.memory.query import Scope, SearchFilter, scope_of
from maas.memory.ranking import Evidence, RankedMessage, rank
from maas.memory.recent_messages import message_line
from maas.memory.relevance import Relevance
from maas.memory.search import gather_evidence, is_search_failure, narrow_evidence, no_evidence, read_hits
from maas.memory.summaries import (
    Summary,
    search_summaries_without_messages,
    summaries_of_messages,
    summary_of_best,
    without_parents,
)
from maas.prompt_rows import is_filled
from maas.prompting.analysis import GENERAL, SCHEMA, WHOLE_SCHEMA, Analysis, Choice, ChosenSummary, parse_choice
from maas.prompting.labels import make_labels
from maas.prompting.model_calls import ask_or_fall_back, skip_call, with_builtin_model
from maas.prompting.now import now_of, zone_of
from maas.prompting.prompts import prompt_language, read_profile, read_prompts
from maas.runs.debug_info import debug_log, run_events
from shared import tokens
from shared.models import Message, Request
from shared.text import escape, fill, offload

NAME = "analyzer"
MAX_REPLY_TOKENS, MAX_WHOLE_REPLY_TOKENS = 48, 1000
MAX_CANDIDATES = 20
MAX_CANDIDATE_TOKENS = 2000
LINE_TOKENS = 20  # of a candidate's label and period
SUMMARY_CHARS = 600
MAX_SHOWN_MESSAGES = 5
MESSAGE_CHARS = 300
MAX_MESSAGES = 50  # whose summaries are candidates
MAX_KEYWORD_MESSAGES = 20
NOTHING = "—"
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Found:
    """What memory holds on a query: the best messages, how many messages and summaries answer it, and summaries.

    `evidence` is what the messages were ranked by.
    Messages and summaries are best first. A summary counts as an answer only where retention has removed its messages.
    `asks_of_user`: the query is a question in the first person.
    """

    evidence: Evidence
    messages: list[RankedMessage]
    summaries: list[Summary]
    answers: int
    asks_of_user: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to choose from."""
        return not (self.messages or self.summaries)

    @property
    def score(self) -> float:
        """How much of the query memory covers at most, 0 to 1."""
        covered = [*(one.coverage for one in self.messages), *(one.score for one in self.summaries)]
        return max(covered, default=0.0)


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: the query, this user's memory, prompt Analyzer. Writes: analysis_result, notes. Next: ANALYZED.

    The Draft Builder of this claim finds the evidence in `cache.evidence`.
    """
    version = run.assistants_version
    profile = await read_profile(deps.db, run.assistant, version)
    if profile == "off":
        return Outcome(analysis=GENERAL.model_dump())
    if run.as_of is None and (command := parse_note_command(run.user_query)):
        async with run_events(run, deps), debug_log().span(2, "memory_command", {"command": command.verb}):
            answer = await run_note_command(deps.db, run.id, run.user_id, command)
        return Outcome(analysis=GENERAL.model_dump() | {"fast_path": "memory_command", "answer": answer})
    deps = deps if profile == "full" else with_builtin_model(deps)
    language = await prompt_language(deps, run.assistant, version)
    prompt = (await read_prompts(deps.db, "Analyzer", version=version, language=language))["Analyzer"]
    found = await _recall(run, deps)
    if (
        deps.settings.answers.fast_path
        and found.is_empty
        and not await deps.db.rows(queries.recent_turns, run.user_id, run.seq, 1)
    ):
        skip_call(run, deps, NAME, prompt, "Analyzer")  # there is nothing to choose from
        return Outcome(analysis=GENERAL.model_dump())
    shown = _within_budget(found.summaries)
    request, labels = await _request(run, deps, prompt, shown, found)
    choice, is_degraded = await ask_or_fall_back(
        run,
        deps,
        NAME,
        prompt,
        request,
        lambda reply: parse_choice(reply, labels),
        deps.settings.models.analyzer_timeout,
    )
    chosen = labels.get(choice.label or "")
    result = await _decide(run, deps, choice, chosen, found) | ({"degraded": True} if is_degraded else {})
    return Outcome(analysis=result, degraded="Analyzer" if is_degraded else None)


async def _request(
    run: Run, deps: Deps, prompt: Prompt, shown: Sequence[Summary], found: Found
) -> tuple[Request, dict[str, Summary]]:
    """Return the request and the summaries by their labels.

    Records are oldest first, so that what stood in an earlier request is the beginning of the next one, which servers
    keep. A prompt with placeholders is an operator's: it is filled and sent as one message, and asks for all fields.
    """
    records = sorted(shown, key=lambda one: (one.occurred_at, one.id))
    labels = dict(zip(make_labels([one.tags or one.text.split() for one in records]), records, strict=True))
    about, query = question_stems(run.user_query), escape(run.user_query)
    label_of = {one.id: label for label, one in labels.items()}
    inputs = {
        "user_query": run.user_query,
        "memory_score": found.score if found.answers else 0.0,
        "asks_of_user": found.asks_of_user,
        "candidates": [{"label": label_of[one.id], "score": one.score} for one in shown],
    }
    request = Request(
        role="Analyzer",
        messages=(),
        system=prompt.text,
        json_schema=SCHEMA,
        temperature=0.0,
        max_tokens=MAX_REPLY_TOKENS,
        inputs=inputs,
        needs_thoughts=False,
    )
    now, zone = run.as_of or datetime.now(UTC), await zone_of(run, deps)
    line = partial(_whole_line, now=now) if is_filled("Analyzer", prompt.text) else partial(_line, zone=zone)
    chars = sum(len(summary.text) for summary in records)
    lines = await offload(chars, lambda: "\n".join(line(*pair, about) for pair in labels.items())) or NOTHING
    if is_filled("Analyzer", prompt.text):
        text = fill(prompt.text, {"user_query": query, "lsm_records_summary": lines})
        request = replace(request, system="", json_schema=WHOLE_SCHEMA, max_tokens=MAX_WHOLE_REPLY_TOKENS)
    else:
        best = () if deps.is_by_rule("Analyzer") else found.messages[:MAX_SHOWN_MESSAGES]
        messages = (await _message_lines(run, deps, best) if best else "") or NOTHING
        text = (
            f"<records>\n{lines}\n</records>\n<messages>\n{messages}\n</messages>\n"
            f"{await now_of(run, deps)}\n<query>\n{query}\n</query>"
        )
    return replace(request, messages=(Message("user", text),)), labels


async def _recall(run: Run, deps: Deps) -> Found:
    """Return what fits the query best; nothing where the search fails."""
    try:
        evidence = await _gather(run, deps, run.user_query)
        messages = rank(evidence, limit=MAX_MESSAGES)
        relevance = await Relevance.of(deps.db, evidence)
        summaries, wordless = await _candidates(run, deps, evidence, messages)
        answers = len(relevance.answers(messages)) + sum(score >= relevance.min_coverage for score in wordless)
        asks_of_user = relevance.form == "personal" and "?" in run.user_query
        found = Found(evidence, messages, summaries, answers, asks_of_user)
    except asyncpg.PostgresError as error:
        _note_failure(run, error)
        found = Found(no_evidence(run.user_query, await _filters(run, deps)), [], [], 0)
    run.cache.evidence = found.evidence
    run.log.memory_reasons |= found.evidence.reasons
    return found


async def _message_lines(run: Run, deps: Deps, messages: Sequence[RankedMessage]) -> str:
    try:
        hits = await read_hits(deps.db, run.user_id, messages)
    except asyncpg.PostgresError as error:
        _note_failure(run, error)
        return ""
    zone = await zone_of(run, deps)
    return "\n".join(
        message_line(f"{local(hit.occurred_at, zone):%Y-%m-%d}", hit.speaker, hit.text, MESSAGE_CHARS, hit.origins)
        for hit in hits
    )


async def _decide(run: Run, deps: Deps, choice: Choice, chosen: Summary | None, found: Found) -> dict[str, Any]:
    """Return the analysis: what the model chose, as far as memory does not say otherwise.

    Memory that answers the query is used although the model says that none is needed; `overruled` says so.
    """
    overruled = None
    if not choice.is_personal:
        if not found.answers:
            return GENERAL.model_dump()
        overruled = f"said to need no memory, which holds {found.answers} answers; the best covers {found.score:.2f}"
        chosen = next((one for one in found.summaries if one.score >= MIN_CANDIDATE_SCORE), None)
    score = chosen.score if chosen is not None else 0.0
    if chosen is not None and overruled is None:
        score = max(score, MIN_CANDIDATE_SCORE) if choice.relevance is None else choice.relevance
    elif chosen is None and choice.keywords and overruled is None:
        chosen = await _best_or_none(run, deps, choice.keywords, found)
        score = chosen.score if chosen is not None else 0.0
    analysis = Analysis(
        needs_context=True,
        context_type="SPECIFIC_HISTORY",
        time_scope=_scope(run, found, chosen),
        search_keywords=list(choice.keywords),
        context_found=_choose(chosen, score) if chosen is not None else ChosenSummary(),
    )
    return analysis.model_dump() | ({"overruled": overruled} if overruled else {})


def _scope(run: Run, found: Found, chosen: Summary | None) -> Scope:
    """Return how old what is asked for is: by the date that the query names, by its words, or by the chosen summary."""
    now = run.as_of or datetime.now(UTC)
    said = time_scope(run.user_query)
    if said in (None, "cold") and (moment := named_moment(found.evidence.query.dates, now)) is not None:
        return scope_of(moment, now)
    return said or (scope_of(chosen.occurred_at, now) if chosen is not None else "hot")


async def _best_or_none(run: Run, deps: Deps, keywords: Sequence[str], found: Found) -> Summary | None:
    """Return the best summary for these words, None without one that is good enough; those found are not read again."""
    try:
        best = await _best_of_keywords(run, deps, keywords, found)
    except asyncpg.PostgresError as error:
        _note_failure(run, error)
        return None
    return best if best is not None and best.score >= MIN_CANDIDATE_SCORE else None


async def _best_of_keywords(run: Run, deps: Deps, keywords: Sequence[str], found: Found) -> Summary | None:
    evidence = await narrow_evidence(deps.db, found.evidence, keywords)
    messages = rank(evidence or await _gather(run, deps, " ".join(keywords)), limit=MAX_KEYWORD_MESSAGES)
    if (best := summary_of_best(messages, found.summaries)) is not None:
        return best
    return next(iter(await summaries_of_messages(deps.db, run.user_id, messages, 1, run.as_of)), None)


def _note_failure(run: Run, error: asyncpg.PostgresError) -> None:
    """Note that memory could not be searched. Raises the error where the database does not answer at all."""
    if not is_search_failure(error):
        raise error
    log.error("search_failed", cause=repr(error))
    run.log.memory_reasons.add(MemoryReason.SEARCH_FAILED)


async def _candidates(
    run: Run, deps: Deps, evidence: Evidence, messages: list[RankedMessage]
) -> tuple[list[Summary], list[float]]:
    """Return the summaries of the messages and matching ones whose messages are deleted, best first, and the scores of
    the latter."""
    summaries: list[Summary] = []
    if not evidence.is_memory_empty or evidence.words_gone:
        summaries = await summaries_of_messages(deps.db, run.user_id, messages, MAX_CANDIDATES, run.as_of)
    if not evidence.words_gone:
        return summaries, []
    filters = SearchFilter(before_seq=run.seq, as_of=run.as_of)
    rows = await search_summaries_without_messages(deps.db, run.user_id, run.user_query, MAX_CANDIDATES, filters)
    parts = [Summary.from_row(row, row["score"]) for row in rows]
    by_id = {one.id: one for one in [*without_parents(summaries, parts), *parts]}
    scores = {row["id"]: row["score"] for row in rows}
    candidates = [replace(one, score=max(one.score, scores.get(one.id, 0.0))) for one in by_id.values()]
    return sorted(candidates, key=lambda one: -one.score)[:MAX_CANDIDATES], list(scores.values())


async def _gather(run: Run, deps: Deps, query: str) -> Evidence:
    return await gather_evidence(deps.db, run.user_id, query, await _filters(run, deps), deps.query_embedder)


async def _filters(run: Run, deps: Deps) -> SearchFilter:
    return SearchFilter(before_seq=run.seq, as_of=run.as_of, zone=await zone_of(run, deps))


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


def _line(label: str, summary: Summary, about: frozenset[str], zone: tzinfo) -> str:
    text = excerpt(summary.text, about, SUMMARY_CHARS)
    return f"{label}: [{local(summary.occurred_at, zone):%Y-%m-%d}] {escape(text)}"


def _whole_line(label: str, summary: Summary, about: frozenset[str], now: datetime) -> str:
    text, scope = excerpt(summary.text, about, SUMMARY_CHARS), scope_of(summary.occurred_at, now)
    return f"- {label} | {summary.period} ({scope}) | {escape(text)} [{escape(', '.join(summary.tags))}]"
