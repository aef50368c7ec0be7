"""The guard of tools: its order, its results, what runs side by side and what does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, field_validator
from structlog.testing import capture_logs

from maas.tools.arguments import fingerprint, read_arguments
from maas.tools.calls import MAX_DATA_BYTES, MAX_RESULT_BYTES, ToolAnswer, ToolFailure, ToolResult
from maas.tools.executor import Executor
from maas.tools.permissions import Permissions
from maas.tools.rows import size
from maas.tools.tool import Effect, Mode, Tool, ToolContext, Toolset
from shared.errors import MaasError
from shared.models import ToolCall

CONTEXT = ToolContext(UUID(int=1), UUID(int=2))
TIMEOUT_S = 10.0


class Item(BaseModel):
    id: int = 0

    @field_validator("id")
    @classmethod
    def small(cls, value: int) -> int:
        if value == 666:
            raise KeyError("a slip in a validator")
        return value


def made(effect: Effect, act: Callable[[int], Any], name: str = "act", timeout: float = 30.0, **more: Any) -> Tool:
    """A tool whose handler returns, or awaits, what `act` of the id gives."""

    async def handle(item: Item, _: ToolContext) -> Any:
        returned = act(item.id)
        return await returned if asyncio.iscoroutine(returned) else returned

    return Tool(name, "ads", "Do it.\n\nIn detail.", effect, handle, Item, timeout=timeout, **more)


class Bench:
    """An executor over some tools, and what it counted and recorded."""

    def __init__(self, *tools: Tool, mode: Mode = "auto", limit: int = 30, **more: Any) -> None:
        self.counted = 0
        self.recorded: list[ToolResult] = []
        allowed = more.pop("allowed", frozenset(tool.name for tool in tools))
        session = Permissions(allowed, mode, limit, **more)
        self.executor = Executor(Toolset(tools), session, CONTEXT, self._count, self._record)

    async def _count(self) -> int:
        self.counted += 1
        return self.counted

    async def _record(self, result: ToolResult) -> None:
        self.recorded.append(result)

    async def run(self, *calls: tuple[str, Any]) -> list[ToolResult]:
        made = [ToolCall(f"c{n}", name, json.dumps(arguments)) for n, (name, arguments) in enumerate(calls)]
        async with asyncio.timeout(TIMEOUT_S):
            return await self.executor.run(made)


async def test_a_result_has_its_parts() -> None:
    answer = ToolAnswer({"id": 5}, {"Summer": 5}, ["Raise it"], {"status": "ACTIVE"})
    bench = Bench(made("write", lambda number: answer if number == 5 else None))
    (result,) = await bench.run(("act", {"id": "5", "color": "red"}))
    body = json.loads(result.text())
    meta = body.pop("_meta")
    assert body == {
        "success": True,
        "data": {"id": 5},
        "_entityMap": {"Summer": 5},
        "recommendations": ["Raise it"],
        "verification": {"status": "ACTIVE"},
    }
    assert isinstance(meta.pop("latency_ms"), int)
    assert meta == {"tool": "act", "domain": "ads", "via": "mcp", "ignored": "color"}
    assert result.is_success and result.code is None
    assert result.arguments is not None and result.arguments.values == {"id": 5}
    assert bench.recorded == [result] and bench.counted == 1


async def test_data_become_json() -> None:
    data = {
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "id": UUID(int=3),
        "rate": float("nan"),
        "text": "a\x00b\ud800",
        1: {2},
    }
    (result,) = await Bench(made("read", lambda _: data)).run(("act", {}))
    at = "2026-01-02T00:00:00Z"
    assert result.body["data"] == {"at": at, "id": str(UUID(int=3)), "rate": None, "text": "ab", "1": [2]}


@pytest.mark.parametrize(
    ("call", "closed", "code", "counted"),
    [
        (("nothing", {"id": "x"}), True, "unknown_tool", 0),
        (("act", {"id": "x"}), True, "not_allowed", 0),
        (("act", {"id": "x"}), False, "validation_error", 1),
        (("act", {"id": 666}), False, "failed", 1),
        (("act", {"id": 1}), False, "approval_required", 1),
    ],
)
async def test_order_of_checks(call: tuple[str, Any], closed: bool, code: str, counted: int) -> None:
    """Each call fails at its first obstacle, and none reaches the handler."""
    reached: list[int] = []
    bench = Bench(made("dangerous", reached.append), allowed=frozenset() if closed else frozenset({"act"}))
    (result,) = await bench.run(call)
    assert (result.code, bench.counted, reached) == (code, counted, [])
    assert not result.is_success and result.body["message"]
    assert bench.recorded == [result]


async def test_limit_comes_before_arguments_and_after_permission() -> None:
    """Session limit 2: the third call, whatever it is."""
    bench = Bench(made("read", lambda number: number), limit=2)
    results = await bench.run(("act", {"id": 1}), ("act", {"id": 2}), ("act", {"id": "x"}), ("nothing", {}))
    assert [result.code for result in results] == [None, None, "TOOL_CALL_LIMIT", "unknown_tool"]
    assert results[2].body["error"] == "tool_call_limit_reached"
    assert "2 tool calls" in results[2].body["message"]


async def test_approval_says_what_and_why() -> None:
    bench = Bench(made("dangerous", lambda _: None, reason="The budget of an ad set will change"))
    (result,) = await bench.run(("act", {"id": "7"}))
    assert result.body["approval_required"] is True
    assert result.body["arguments"] == {"id": 7}
    assert result.body["reason"] == "The budget of an ad set will change"
    (plain,) = await Bench(made("write", lambda _: None), mode="plan").run(("act", {}))
    assert plain.body["reason"] == "Do it."


async def test_a_slip_in_a_validator_did_nothing() -> None:
    with capture_logs() as logs:
        (result,) = await Bench(made("write", lambda number: number)).run(("act", {"id": 666}))
    assert "Nothing was done" in result.body["message"] and logs[0]["event"] == "tool_crashed"


async def test_what_was_approved_runs_and_nothing_else() -> None:
    """Bound to the tool's version and the arguments as validated."""
    tool = made("dangerous", lambda number: number)
    approved = frozenset({fingerprint(tool, read_arguments(tool, '{"id": "7"}').values)})
    results = await Bench(tool, approved=approved).run(("act", {"id": 7}), ("act", {"id": 8}))
    assert [result.code for result in results] == [None, "approval_required"]
    changed = made("dangerous", lambda number: number, name="other")
    (result,) = await Bench(changed, approved=approved).run(("other", {"id": 7}))
    assert result.code == "approval_required"


