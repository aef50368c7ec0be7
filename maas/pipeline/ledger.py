"""The ledger: every model call of a run is noted, with its prompt version, tokens, time and outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar
from uuid import UUID

import structlog

from maas.pipeline.prompts import Prompt
from maas.pipeline.runs import Run
from maas.pipeline.stages import Deps
from shared.models.policy import complete
from shared.models.types import Message, Model, ModelError, Reply, Request

Value = TypeVar("Value")
SILENT = frozenset({"timeout", "unreachable", "rate_limited", "provider_error", "filtered", "malformed"})
log = structlog.get_logger()


class Caller(Protocol):
    """Whose model calls are noted: a run, or what is like one."""

    id: UUID
    attempt: int
    calls: list[dict[str, Any]]


async def ask(run: Run, deps: Deps, stage: str, prompt: Prompt, request: Request, budget: float) -> Reply:
    """Ask the role's model within `budget` seconds. Raises ModelError; the call is noted in both cases."""
    return await _call(run, deps, deps.models[request.role], stage, prompt, request, budget)


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

    Returns the value and whether it came by rule. `parse` raises ValueError. Raises ModelError for what no rule should
    hide (a wrong key, an unknown model, a refused request), unless the stage may not fail.
    """
    end = time.monotonic() + budget
    model = deps.models[request.role]
    try:
        reply = await _call(run, deps, model, stage, prompt, request, budget)
        try:
            return parse(reply.text), False
        except ValueError as error:
            log.info("reply_repaired", stage=stage, cause=str(error))
            reply = await _call(run, deps, model, stage, prompt, _repair(request, reply, error), end - time.monotonic())
            return parse(reply.text), False
    except ModelError as error:
        if may_fail and error.code not in SILENT:
            raise
        cause = str(error)
    except ValueError as error:
        cause = f"no usable reply: {error}"
    log.warning("stage_degraded", stage=stage, cause=cause)
    reply = await _call(run, deps, deps.rules, stage, prompt, request, budget)
    return parse(reply.text), True


def _repair(request: Request, reply: Reply, error: ValueError) -> Request:
    ask_again = f"That reply cannot be used ({error}). Send the JSON object alone, with every field that was asked for."
    turns = (Message("assistant", reply.text or "(empty)"), Message("user", ask_again))
    return replace(request, messages=(*request.messages, *turns))


async def _call(
    run: Caller, deps: Deps, model: Model, stage: str, prompt: Prompt, request: Request, budget: float
) -> Reply:
    began = time.monotonic()
    note = {
        "run_id": str(run.id), "attempt": run.attempt, "stage": stage, "round": len(run.calls),
        "provider": model.provider, "model": model.name, "role_name": prompt.role, "prompt_version": prompt.version,
        "attempts": 1, "tokens_in": 0, "tokens_out": 0,
    }  # fmt: skip
    try:
        if budget <= 0:
            raise ModelError("timeout", f"{model.provider}:{model.name}: no time is left for another call")
        done = await complete(
            model, request, budget=budget, attempt_timeout=min(budget, deps.settings.attempt_timeout),
            first_delay=deps.settings.retry_delay,
        )  # fmt: skip
    except ModelError as error:
        run.calls.append(
            note | {"finish": "error", "error": str(error), "attempts": error.attempts, "ms": _ms_since(began)}
        )
        raise
    reply = done.reply
    run.calls.append(
        note | {"reply": reply.text, "finish": reply.finish, "attempts": done.attempts, "ms": _ms_since(began),
                "tokens_in": reply.usage.tokens_in, "tokens_out": reply.usage.tokens_out}
    )  # fmt: skip
    return reply


def _ms_since(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 2)
