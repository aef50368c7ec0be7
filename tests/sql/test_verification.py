"""Tools that change something look what became of it; one that does not is refused before it is offered."""

from __future__ import annotations

import asyncio
import json
from uuid import UUID

import pytest

from maas.agents.slots import SlotSession
from maas.assistants.registry import built_in, load_tools
from maas.assistants.stickers.definition import ASSISTANT
from maas.builtin_model import BuiltinModel
from maas.engine.stages import Deps, RoleModels
from maas.settings import load_settings
from maas.tools.calls import ToolResult
from maas.tools.executor import UNVERIFIED, Executor
from maas.tools.permissions import Permissions
from maas.tools.tool import ToolContext, Toolset, tool
from shared.db import Database, open_database
from shared.errors import MaasError
from shared.models import ToolCall


@tool(domain="box", effect="dangerous")
async def forget_to_look() -> str:
    """Do something and do not look."""
    return "done"


CARELESS = Toolset([forget_to_look])


def deps_of(db: Database) -> Deps:
    return Deps(db, load_settings(), RoleModels({}, BuiltinModel()))


async def test_every_writing_tool_of_built_in_assistants_declares_it(database: str) -> None:
    async with open_database(database, 1, "test") as db:
        tools = load_tools((), deps_of(db))
    writing = {one.name for one in tools if one.effect != "read"}
    definitions = [one.definition for one in built_in(load_settings()) if one.definition is not None]
    assert {name for definition in definitions for name in definition.toolset} <= set(tools.domains())
    assert {"update_sticker_params", "request_photo", "confirm_and_generate"} <= writing
    assert [one.name for one in tools if one.name in writing and one.verify is None] == []


async def test_a_tool_that_does_not_look_is_refused(database: str) -> None:
    async with open_database(database, 1, "test") as db:
        with pytest.raises(MaasError, match=r"forget_to_look: changes something: declare how .* verify=") as caught:
            load_tools(("tests.sql.test_verification:CARELESS",), deps_of(db))
    assert caught.value.code == "wrong_tool"


async def test_results_of_sticker_tools_carry_it(database: str) -> None:
    session = SlotSession(UUID(int=1), [one.slot("en") for one in ASSISTANT.slots], "en")
    values = {"style": "anime", "emotion": "null"}
    async with open_database(database, 1, "test") as db:
        tools = load_tools((), deps_of(db))
        permissions = Permissions(frozenset(one.name for one in tools))
        context = ToolContext(UUID(int=1), UUID(int=2), None, {"session": session})
        executor = Executor(tools, permissions, context, _count, _record)
        calls = [
            ToolCall("1", "update_sticker_params", json.dumps(values)),
            ToolCall("2", "request_photo", "{}"),
            ToolCall("3", "confirm_and_generate", "{}"),
        ]
        taken, asked, refused = await executor.run(calls)
    assert taken.body["verification"] == {"collected": {"style": "anime"}, "refused": ["emotion"]}
    assert asked.body["verification"] == {"state": "assistant_wait_photo", "has_photo": False}
    assert not refused.is_success and "verification" not in refused.body  # nothing was done


@pytest.mark.parametrize("found", ["raises", "hangs", "nothing", "not json"])
async def test_a_look_that_fails_is_no_failure_of_the_write(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as not verified, and the write is not made again."""
    monkeypatch.setattr("maas.tools.executor.VERIFY_TIMEOUT_S", 0.05)
    made: list[int] = []

    async def look(_: object, __: ToolContext, data: object) -> object:
        if found == "raises":
            raise RuntimeError("no sight")
        if found == "hangs":
            await asyncio.sleep(30)
        return object() if found == "not json" else None

    @tool(domain="box", effect="write", verify=look)
    async def act() -> str:
        """Act."""
        made.append(1)
        return "done"

    executor = Executor(
        Toolset([act]), Permissions(frozenset({"act"})), ToolContext(UUID(int=1), UUID(int=2)), _count, _record
    )
    for _ in range(2):
        (result,) = await executor.run([ToolCall("1", "act", "{}")])
        assert (result.body["data"], result.body["verification"]) == ("done", UNVERIFIED)
        assert {"tool", "domain", "latency_ms", "via"} <= result.body["_meta"].keys()
    assert made == [1]


async def _count() -> int:
    return 1


async def _record(_: ToolResult) -> None:
    """Keeps nothing."""
