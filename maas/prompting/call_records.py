"""What is recorded of a model call: its row in llm_calls."""

from __future__ import annotations

import time
from typing import Any

from maas.engine.stages import Prompt
from maas.prompting.stored_calls import ModelCaller
from shared.models import NamedModel


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
