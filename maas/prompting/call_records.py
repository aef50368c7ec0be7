"""What is recorded of a model call: its row in llm_calls and the attributes of its span."""

from __future__ import annotations

import time
from typing import Any

from maas.engine.stages import Prompt
from maas.prompting.stored_calls import ModelCaller
from shared import tracing
from shared.models import Model, NamedModel, Request
from shared.models.calls import Completion


def request_attributes(model: Model, request: Request) -> tracing.Attributes:
    """What the span of a call says when it begins."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini" if model.provider == "gemini" else model.provider,
        "gen_ai.request.model": model.name,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.max_tokens": request.max_tokens,
    }


def reply_attributes(completion: Completion) -> tracing.Attributes:
    """What the span of a call says at its end."""
    return {
        "gen_ai.response.finish_reasons": (completion.reply.finish,),
        "gen_ai.usage.input_tokens": completion.reply.usage.tokens_in,
        "gen_ai.usage.output_tokens": completion.reply.usage.tokens_out,
        "maas.attempts": completion.attempts,
    }


def new_record(run: ModelCaller, model: NamedModel, stage: str, prompt: Prompt) -> dict[str, Any]:
    """The record of a new call, with the next number: calls side by side have different ones."""
    number = run.log.next_round
    run.log.next_round += 1
    return {
        "run_id": str(run.id),
        "attempt": run.attempt,
        "stage": stage,
        "round": number,
        "provider": model.provider,
        "model": model.name,
        "role_name": prompt.role,
        "prompt_version": prompt.version,
        "attempts": 1,
        "tokens_in": 0,
        "tokens_out": 0,
    }


def ms_since(began: float) -> float:
    """Milliseconds since `began`, a time of `time.monotonic`."""
    return round((time.monotonic() - began) * 1000, 2)
