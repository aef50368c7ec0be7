"""Model calls of a run: within its budgets, made once although a process crashes, and recorded.

Every call is recorded in the log of its stage with prompt version, tokens, duration and outcome, whether it succeeds
or fails. Calls of the stage are stored with its outcome, or before it by `pin`; another process that continues
the run then takes the stored reply to the same request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TypeVar

import structlog

from maas import queries
from maas.engine.run import LostRun, Run
from maas.engine.stages import Deps, Prompt
from maas.model_options import options_of
from maas.prompting.budgets import DayBudgetSpent, OverBudget, check_budget
from maas.prompting.call_records import ms_since, new_record
from maas.prompting.memory_room import ROLE_WITH_MEMORY, fit_request
from maas.prompting.paused_models import check_pause
from maas.prompting.rate_limits import RateLimit
from maas.prompting.stored_calls import (
    ModelCaller,
    count_failed_attempts,
    is_live,
    is_replayed,
    read_earlier_calls,
    take_stored_reply,
)
from maas.settings.models import budget_setting
from shared.models import (
    Image,
    Message,
    Model,
    ModelError,
    NamedModel,
    Reply,
    Request,
    gen_ai,
    schema_instruction,
    spec_of,
)
from shared.models.calls import Completion, Pace, StreamListener, complete, fingerprint
from shared.models.context_window import count_request, learn, reported_window
from shared.models.drawing import draw
from shared.models.options import JsonSchema, ModelOptions
from shared.models.places import place_at

MAX_MEMORY_CUTS, MEMORY_SHARE = 2, 0.5
MAX_THOUGHT_TOKENS = 1000  # in a repair: some models count their thoughts as a part of the reply
REMEMBERING_ROLES = ("Analyzer", "Assembler", "Archivist")
BACKGROUND_ROLES = frozenset(("Archivist", "Compactor"))  # nobody waits for their reply
# After these errors the built-in model takes over; the others need an operator.
TEMPORARY_ERRORS = frozenset(
    {
        "timeout",
        "too_slow",
        "unreachable",
        "rate_limited",
        "provider_error",
        "filtered",
        "malformed",
        "reply_too_large",
        "context_exceeded",
    }
)
Value = TypeVar("Value")
log = structlog.get_logger()


async def ask(
    run: ModelCaller,
    deps: Deps,
    stage: str,
    prompt: Prompt,
    request: Request,
    budget: float,
    listener: StreamListener | None = None,
) -> Reply:
    """Call the role's model within `budget` seconds, then its fallback in the time that is left. Raises MaasError.

    A configured fallback gets half of the budget, however the first call ends; after `bad_request`, an error of the
    request itself, it is not called. Where both models are away, the error's `wait` is the shorter of the two.
    """
    model, fallback = deps.models[request.role], deps.models.fallbacks.get(request.role)
    if fallback is None:
        return await _call_within_window(run, deps, model, stage, prompt, request, budget, listener)
    end = time.monotonic() + budget
    try:
        return await _call_within_window(run, deps, model, stage, prompt, request, budget / 2, listener)
    except ModelError as error:
        if error.code == "bad_request":
            raise
        log.warning("fallback_called", stage=stage, fallback=f"{fallback.provider}:{fallback.name}", cause=str(error))
        wait = error.wait
    try:
        time_left = end - time.monotonic()
        return await _call_within_window(run, deps, fallback, stage, prompt, request, time_left, listener)
    except ModelError as error:
        if error.wait is not None and wait is not None:
            error.wait = min(error.wait, wait)
        raise


async def ask_or_fall_back(
    run: ModelCaller,
    deps: Deps,
    stage: str,
    prompt: Prompt,
    request: Request,
    parse: Callable[[str], Value],
    budget: float,
    *,
    may_fail: bool = True,
) -> tuple[Value, bool]:
    """Ask for a reply that `parse` accepts, within `budget` seconds: one repair call, then the built-in model.

    Returns the value and whether the built-in model gave it. `parse` raises ValueError. Raises MaasError for what an
    operator must correct (a wrong key, an unknown model, a refused request, a spent budget of the run), unless
    `may_fail` is false. Where the user's daily budget is spent, the built-in model is called at once.
    """
    end = time.monotonic() + budget
    try:
        reply = await ask(run, deps, stage, prompt, request, budget)
        try:
            return parse(reply.text), False
        except ValueError as error:
            log.info("reply_repaired", stage=stage, cause=str(error))
            await pin(run, deps)
            reply = await ask(run, deps, stage, prompt, _repair(request, reply, error), end - time.monotonic())
            return parse(reply.text), False
    except (ModelError, OverBudget) as error:
        if may_fail and error.code not in TEMPORARY_ERRORS and not isinstance(error, DayBudgetSpent):
            raise
        cause = str(error)
    except ValueError as error:
        cause = f"no usable reply: {error}"
    log.warning("stage_degraded", stage=stage, cause=cause)
    options = options_of(deps.settings, request.role, spec_of(deps.models.builtin))
    reply = await _call(run, deps, deps.models.builtin, options, stage, prompt, request, budget)
    return parse(reply.text), True


def with_builtin_model(deps: Deps) -> Deps:
    """A copy in which the built-in model analyses, assembles and archives, without fallbacks."""
    return deps.with_models(dict.fromkeys(REMEMBERING_ROLES, deps.models.builtin))


async def draw_image(
    run: Run, deps: Deps, stage: str, prompt: Prompt, text: str, photo: Image | None, budget: float
) -> Image:
    """Generate an image from `text` within `budget` seconds; the calls of both models are recorded. Raises MaasError.

    The ledger knows a stored image by its attachment alone: after a crash before that it is generated again.
    """
    images = deps.models.images
    if images is not None and not is_replayed(run):
        await check_budget(run, deps, images.model)

    def record(model: NamedModel, attempts: int, seconds: float, error: ModelError | None) -> None:
        outcome = {"finish": "stop", "images": 1} if error is None else {"finish": "error", "error": str(error)}
        call = new_record(run, model, stage, prompt) | outcome
        run.log.calls.append(call | {"attempts": attempts, "ms": round(seconds * 1000, 2)})

    return await draw(images, text, photo, budget, record)


def skip_call(run: ModelCaller, deps: Deps, stage: str, prompt: Prompt, role: str) -> None:
    """Record a call that is not made because its reply could change nothing."""
    run.log.calls.append(
        new_record(run, deps.models[role], stage, prompt) | {"finish": "skipped", "attempts": 0, "ms": 0.0}
    )


async def pin(run: ModelCaller, deps: Deps) -> None:
    """Store the calls of a stage that goes on asking, so that a crash does not repeat them. Raises LostRun."""
    if not is_live(run):
        return
    stage_log = run.log
    async with stage_log.pin_lock:  # calls side by side: each may have stored the other's already
        if calls := list(stage_log.calls):
            if not await deps.db.value(queries.pin_calls, run.id, run.attempt, calls):
                raise LostRun
            stage_log.pinned += calls
            del stage_log.calls[: len(calls)]


def _repair(request: Request, reply: Reply, error: ValueError) -> Request:
    ask_again = f"That reply cannot be used ({error}). Send the JSON object alone, with every field that was asked for."
    messages = (Message("assistant", reply.text or "(empty)"), Message("user", ask_again))
    is_spent = reply.finish == "length" and not reply.text
    max_tokens = max(request.max_tokens, MAX_THOUGHT_TOKENS) if is_spent else request.max_tokens
    return replace(request, messages=(*request.messages, *messages), max_tokens=max_tokens)


async def _call_within_window(
    run: ModelCaller,
    deps: Deps,
    model: Model,
    stage: str,
    prompt: Prompt,
    request: Request,
    budget: float,
    listener: StreamListener | None = None,
) -> Reply:
    """Call a model; if it refuses the Responder's request as too long, repeat it with less memory, twice at most."""
    end = time.monotonic() + budget
    options = options_of(deps.settings, request.role, spec_of(model))
    request = _in_json_mode(request, options.json_schema)
    window = options.window or await reported_window(model)
    try:
        request = await fit_request(model, request, window)
    except ModelError as error:
        record = new_record(run, model, stage, prompt) | {"finish": "error", "error": str(error), "attempts": 0}
        run.log.calls.append(record | {"ms": 0.0})
        raise
    has_memory = request.role == ROLE_WITH_MEMORY
    for cuts_left in reversed(range(MAX_MEMORY_CUTS + 1)):
        try:
            return await _call(run, deps, model, options, stage, prompt, request, end - time.monotonic(), listener)
        except ModelError as error:
            if error.code == "context_exceeded":
                learn(model, request, error, *([MEMORY_SHARE] if has_memory else ()))
            if error.code != "context_exceeded" or not has_memory or not cuts_left:
                raise
            refused, request = request, await fit_request(model, request, window)
            if request == refused:
                raise
    raise AssertionError("a loop that returns or raises")