@pytest.mark.parametrize(
    ("mode", "codes"),
    [
        ("auto", [None, None, "approval_required"]),
        ("plan", [None, "approval_required", "approval_required"]),
        ("ask", ["approval_required"] * 3),
    ],
)
async def test_modes(mode: Mode, codes: list[str | None]) -> None:
    effects: tuple[Effect, ...] = ("read", "write", "dangerous")
    bench = Bench(*(made(effect, lambda number: number, name=effect) for effect in effects), mode=mode)
    assert [result.code for result in await bench.run(*((effect, {}) for effect in effects))] == codes


async def test_reads_run_side_by_side() -> None:
    meeting = asyncio.Barrier(3)
    bench = Bench(made("read", lambda number: _meet(meeting, number)))
    results = await bench.run(("act", {"id": 1}), ("act", {"id": 2}), ("act", {"id": 3}))
    assert [result.body["data"] for result in results] == [1, 2, 3]


async def _meet(meeting: asyncio.Barrier, number: int) -> int:
    await meeting.wait()
    return number


async def test_writes_run_one_after_another_and_reads_see_them() -> None:
    """Also when two replies are under way at once, as domains are."""
    steps: list[str] = []

    async def write(number: int) -> int:
        steps.append(f"start {number}")
        await asyncio.sleep(0)
        steps.append(f"end {number}")
        return number

    bench = Bench(made("write", write, name="write"), made("read", lambda _: list(steps), name="read"))
    results = await bench.run(("write", {"id": 1}), ("write", {"id": 2}), ("read", {}))
    assert results[2].body["data"] == ["start 1", "end 1", "start 2", "end 2"]
    del steps[:]
    await asyncio.gather(bench.run(("write", {"id": 3})), bench.run(("write", {"id": 4})))
    assert sorted(steps[:2])[0].startswith("end") and steps[0][-1] == steps[1][-1]


def _noting(notes: list[int]) -> Callable[[int], int]:
    def act(number: int) -> int:
        notes.append(number)
        return len(notes)

    return act


