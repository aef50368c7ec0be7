"""The way of one claimed run through its stages, as far as this process can take it, and how its claim ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from structlog.contextvars import bind_contextvars

from maas import queries
from maas.engine.claims import ClaimEnd, Claims
from maas.engine.metrics import Metrics
from maas.engine.run import Deferred, LostRun, Outcome, Run, Yielded
from maas.engine.stages import Deps, Stage, failure_message
from maas.engine.states import NEXT, STAGE_OF, Status
from shared import tracing
from shared.db import CONNECTION_LOST, SlowStatement
from shared.errors import MaasError
from shared.text import is_blank

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DriveContext:
    """What all runs of a session are driven by; no further stage begins while `stopping` is set."""

    deps: Deps
    stages: Mapping[str, Stage]
    claims: Claims
    metrics: Metrics
    stopping: asyncio.Event


@dataclass(slots=True)
class Drive:
    """A claimed run on its way through the stages.

    `task`: in which `finish` runs. `is_interrupted`: its stage was cancelled, to return the run to the queue or to end
    it. `is_cancelled`: a client requested its end.
    """

    run: Run
    context: DriveContext
    task: asyncio.Task[None] | None = None
    is_in_stage: bool = False
    is_interrupted: bool = False
    is_cancelled: bool = False

    def interrupt(self) -> None:
        """Cancel the stage that it is in, once."""
        if self.is_in_stage and not self.is_interrupted and self.task is not None:
            self.is_interrupted = True
            self.task.cancel()

    async def finish(self) -> ClaimEnd | None:
        """Take the run as far as this process can; None where it has been lost. Raises CONNECTION_LOST."""
        run = self.run
        bind_contextvars(run_id=run.id, user_id=run.user_id, attempt=run.attempt)
        try:
            parent = await self._trace_parent()
            with tracing.span(f"run {run.kind}", _span_attributes(run), "consumer", parent, _dialogue(run)):
                return await self._run_stages()
        except LostRun:
            log.warning("run_lost", status=self.run.status)
            return None
        except Deferred as deferred:
            return _deferral(self.run, deferred)
        except Yielded as yielded:
            return ClaimEnd(self.run, "deferred", wait=yielded.wait)
        except SlowStatement as error:
            return _failure(self.run, error)
        except CONNECTION_LOST:
            raise
        except Exception as error:
            return _failure(self.run, error)

    async def _trace_parent(self) -> str | None:
        """The `traceparent` that the client sent with the run, read only when spans are exported."""
        return await self.context.deps.db.value(queries.trace_parent, self.run.id) if tracing.exported() else None

    async def _run_stages(self) -> ClaimEnd:
        while (name := STAGE_OF[self.run.status]) in self.context.stages and not self.context.stopping.is_set():
            run = self.run
            if run.status in (Status.NEW, Status.READY):
                await self._advance(Outcome())
                continue
            outcome = run.skip_outcome() or await self._run_stage(name)
            if outcome is None:
                break
            if outcome.has_more and outcome.record:
                self.run = await self.context.claims.archive_exchange(run, outcome.record)
                continue
            if run.status is Status.COMPLETED:
                return ClaimEnd(run, "archived", record=outcome.record or {})
            await self._advance(outcome)
        return ClaimEnd(self.run, "released")

    async def _advance(self, outcome: Outcome) -> None:
        max_words = self.run.log.max_words
        self.run, is_cancelled = await self.context.claims.advance(self.run, NEXT[self.run.status], outcome)
        if self.run.status is Status.COMPLETED:
            self.context.metrics.count_answer(self.run, outcome.answer, max_words)
        elif is_cancelled:
            raise _cancelled()

    async def _run_stage(self, name: str) -> Outcome | None:
        """The stage's outcome; None when it was interrupted to return the run to the queue."""
        run = self.run
        self.is_in_stage = True
        bind_contextvars(stage=name)
        began = time.monotonic()
        try:
            with tracing.span(f"stage {name}", {"maas.stage": name}) as span:
                outcome = await self.context.stages[name](run, self.context.deps)
                span.note({"maas.degraded": outcome.degraded})
                self.context.metrics.count_variant(run, "answered")
                return outcome
        except MaasError:
            self.context.metrics.count_variant(run, "failed")
            raise
        except asyncio.CancelledError:
            if not self.is_interrupted or self.task is None or self.task.uncancel() > 0:
                raise  # the session ends
            if not self.is_cancelled or run.status is Status.COMPLETED:
                return None
            if run.log.interrupted is not None:  # the provider bills it, so the user's budget does
                run.log.calls.append(run.log.interrupted)
            if is_blank(run.log.written):
                raise _cancelled() from None
            run.log.limited = "stopped"
            return Outcome(answer=run.log.written)
        finally:
            self.is_in_stage = self.is_interrupted = False
            self.context.metrics.observe(name, time.monotonic() - began)
            self.context.metrics.count_model_calls([*run.log.pinned, *run.log.calls])
            self.context.metrics.count_tool_calls(run.log.tools)


def _cancelled() -> MaasError:
    return MaasError("cancelled", "cancelled by request")


def _failure(run: Run, error: Exception) -> ClaimEnd:
    """The end of a run whose stage has failed; it is logged here."""
    stage = STAGE_OF[run.status]
    if isinstance(error, MaasError):
        log.warning("run_failed", stage=stage, code=error.code, cause=error.message)
        code = error.code
    else:
        log.exception("stage_crashed", stage=stage)
        code = "internal"
    if run.status is Status.COMPLETED:
        return ClaimEnd(run, "archive_failed")
    return ClaimEnd(run, "failed", code=code[:50], message=f"{stage}: {failure_message(error)}"[:2000])


def _deferral(run: Run, deferred: Deferred) -> ClaimEnd:
    """The end of a claim whose model is away; logged at first, and when the model was called again without success."""
    if run.time_left is not None and not run.log.calls:
        return ClaimEnd(run, "deferred", wait=deferred.wait, time_left=deferred.time_left)
    code, cause = deferred.cause.code, deferred.cause.message
    log.warning("run_deferred", status=run.status, code=code, cause=cause, again_in=round(deferred.wait, 1))
    return ClaimEnd(run, "deferred", code=code, message=cause, wait=deferred.wait, time_left=deferred.time_left)


def _span_attributes(run: Run) -> tracing.Attributes:
    return {
        "maas.run.id": str(run.id),
        "maas.run.kind": run.kind,
        "maas.run.attempt": run.attempt,
        "gen_ai.agent.name": run.assistant,
    }


def _dialogue(run: Run) -> tracing.Attributes:
    """What all spans of a run say of whom it is for; receivers put the spans of one session together."""
    conversation = str(run.conversation_id) if run.conversation_id else None
    return {"user.id": str(run.user_id), "session.id": conversation, "gen_ai.conversation.id": conversation}