async def _call(
    run: ModelCaller,
    deps: Deps,
    model: Model,
    options: ModelOptions,
    stage: str,
    prompt: Prompt,
    request: Request,
    budget: float,
    listener: StreamListener | None = None,
) -> Reply:
    began = time.monotonic()
    request_hash = fingerprint(model, request)
    await read_earlier_calls(run, deps, stage)
    if (stored := take_stored_reply(run, request_hash)) is not None:
        return stored
    if not is_replayed(run):
        await check_budget(run, deps, model)
    record = new_record(run, model, stage, prompt) | {"request_hash": request_hash}
    try:
        failed_attempts = count_failed_attempts(run, request_hash, options.tries)
        limit = RateLimit.of(deps.db, model, options, is_counted=not is_replayed(run))
        blocked_s = await check_pause(run, limit, model)
        if budget <= 0:
            cause = f"{spec_of(model)}: no time is left for another call ({budget_source(request.role)})"
            raise ModelError("timeout", cause)
        taken = await limit.take(request, budget, blocked_s)
        if request.role == ROLE_WITH_MEMORY:
            budget -= time.monotonic() - began
        with gen_ai.inference(model, request, prompt.role, prompt.version, listener is not None) as operation:
            completion = await _complete(deps, model, request, budget, options, failed_attempts, limit, listener)
            operation.answered(completion.reply, completion.first_piece_s)
            operation.note({"maas.attempts": completion.attempts})
        await limit.charge(taken, completion.reply)
    except ModelError as error:
        run.log.calls.append(
            record | {"finish": "error", "error": str(error), "attempts": error.attempts, "ms": ms_since(began)}
        )
        raise
    except asyncio.CancelledError:
        estimate = {"tokens_in": count_request(request), "ms": ms_since(began)}
        run.log.interrupted = record | {"finish": "stopped", "error": "cancelled: by request"} | estimate
        raise
    reply = completion.reply
    calls = [asdict(call) for call in reply.calls] or None
    run.log.calls.append(
        record
        | {
            "reply": reply.text,
            "finish": reply.finish,
            "attempts": completion.attempts,
            "ms": ms_since(began),
            "first_ms": None if completion.first_piece_s is None else round(completion.first_piece_s * 1000, 2),
            "tokens_in": reply.usage.tokens_in,
            "tokens_out": reply.usage.tokens_out,
            "cached": reply.usage.tokens_cached,
            "calls": calls,
            "parts": reply.raw if calls else None,
        }
    )
    return reply


