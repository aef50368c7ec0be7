"""/mem0 with mem0's own SDKs: both clients of the Python one, and the one of JavaScript, at their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID, uuid4

import pytest

from shared.postgres import EmbeddedPostgres
from tests.databases import copy_of
from tests.flow.test_access import WRONG, new_key
from tests.frameworks.programs import MEM0, MEM0_NODE, Framework, missing
from tests.stack import Stack

COMET, NOVA = (f"I adopted a greyhound called {name}." for name in ("Comet", "Nova"))
BERGEN, GARDENER = "I live in Bergen.", "I work as a gardener."
OSLO, BAKER = "I live in Oslo.", "I work as a baker."
CLIENTS = [
    pytest.param(MEM0, "sync ", id="Python"),
    pytest.param(MEM0, "async ", id="Python, asynchronous"),
    pytest.param(MEM0_NODE, "", id="JavaScript"),
]


@pytest.fixture(scope="module")
def stack(postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("mem0")
    with copy_of(template, postgres.dsn) as dsn, Stack(dsn, folder, MAAS_AUTH="keys") as running:
        running.start_server()
        running.start_orchestrator()
        yield running


@pytest.fixture(scope="module")
def sdks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Framework]]:
    """Those that are installed; they import what they need side by side."""
    folder = tmp_path_factory.mktemp("sdks")
    with ExitStack() as stack:
        names = [name for name in (MEM0, MEM0_NODE) if missing(name) is None]
        yield {name: stack.enter_context(Framework(name, folder / f"{name}.log")) for name in names}


@pytest.mark.parametrize(("name", "kind"), CLIENTS)
def test_all_that_the_sdk_has_for_memories(name: str, kind: str, stack: Stack, sdks: dict[str, Framework]) -> None:
    """A program's user from the first memory to the erasure; the key serves users of this program alone."""
    if reason := missing(name):
        pytest.skip(reason)
    prefix = f"{uuid4().hex}:"
    user, url = f"{prefix}kim/ä &?", f"http://127.0.0.1:{stack.port}/mem0"
    key = new_key(stack, ("admin",), prefix=prefix)

    def take(steps: str, with_key: str = key) -> Any:
        outcome = sdks[name].run(f"{kind}{steps}", url, with_key, user)
        return outcome.get("result", outcome.get("error"))

    added = take("add")
    assert added["added"] == [["ADD", COMET], ["ADD", BERGEN], ["ADD", GARDENER]]
    stack.wait_archived(*map(UUID, added["runs"]))
    assert take("read") == {
        "found": [COMET, {"topic": "pets", "weight": 31}, True],
        "is_the_same": True,
        "of": [user, "vet", "clinic", "monday"],
        "page": [3, 1, None, True],
        "search with filters": [GARDENER],
        "and": [COMET],
        "or": [GARDENER, COMET],
        "not": [GARDENER, BERGEN],
        "range of numbers": [GARDENER, BERGEN],
        "range of times": [COMET],
        "categories": [COMET],
        "categories without filters": 0,
        "no category": [],
    }
    assert take("change") == {
        "updated": [True, NOVA, NOVA, {"topic": "dogs"}],
        "history": [["ADD", None, COMET], ["UPDATE", COMET, NOVA]],
        "batch_update": [BAKER, OSLO, NOVA],
        "batch_delete": [OSLO, NOVA],
        "delete": [NOVA],
        "missing": ["MemoryNotFoundError", "MemoryNotFoundError"],
        "malformed": "ValidationError",
    }
    assert "valid key" in str(take("end", WRONG))
    assert take("end") == {
        "users": [["user", user]],
        "of another session": 1,
        "delete_all": 0,
        "delete_users": [],
    }
    assert stack.rows("select from user_identities where external_id = %s", user) == []
