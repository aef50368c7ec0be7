"""A row from POST to memory, with every role played by a provider's real SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.aimock import Aimock
from tests.contract.dialects import Dialect
from tests.stack import Stack

CHOICE = {"about": "world", "record": "none", "keywords": []}
RECORD = {
    "time_bucket_start": "2025-01-01",
    "time_bucket_end": "2025-01-01",
    "tags": ["Pets"],
    "summary": "The user adopted a dog. The assistant was glad.",
}


@pytest.fixture
def stack(database: str, tmp_path: Path) -> Iterator[Stack]:
    with Stack(database, tmp_path) as stack:
        yield stack


def test_four_calls_make_an_answer_and_a_memory(stack: Stack, aimock: Aimock, dialect: Dialect) -> None:
    aimock.say(json.dumps(CHOICE), to="<records>")
    aimock.say(json.dumps({"keep": []}), to="<memory>")
    aimock.say(f"```json\n{json.dumps(RECORD)}\n```", to="<logs>")
    aimock.fail(503)
    aimock.say("Поздравляю с собакой! 🐕", to="I adopted a dog")
    stack.start_server()
    stack.start_orchestrator(**aimock.settings(f"{dialect.provider}:{dialect.model}"))
    run_id = stack.ask(uuid4(), "I adopted a dog")
    stack.wait_archived(run_id)
    (run,) = stack.rows("select status, final_answer, archive_status from pipeline_runs where id = %s", run_id)
    assert run == {"status": "COMPLETED", "final_answer": "Поздравляю с собакой! 🐕", "archive_status": "ARCHIVED"}
    records = stack.rows("select summary, tags from lsm_storage where superseded_at is null")
    assert {"summary": RECORD["summary"], "tags": RECORD["tags"]} in records
    answered = [entry["path"].partition("?")[0] for entry in aimock.journal() if entry["response"]["status"] == 200]
    assert answered == [dialect.path, dialect.path, dialect.stream_path, dialect.path]  # the answer is streamed
