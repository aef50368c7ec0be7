"""The ledger: every model call of a run is noted, with its prompt version, tokens, time and outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Protocol, TypeGuard, TypeVar, cast
from uuid import UUID

import structlog

from maas.pipeline.budget import OverBudget, check_budget
from maas.pipeline.prompts import Prompt
from maas.pipeline.runs import LostRun, Run
from maas.pipeline.stages import Deps
from shared import tracing
from shared.models.fingerprint import fingerprint
from shared.models.policy import ATTEMPTS, Completion, Listener, complete
from shared.models.types import ErrorCode, Message, Model, ModelError, Reply, Request, ToolCall

Value = TypeVar("Value")
SILENT = frozenset({"timeout", "too_slow", "unreachable", "rate_limited", "provider_error", "filtered", "malformed"})
log = structlog.get_logger()


class Caller(Protocol):
    """Whose model calls are noted: a run, or what is like one. `round` numbers the calls of the present stage."""

    id: UUID
    attempt: int
    calls: list[dict[str, Any]]
    round: int


async def ask(
    run: Caller, deps: Deps, stage: str, prompt: Prompt, request: Request, budget: float,
    listener: Listener | None = None,
) -> Reply:  # fmt: skip
    """Ask the role's model within `budget` seconds, then its fallback in what is left. Raises MaasError.

    A fallback that is configured gets half of the budget, whatever becomes of the first; what was wrong with the
    request itself (`bad_request`) is not asked again. Calls are noted in every case. Where both are away, the error's
    `wait` is that of whoever is back first.
    """
    model, fallback = deps.models[request.role], deps.fallbacks.get(request.role)
    if fallback is None:
        return await _call(run, deps, model, stage, prompt, request, budget, listener)
    end = time.monotonic() + budget
    try:
        return await _call(run, deps, model, stage, prompt, request, budget / 2, listener)
    except ModelError as error:
        if error.code == "bad_request":
            raise
        log.warning("fallback_asked", stage=stage, fallback=f"{fallback.provider}:{fallback.name}", cause=str(error))
        wait = error.wait
    try:
        return await _call(run, deps, fallback, stage, prompt, request, end - time.monotonic(), listener)
    except ModelError as error:
        if error.wait is not None and wait is not None:
            error.wait = min(error.wait, wait)
        raise


async def consult(
    run: Caller,
    deps: Deps,
    stage: str,
    prompt: Prompt,
    request: Request,
    parse: Callable[[str], Value],
    budget: float,
    *,
    may_fail: bool = True,
) -> tuple[Value, bool]:
    """Ask for something that `parse` understands, within `budget` seconds; one repair call, then the built-in rules.

    Returns the value and whether it came by rule. `parse` raises ValueError. Raises MaasError for what no rule should
    hide (a wrong key, an unknown model, a refused request, a spent budget), unless the stage may not fail.
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
        if may_fail and error.code not in SILENT:
            raise
        cause = str(error)
    except ValueError as error:
        cause = f"no usable reply: {error}"
    log.warning("stage_degraded", stage=stage, cause=cause)
    reply = await _call(run, deps, deps.rules, stage, prompt, request, budget)
    return parse(reply.text), True


def skip(run: Caller, deps: Deps, stage: str, prompt: Prompt, role: str) -> None:
    """Note a call that was not made, because its answer could change nothing."""
    run.calls.append(_note(run, deps.models[role], stage, prompt) | {"finish": "skipped", "attempts": 0, "ms": 0.0})


async def pin(run: Caller, deps: Deps) -> None:
    """Store the calls of a stage that is going to ask again: after a crash they are not made a second time.

    Raises LostRun.
    """
    if not _is_live(run):
        return
    async with run.pinning:  # who asked side by side may have stored one's own call: it is stored when this begins
        if calls := list(run.calls):
            if not await deps.db.value("pin_calls", run.id, run.attempt, calls):
                raise LostRun
            run.pinned += calls
            del run.calls[: len(calls)]


def _repair(request: Request, reply: Reply, error: ValueError) -> Request:
    ask_again = f"That reply cannot be used ({error}). Send the JSON object alone, with every field that was asked for."
    turns = (Message("assistant", reply.text or "(empty)"), Message("user", ask_again))
    return replace(request, messages=(*request.messages, *turns))


