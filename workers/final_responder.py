"""The Final Responder: answers from the payload alone, or executes an approved action or a task and reports on it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import random
from time import monotonic

import structlog

from maas import queries
from maas.agents.runtime import open_assistant
from maas.conversations.language import dialogue_language
from maas.engine.drafts import Draft, Payload
from maas.engine.events import RunEvents
from maas.engine.run import Deferred, Outcome, Run
from maas.engine.stages import Deps, Prompt
from maas.engine.states import RunKind
from maas.prompt_rows import row_name, split_row_name
from maas.prompting.budgets import DayBudgetSpent, spent_answer
from maas.prompting.distances import with_distances
from maas.prompting.model_calls import ask, pin
from maas.prompting.now import with_now
from maas.prompting.output_format import OutputFormat
from maas.prompting.prompts import prompt_language, read_prompts, read_role_name, role_text
from maas.runs.debug_info import debug_log, run_events
from maas.runs.trials import TRIAL_VERSION, read_trial, with_tried_model
from maas.tools.waiting_actions import with_waiting_actions
from shared import tokens
from shared.errors import MaasError
from shared.marks import MarkFilter, numbers_in, numbers_of_lines
from shared.models import Message, ModelError, Reply, Request, gen_ai
from shared.text import clean, is_blank

NAME = "final_responder"
MIN_WAIT_S = 1.0
log = structlog.get_logger()


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: final_context_payload; of the draft only a version and numbers. Writes: final_answer. Next: COMPLETED.

    Raises Deferred while the model is unavailable, as long as time for the answer is left.
    """
    try:
        return await _respond(run, deps)
    except ModelError as error:
        time_left = (run.log.answer_by or 0.0) - monotonic()
        if error.wait is None or time_left <= 0 or run.as_of is not None:
            raise
        # Calls that the circuit breaker refused are not recorded.
        run.log.calls = [call for call in run.log.calls if call["attempts"]]
        wait = max(error.wait, MIN_WAIT_S) * (1 + random() / 4)  # jitter, so that runs do not return all at once
        raise Deferred(min(wait, time_left), time_left, error) from error


async def _respond(run: Run, deps: Deps) -> Outcome:
    async with run_events(run, deps) as events:
        try:
            with gen_ai.agent(run.assistant):
                match run.kind:
                    case RunKind.ASK:
                        outcome = await _ask(run, deps, events)
                    case RunKind.TRIAL:
                        outcome = await _try(run, deps, events)
                    case _:
                        outcome = await _act(run, deps, events)
        except asyncio.CancelledError:
            if run.kind == RunKind.ASK and events is not None:
                run.log.written = clean(events.written()).strip()  # the answer, where a client has stopped the run
                if run.log.interrupted is not None:
                    run.log.interrupted["tokens_out"] = tokens.count(run.log.written)
            raise
        if run.kind in (RunKind.ASK, RunKind.TASK) and not outcome.is_json:
            outcome = await with_waiting_actions(run, deps, outcome, events)
        await debug_log().info(10, "answer", {"chars": len(outcome.answer or "")})
        return outcome


async def _ask(run: Run, deps: Deps, events: RunEvents | None) -> Outcome:
    payload, draft = await run.read_payload(), await run.read_draft() if run.draft else None
    request = await _to_request(payload, run, deps)
    wanted = OutputFormat.parse(draft.client_format) if draft is not None and draft.client_format else None
    marks = _given_marks(payload, draft) if wanted is None else None
    if marks is not None and events is not None:
        events.marks = MarkFilter(marks)
    language = await prompt_language(deps, run.assistant, run.assistants_version)
    prompt = Prompt(row_name("FinalResponder", language), payload.system, draft.role_version if draft else 0)
    try:
        if wanted is not None:
            return await _ask_for_json(run, deps, prompt, request, wanted, events)
        reply = await _call_model(run, deps, prompt, request, events)
    except DayBudgetSpent as error:
        if wanted is not None:
            raise
        log.warning("answered_by_rules", cause=error.message)
        spoken = await dialogue_language(deps.db, run.id, "auto", run.user_query)
        return Outcome(answer=spent_answer(run, deps.settings, spoken))
    answer = _read_answer(reply, deps)
    outcome = Outcome(answer=answer) if marks is None else await _cited(run, deps, answer, MarkFilter(marks))
    return replace(outcome, degraded=run.log.degraded)