async def _complete(
    deps: Deps,
    model: Model,
    request: Request,
    budget: float,
    options: ModelOptions,
    failed_attempts: int,
    limit: RateLimit,
    listener: StreamListener | None,
) -> Completion:
    """Call a model once it has a place. The wait counts for the Responder alone: its user waits for the whole."""
    end = time.monotonic() + budget
    async with place_at(model, request.role not in BACKGROUND_ROLES, options.calls):
        if request.role == ROLE_WITH_MEMORY:
            budget = max(end - time.monotonic(), 0.0)
        return await complete(
            model,
            request,
            budget=budget,
            attempt_timeout=min(budget, options.attempt_timeout or budget),
            first_delay=deps.settings.models.retry_delay,
            listener=listener,
            attempts=options.tries - failed_attempts,
            pace=Pace(options.first_token_timeout, options.tokens_per_second),
            breaker_failures=options.breaker_failures,
            is_patient=options.is_own_server,
            on_refusal=limit.block,
            sources=(options.attempt_source, budget_source(request.role)),
        )


def _in_json_mode(request: Request, mode: JsonSchema) -> Request:
    """Return a request whose schema is enforced strictly, loosely, or only named in the text."""
    if request.json_schema is None or mode == "plain":
        return request
    if mode == "strict":
        return replace(request, is_strict=True)
    system = f"{request.system}\n\n{schema_instruction(request.json_schema)}".strip()
    return replace(request, system=system, json_schema=None)


def budget_source(role: str) -> str:
    """Return what sets the time of a role's model, all attempts together."""
    setting = budget_setting(role)
    return f"{setting}, or limits.seconds of the assistant" if role == ROLE_WITH_MEMORY else setting