async def _call(
    run: Caller, deps: Deps, model: Model, stage: str, prompt: Prompt, request: Request, budget: float,
    listener: Listener | None = None,
) -> Reply:  # fmt: skip
    began = time.monotonic()
    digest = fingerprint(model, request)
    await _read_kept(run, deps, stage)
    if (kept := _pinned(run, digest)) is not None:
        return kept
    if _is_live(run):
        await check_budget(run, deps, model)
    note = _note(run, model, stage, prompt) | {"request_hash": digest}
    try:
        in_vain = _attempts_in_vain(run, digest)
        if budget <= 0:
            raise ModelError("timeout", f"{model.provider}:{model.name}: no time is left for another call")
        with tracing.span(f"chat {model.name}", _about(model, request), "client") as told:
            done = await complete(
                model, request, budget=budget,
                attempt_timeout=min(budget, deps.settings.role_attempt_timeout(request.role)),
                first_delay=deps.settings.retry_delay, listener=listener, attempts=ATTEMPTS - in_vain,
            )  # fmt: skip
            told.note(_about_reply(done))
    except ModelError as error:
        run.calls.append(
            note | {"finish": "error", "error": str(error), "attempts": error.attempts, "ms": _ms_since(began)}
        )
        raise
    reply = done.reply
    calls = [asdict(call) for call in reply.calls] or None
    run.calls.append(
        note | {"reply": reply.text, "finish": reply.finish, "attempts": done.attempts, "ms": _ms_since(began),
                "tokens_in": reply.usage.tokens_in, "tokens_out": reply.usage.tokens_out,
                "cached": reply.usage.tokens_cached, "calls": calls, "parts": reply.raw if calls else None}
    )  # fmt: skip
    return reply


def _about(model: Model, request: Request) -> tracing.Attributes:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini" if model.provider == "gemini" else model.provider,
        "gen_ai.request.model": model.name,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.max_tokens": request.max_tokens,
    }


def _about_reply(done: Completion) -> tracing.Attributes:
    return {
        "gen_ai.response.finish_reasons": (done.reply.finish,),
        "gen_ai.usage.input_tokens": done.reply.usage.tokens_in,
        "gen_ai.usage.output_tokens": done.reply.usage.tokens_out,
        "maas.attempts": done.attempts,
    }


def _note(run: Caller, model: Model, stage: str, prompt: Prompt) -> dict[str, Any]:
    """A new line, which takes the next number: calls side by side never share one."""
    run.round += 1
    return {
        "run_id": str(run.id), "attempt": run.attempt, "stage": stage, "round": run.round - 1,
        "provider": model.provider, "model": model.name, "role_name": prompt.role, "prompt_version": prompt.version,
        "attempts": 1, "tokens_in": 0, "tokens_out": 0,
    }  # fmt: skip


async def _read_kept(run: Caller, deps: Deps, stage: str) -> None:
    """Read, once a stage, what earlier owners of this run stored."""
    if not _is_live(run) or run.attempt == 1 or run.kept is not None:
        return
    rows = await deps.db.rows("kept_calls", run.id, stage)
    if run.kept is None:  # nobody else was faster
        run.kept = list(rows)
        run.round = max(row["round"] + 1 for row in rows) if rows else 0


def _attempts_in_vain(run: Caller, digest: str) -> int:
    """How often this very request was made by earlier owners. Raises ModelError where it is not to be made again."""
    if not _is_live(run):
        return 0
    failed = [row for row in run.kept or () if row["request_hash"] == digest and row["error"]]
    made: int = sum(row["attempts"] for row in failed)
    if failed and (made >= ATTEMPTS or failed[-1]["error"].startswith("too_slow: ")):
        code, _, cause = failed[-1]["error"].partition(": ")
        raise ModelError(cast(ErrorCode, code), cause)
    return made


def _pinned(run: Caller, digest: str) -> Reply | None:
    """The reply that an earlier owner of this run had stored for the very same request; each is given once."""
    if not _is_live(run):
        return None
    for place, row in enumerate(run.kept or ()):
        if row["request_hash"] == digest and not row["error"]:
            assert run.kept is not None
            del run.kept[place]
            calls = tuple(ToolCall(**call) for call in row["calls"] or ())
            return Reply(row["reply"], row["finish"], calls, raw=row["parts"] or {})
    return None


def _is_live(run: Caller) -> TypeGuard[Run]:
    """Whether its calls are stored and count for budgets: a replay leaves nothing behind."""
    return isinstance(run, Run) and run.as_of is None


def _ms_since(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 2)