async def _ask_for_json(
    run: Run, deps: Deps, prompt: Prompt, request: Request, wanted: OutputFormat, events: RunEvents | None
) -> Outcome:
    """Answer with JSON that fits, after one repair at most; no text is streamed, since it cannot be taken back.

    Raises MaasError('bad_format').
    """
    deps = replace(deps, settings=deps.settings.replace(stream=False))
    definition, opened, request = await open_assistant(run, deps, request)
    has_tools = definition is not None and not definition.is_plain
    reply = await _call_model(run, deps, prompt, wanted.demand(request, has_tools), events)
    try:
        try:
            answer = wanted.read(reply.text)
        except ValueError as error:
            log.info("reply_repaired", stage=NAME, cause=str(error))
            await pin(run, deps)
            reply = await _ask_model(run, opened, prompt, wanted.repair(request, reply, error), None)
            answer = wanted.read(reply.text)
    except ValueError as error:
        raise MaasError("bad_format", f"the model gave no JSON that fits the requested format: {error}") from error
    return Outcome(answer=clean(answer), degraded=run.log.degraded, is_json=True)


async def _try(run: Run, deps: Deps, events: RunEvents | None) -> Outcome:
    """Answer the context of another run with the prompt text or the model that is on trial; no tool is offered.

    Raises MaasError('not_replayable') when that run was erased meanwhile.
    """
    trial = await read_trial(run, deps)
    name = await read_role_name(deps.db, run.assistant, run.user_id)
    run = replace(run, created_at=trial["asked_at"])
    tried, language = split_row_name(trial["role"] or "FinalResponder")
    if trial["role"] is None:
        language = await prompt_language(deps, run.assistant)
    prompts = await read_prompts(deps.db, "FinalResponder", name, language=language)
    if trial["text"] is not None and trial["stage"] == NAME:
        prompts = prompts | {tried: Prompt(row_name(tried, language), trial["text"], TRIAL_VERSION)}
    role = role_text(prompts, name)
    payload, draft = await run.read_payload(), await run.read_draft() if run.draft else None
    payload = replace(payload, system=draft.system(role) if draft is not None else role)
    _, deps, request = await open_assistant(run, deps, await _to_request(payload, run, deps))
    prompt = Prompt("FinalResponder", payload.system, TRIAL_VERSION)
    deps = with_tried_model(deps, trial, NAME)
    return Outcome(answer=_read_answer(await _ask_model(run, deps, prompt, request, events), deps))


async def _to_request(payload: Payload, run: Run, deps: Deps) -> Request:
    shown = await with_distances(payload, run, deps)
    return Request(
        role="FinalResponder",
        system=shown.system_text(),
        messages=(Message("user", payload.query),),
        temperature=deps.settings.answers.temperature,
        max_tokens=deps.settings.answers.max_tokens,
        inputs={"user_query": payload.query, "memory": payload.memory.split("\n")},
    )


def _read_answer(reply: Reply, deps: Deps) -> str:
    answer = clean(reply.text).strip()
    if is_blank(answer):
        model = deps.models["FinalResponder"]
        raise ModelError(
            "filtered" if reply.finish == "filtered" else "malformed",
            f"{model.provider}:{model.name} sent no text (finish: {reply.finish})",
        )
    return answer


def _given_marks(payload: Payload, draft: Draft | None) -> frozenset[int] | None:
    """Return the numbers that the answer may cite; None where it cites nothing."""
    if not payload.has_marks:
        return None
    lines = payload.memory.split("\n") if draft is None else (*draft.recent, *draft.focus)
    return numbers_of_lines(lines) & numbers_in(payload.memory)


async def _cited(run: Run, deps: Deps, answer: str, marks: MarkFilter) -> Outcome:
    """Return the answer without marks that were not given, and the sources with those that it cites."""
    answer = marks.apply(answer).strip()
    if not marks.used:
        return Outcome(answer=answer)
    sources = await deps.db.value(queries.run_sources, run.id) or []
    cited = [one | ({"used": True} if one.get("number") in marks.used else {}) for one in sources]
    return Outcome(answer=answer, sources=cited)


async def _act(run: Run, deps: Deps, events: RunEvents | None) -> Outcome:
    assert deps.runtime is not None and events is not None
    act = deps.runtime.work if run.kind == "task" else deps.runtime.act
    async with debug_log().span(3, run.kind):
        return await act(run, deps, events)


async def _call_model(run: Run, deps: Deps, prompt: Prompt, request: Request, events: RunEvents | None) -> Reply:
    runtime = deps.runtime
    if runtime is not None:
        definition, deps, request = await open_assistant(run, deps, request)
        if definition is not None and not definition.is_plain:
            return await runtime.answer(definition, run, deps, prompt, request, events)
    return await _ask_model(run, deps, prompt, request, events)


async def _ask_model(run: Run, deps: Deps, prompt: Prompt, request: Request, events: RunEvents | None) -> Reply:
    # The built-in model answers in one piece: no text could be sent before the answer.
    is_streamed = deps.settings.answers.stream and not deps.is_by_rule("FinalResponder")
    stream = events if is_streamed else None
    timeout_s = run.time_limit(
        deps.settings.models.responder_timeout, deps.settings.models.role_attempt_timeout(request.role)
    )
    request = await with_now(request, run, deps)
    async with debug_log().span(3, "session", {"routing": "plain"}):
        return await ask(run, deps, NAME, prompt, request, timeout_s, stream)
