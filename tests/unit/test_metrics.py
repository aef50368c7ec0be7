"""The counters of an orchestrator."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import uuid4

from maas.engine.metrics import BUCKETS, Metrics
from maas.engine.run import Run, ToolUse
from maas.engine.states import Status

MODEL = {"model": "m", "provider": "openai"}
LABELS = MODEL | {"finish": "stop"}


def test_take_gives_what_came_since_the_last_time() -> None:
    metrics = Metrics()
    metrics.count("runs_adopted", events=2)
    metrics.count("runs_adopted")
    metrics.count("runs_reclaimed", events=0)
    metrics.count_model_calls(
        [
            {"provider": "openai", "model": "m", "finish": "stop", "ms": 1500.0, "reply": "text of a user"}
            | {"tokens_in": 100, "tokens_out": 0, "cached": 40}
        ]
        * 2
    )
    metrics.count_tool_calls([ToolUse("add_task", "done", 0.25)])
    assert json.loads(json.dumps(metrics.take())) == [
        {"name": "runs_adopted", "labels": {}, "le": None, "events": 3, "seconds": 0},
        {"name": "model_calls", "labels": LABELS, "le": None, "events": 2, "seconds": 3},
        {"name": "model_tokens", "labels": MODEL | {"kind": "in"}, "le": None, "events": 200, "seconds": 0},
        {"name": "model_tokens", "labels": MODEL | {"kind": "cached"}, "le": None, "events": 80, "seconds": 0},
        {
            "name": "tool_calls",
            "labels": {"tool": "add_task", "outcome": "done"},
            "le": None,
            "events": 1,
            "seconds": 0.25,
        },
    ]
    assert metrics.take() == []


def test_a_time_falls_into_one_bucket() -> None:
    """The limit belongs to its bucket, as Prometheus has it; the last bucket has none."""
    metrics = Metrics()
    for seconds in (0.0, 0.001, 0.0011, BUCKETS[-1], BUCKETS[-1] + 1):
        metrics.observe("analyzer", seconds)
    found = {one["le"]: one["events"] for one in metrics.take()}
    assert found == {0.001: 2, 0.002: 1, BUCKETS[-1]: 1, None: 1}


def test_an_answer_counts_by_its_length() -> None:
    """Against the words that its assistant should keep to, and in words altogether."""
    metrics = Metrics()
    run = Run(uuid4(), 1, 1, "ask", Status.RESPONDING, uuid4(), "Who?", "corporate", None, datetime.now(UTC))
    for max_words in (3, 2, None):
        metrics.count_answer(run, "one two three", max_words)
    taken = [one for one in metrics.take() if one["name"] in ("answers", "answer_words")]
    found = {one["labels"].get("length"): one["events"] for one in taken}
    assert found == {"within": 1, "over": 1, "unlimited": 1, None: 9}