async def test_identical_reads_are_made_once_until_a_write() -> None:
    reads: list[int] = []
    bench = Bench(made("read", _noting(reads), name="read"), made("write", lambda number: number, name="write"))
    results = await bench.run(("read", {"id": 1}), ("read", {"id": "1"}), ("read", {"id": 2}))
    assert sorted(reads) == [1, 2] and results[0].body["data"] == results[1].body["data"]
    assert [result.call.id for result in results] == ["c0", "c1", "c2"]
    await bench.run(("read", {"id": 1}))
    assert len(reads) == 2
    await bench.run(("write", {}), ("read", {"id": 1}))
    assert len(reads) == 3


async def test_what_was_read_during_a_write_is_read_again_after_it() -> None:
    """Two replies under way at once: the read may have seen half of it."""
    reads: list[int] = []
    started, finish = asyncio.Event(), asyncio.Event()

    async def write(_: int) -> None:
        started.set()
        await finish.wait()

    bench = Bench(made("read", _noting(reads), name="read"), made("write", write, name="write"))
    writing = asyncio.create_task(bench.run(("write", {})))
    await started.wait()
    await bench.run(("read", {}), ("read", {}))
    assert len(reads) == 1
    finish.set()
    await writing
    await bench.run(("read", {}))
    assert len(reads) == 2


async def test_a_repeated_write_is_done_once() -> None:
    written: list[int] = []
    bench = Bench(made("write", _noting(written)))
    results = await bench.run(("act", {"id": 1}), ("act", {"id": 2}), ("act", {"id": 1}))
    assert written == [1, 2]
    assert [result.body["data"] for result in results] == [1, 2, 1]


async def test_what_one_agent_has_done_another_does_not_do_again() -> None:
    """Each may call its own tools only; what was done counts for all, side by side, too."""
    written: list[int] = []
    bench = Bench(made("write", _noting(written)), made("read", lambda number: number, name="read"))
    first, second = bench.executor.narrowed("one", ["act"]), bench.executor.narrowed("two", ["act", "read", "fly"])
    call = [ToolCall("c", "act", '{"id": 1}')]
    (one,), (other,) = await asyncio.gather(first.run(call), second.run(call))
    assert written == [1] and one.body["data"] == other.body["data"] == 1
    reading = [ToolCall("c", "read", "")]
    assert [(await executor.run(reading))[0].code for executor in (first, second)] == ["not_allowed", None]
    assert (await second.run([ToolCall("c", "fly", "")]))[0].code == "unknown_tool"


async def test_a_failed_read_is_made_again() -> None:
    attempts: list[int] = []

    def fail_once(number: int) -> int:
        attempts.append(number)
        if len(attempts) == 1:
            raise OSError("lost")
        return number

    results = await Bench(made("read", fail_once)).run(("act", {}), ("act", {}))
    assert sorted((result.code or "") for result in results) == ["", "failed"]


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("sk-abcdefghijkl at /srv/x.py"),
        ExceptionGroup("two", [OSError()]),
        TimeoutError("its own"),
        RecursionError(),
        asyncio.CancelledError("of a task within"),
        MaasError("x", "ask later; key sk-abcdefghijkl"),
    ],
)
@pytest.mark.parametrize("effect", ["read", "write"])
async def test_whatever_a_handler_raises_is_one_failed_result(error: BaseException, effect: Effect) -> None:
    """The others keep theirs; neither a secret nor a trace gets out."""

    def act(number: int) -> int:
        if number == 1:
            raise error
        return number

    with capture_logs() as logs:
        results = await Bench(made(effect, act)).run(("act", {"id": 0}), ("act", {"id": 1}), ("act", {"id": 2}))
    assert [result.code for result in results] == [None, "failed", None]
    assert "abcdefghijkl" not in results[1].text() and "x.py" not in results[1].text()
    assert [entry["tool"] for entry in logs] == ["act"]


async def test_a_handler_may_say_what_went_wrong() -> None:
    def act(_: int) -> None:
        raise ToolFailure("campaign 5 is archived: choose another")

    (result,) = await Bench(made("write", act)).run(("act", {}))
    assert (result.code, result.body["message"]) == ("failed", "campaign 5 is archived: choose another")


async def test_no_json_is_a_failure() -> None:
    with capture_logs() as logs:
        (result,) = await Bench(made("read", lambda _: object())).run(("act", {}))
    assert result.code == "failed" and logs[0]["event"] == "tool_crashed"


