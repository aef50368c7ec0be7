"""The Final Responder answers, from the payload alone; or it executes what was approved and tells the outcome."""

from __future__ import annotations

from random import random
from time import monotonic

from maas.pipeline.draft import Draft, Payload
from maas.pipeline.events import RunEvents
from maas.pipeline.ledger import ask
from maas.pipeline.prompts import Prompt
from maas.pipeline.runs import Deferred, Outcome, Run
from maas.pipeline.stages import Deps
from shared.models.types import Message, ModelError, Reply, Request
from shared.text import clean, is_blank

NAME = "final_responder"
SHORTEST_WAIT_S = 1.0


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: final_context_payload only (the draft for the ledger's version). Writes: final_answer. Next: COMPLETED.

    Raises Deferred while its model is away, until the time for the answer is over.
    """
    try:
        return await _respond(run, deps)
    except ModelError as error:
        time_left = (run.answer_by or 0.0) - monotonic()
        if error.wait is None or time_left <= 0 or run.as_of is not None:
            raise
        run.calls = [call for call in run.calls if call["attempts"]]  # a refusal is told by the wait
        wait = max(error.wait, SHORTEST_WAIT_S) * (1 + random() / 4)  # so that those who wait do not come all at once
        raise Deferred(min(wait, time_left), time_left, error) from error


async def _respond(run: Run, deps: Deps) -> Outcome:
    if run.kind == "action":
        return await _act(run, deps)
    payload = Payload.parse(run.payload or "")
    request = Request(
        role="FinalResponder",
        system=payload.briefing(),
        messages=(Message("user", payload.query),),
        temperature=deps.settings.temperature,
        max_tokens=deps.settings.max_tokens,
        inputs={"user_query": payload.query, "memory": payload.memory.split("\n")},
    )
    version = Draft.parse(run.draft).role_version if run.draft else 0
    prompt = Prompt("FinalResponder", payload.system, version)
    reply = await _answer(run, deps, prompt, request)
    answer = clean(reply.text).strip()
    if is_blank(answer):
        model = deps.models["FinalResponder"]
        raise ModelError(
            "filtered" if reply.finish == "filtered" else "malformed",
            f"{model.provider}:{model.name} sent no text (finish: {reply.finish})",
        )
    return Outcome(answer=answer)


async def _act(run: Run, deps: Deps) -> Outcome:
    assert deps.dialogues is not None and deps.events is not None
    async with RunEvents(deps.events, run.id, run.attempt) as events:
        return await deps.dialogues.act(run, deps, events)


async def _answer(run: Run, deps: Deps, prompt: Prompt, request: Request) -> Reply:
    if deps.events is None or run.as_of is not None:
        return await _asked(run, deps, prompt, request, None)
    async with RunEvents(deps.events, run.id, run.attempt) as events:
        return await _asked(run, deps, prompt, request, events)


async def _asked(run: Run, deps: Deps, prompt: Prompt, request: Request, events: RunEvents | None) -> Reply:
    if deps.dialogues is not None and (reply := await deps.dialogues.answer(run, deps, prompt, request, events)):
        return reply
    listener = events if deps.settings.stream else None
    seconds = run.allow(deps.settings.responder_timeout, deps.settings.role_attempt_timeout(request.role))
    return await ask(run, deps, NAME, prompt, request, seconds, listener)