@pytest.mark.parametrize("is_stubborn", [False, True])
async def test_a_hanging_handler_ends_at_its_timeout(is_stubborn: bool) -> None:
    """The others keep their results; a write that hung may have happened, and the model gets that result."""

    async def act(number: int) -> int:
        try:
            await asyncio.sleep(0 if number else 3600)
        except asyncio.CancelledError:
            if is_stubborn:
                raise ValueError("hides that it was stopped") from None
            raise
        return number

    expected: list[tuple[Effect, str]] = [("read", "once more"), ("write", "may have taken effect")]
    for effect, said in expected:
        results = await Bench(made(effect, act, timeout=0.05)).run(("act", {"id": 0}), ("act", {"id": 1}))
        assert [result.code for result in results] == ["timeout", None]
        assert said in results[0].body["message"] and "0.05 s" in results[0].body["message"]


async def test_cancelling_passes_through() -> None:
    """A stopped run stops its tools, and nothing of it is recorded as a failure."""
    started, stopped = asyncio.Event(), asyncio.Event()

    async def act(_: int) -> None:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()

    effects: tuple[Effect, ...] = ("read", "write")
    for effect in effects:
        bench = Bench(made(effect, act))
        task = asyncio.create_task(bench.run(("act", {})))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stopped.is_set() and bench.recorded == []
        started.clear()
        stopped.clear()


async def test_what_the_ledger_raises_ends_the_run_and_its_other_calls() -> None:
    stopped = asyncio.Event()

    async def act(number: int) -> int:
        try:
            await asyncio.sleep(0 if number else 3600)
        finally:
            if not number:
                stopped.set()
        return number

    async def count() -> int:
        return 1

    async def refuse(_: ToolResult) -> None:
        raise ConnectionError("the claim was lost")

    tools = Toolset([made("read", act)])
    executor = Executor(tools, Permissions(frozenset({"act"})), CONTEXT, count, refuse)
    calls = [ToolCall("a", "act", '{"id": 0}'), ToolCall("b", "act", '{"id": 1}')]
    with pytest.raises(ConnectionError):
        async with asyncio.timeout(TIMEOUT_S):
            await executor.run(calls)
    assert stopped.is_set()


@pytest.mark.parametrize(
    "returned",
    [
        "я" * 100_000,
        [{"name": "x" * 50}] * 10_000,
        ["y" * 50_000],
        {"rows": ['"quoted"\n' * 20] * 5000},
        ToolAnswer(["z" * 100] * 1000, {f"name {n}": n for n in range(5000)}, ["do"] * 5000, {"log": "w" * 9000}),
    ],
)
async def test_a_result_is_bounded_and_says_so(returned: Any) -> None:
    (result,) = await Bench(made("read", lambda _: returned)).run(("act", {}))
    assert len(result.text().encode()) <= MAX_RESULT_BYTES
    assert "data" in result.body["_meta"]["cut"]
    assert size(result.body["data"]) > MAX_DATA_BYTES * 0.9 or returned == ["y" * 50_000]


async def test_a_refusal_is_bounded() -> None:
    """Neither a name nor arguments of any length come back whole."""

    class Free(BaseModel):
        text: str

    tool = Tool("act", "ads", "Do it.", "dangerous", made("read", lambda _: 0).handler, Free)
    results: Sequence[ToolResult] = await Bench(tool).run(("act", {"text": "x" * 60_000}), ("n" * 90_000, {}))
    assert [result.code for result in results] == ["approval_required", "unknown_tool"]
    assert all(len(result.text().encode()) <= MAX_RESULT_BYTES for result in results)


async def test_what_a_handler_has_left_out_is_said_with_what_is_cut_here() -> None:
    """By name and number, with how to ask for it."""
    rows = [{"id": number, "text": "z" * 90} for number in range(400)]
    answer = ToolAnswer({"rows": rows, "said": ["a"]}, left_out={"said": {"rows": 3, "of": 4}})
    (result,) = await Bench(made("read", lambda _: answer)).run(("act", {}))
    kept = len(result.body["data"]["rows"])
    meta = result.body["_meta"]
    assert meta["left_out"] == {"said": {"rows": 3, "of": 4}, "rows": {"rows": 400 - kept, "of": 400}}
    assert meta["cut"] == ["data"] and "act" in meta["rest"]
