"""Openers: called once a run, bounded, and what they return is seen by handlers alone."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from maas.agents.meta_tools import Domain, meta_tools
from maas.tools import openers
from maas.tools.calls import MAX_DATA_BYTES, ToolFailure, ToolResult
from maas.tools.executor import Executor
from maas.tools.openers import MAX_VALUES, MAX_VALUES_BYTES, BoundOpener, OpenDomains
from maas.tools.permissions import Permissions
from maas.tools.tool import Effect, Mode, Need, Tool, ToolContext, Toolset, tool
from shared.errors import MaasError
from shared.models import ToolCall

TOKEN = "EAAB-secret-of-this-user-0123456789"
CONTEXT = ToolContext(UUID(int=1), UUID(int=2), account_id="act_7")


def made(name: str, needs: Need | None = None, effect: Effect = "read", domain: str = "ads", act: Any = None) -> Tool:
    """A tool that returns the names of the values that it was given, or what `act` makes of its context."""

    async def handle(_: Any, context: ToolContext) -> Any:
        return act(context) if act else sorted(context.values)

    return Tool(name, domain, f"Do {name}.", effect, handle, needs=needs)


class Shop:
    """An opener that returns `values`, and counts."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.calls: list[str | None] = []

    async def __call__(self, context: ToolContext) -> Mapping[str, Any]:
        self.calls.append(context.account_id)
        await asyncio.sleep(0)
        if isinstance(self.values, BaseException):
            raise self.values
        return self.values  # type: ignore[no-any-return]


class Bench:
    """An executor over tools of domains with openers, and what it recorded."""

    def __init__(self, by_domain: Mapping[str, BoundOpener], *tools: Tool, mode: Mode = "auto") -> None:
        self.domains = OpenDomains(by_domain, CONTEXT)
        self.recorded: list[ToolResult] = []
        self.toolset = Toolset(tools)
        permissions = Permissions(frozenset(one.name for one in tools), mode)
        context = ToolContext(CONTEXT.user_id, CONTEXT.run_id, values={"session": "own"})
        self.executor = Executor(self.toolset, permissions, context, self._count, self._record, domains=self.domains)

    async def _count(self) -> int:
        return 1

    async def _record(self, result: ToolResult) -> None:
        self.recorded.append(result)

    async def call(self, *names: str) -> list[Mapping[str, Any]]:
        async with asyncio.timeout(10):
            results = await self.executor.run([ToolCall(f"c{n}", name, "{}") for n, name in enumerate(names)])
        return [result.body for result in results]


async def test_an_opener_is_called_once_a_run() -> None:
    """By many calls side by side, and one after another; the account is there."""
    shop = Shop({"currency": "USD"})
    bench = Bench({"ads": shop}, *(made(f"read{n}") for n in range(9)))
    bodies = await bench.call(*(f"read{n}" for n in range(9)))
    bodies += await bench.call("read1", "read2")
    assert all(body["data"] == ["currency", "session"] for body in bodies)
    assert shop.calls == ["act_7"]


async def test_a_domain_gets_its_own_values_only() -> None:
    bench = Bench({"ads": Shop({"token": TOKEN}), "crm": Shop({"stage": 1})}, made("a"), made("b", domain="crm"))
    bodies = await bench.call("a", "b")
    assert [body["data"] for body in bodies] == [["session", "token"], ["session", "stage"]]


@pytest.mark.parametrize(
    ("connected", "has_data", "open_tools"),
    [
        (True, True, ["plain", "live", "stored"]),
        (True, False, ["plain", "live"]),
        (False, True, ["plain", "stored"]),
        (False, False, ["plain"]),
    ],
)
async def test_needs(connected: bool, has_data: bool, open_tools: list[str]) -> None:
    """Each combination, by the calls and by what a model is shown."""
    opener = Shop({"connected": connected, "has_data": has_data})
    tools = [made("plain"), made("live", "connected", "write"), made("stored", "data")]
    bench = Bench({"ads": opener}, *tools)
    bodies = await bench.call("plain", "live", "stored")
    assert [one.name for one, body in zip(tools, bodies, strict=True) if body["success"]] == open_tools
    codes = {body.get("error_code") for body in bodies} - {None}
    assert codes == ({"not_connected"} - {connected and "not_connected"}) | ({"no_data"} - {has_data and "no_data"})
    assert bodies[0]["data"] == ["session"]  # the flags are no values
    catalogue = meta_tools(
        [Domain("ads", "x"), Domain("crm", "y")], bench.toolset, bench.executor.run, None, bench.domains.open
    )
    listed = await _read(catalogue, "getAvailableDomains")
    assert listed["domains"] == [
        {"name": "ads", "about": "x", "available": True, "connected": connected, "has_data": has_data},
        {"name": "crm", "about": "y", "available": False},  # it has no tools, and no opener
    ]
    assert [one["name"] for one in await _read(catalogue, "getDomainTools", domain="ads")] == open_tools


async def test_a_domain_of_which_nothing_can_be_used() -> None:
    bench = Bench({"ads": Shop({"connected": False, "has_data": False})}, made("live", "connected"))
    catalogue = meta_tools([Domain("ads", "x")], bench.toolset, bench.executor.run, None, bench.domains.open)
    (listed,) = (await _read(catalogue, "getAvailableDomains"))["domains"]
    assert (listed["available"], listed["connected"], listed["has_data"]) == (False, False, False)
    with pytest.raises(ToolFailure, match="ads is not connected: tell the user"):
        await _read(catalogue, "getDomainTools", domain="ads")


async def test_the_list_of_the_client_only_narrows() -> None:
    """A domain that it leaves out is closed, whatever the opener says."""
    bench = Bench({"ads": Shop({})}, made("plain"))
    closed = [Domain("ads", "x", is_open=False)]
    catalogue = meta_tools(closed, bench.toolset, bench.executor.run, None, bench.domains.open)
    (listed,) = (await _read(catalogue, "getAvailableDomains"))["domains"]
    assert (listed["available"], listed["connected"]) == (False, True)
    with pytest.raises(ToolFailure, match="closed to this request"):
        await _read(catalogue, "getDomainTools", domain="ads")


async def _read(catalogue: Toolset, name: str, **arguments: str) -> Any:
    one = catalogue.get(name)
    assert one is not None and one.arguments is not None
    return await one.handler(one.arguments(**arguments), CONTEXT)


async def test_a_tool_that_cannot_be_used_is_not_proposed() -> None:
    """No approval is asked for what would fail; a domain that is connected asks."""
    for connected, code in ((False, "not_connected"), (True, "approval_required")):
        bench = Bench({"ads": Shop({"connected": connected})}, made("pause", "connected", "dangerous"))
        (body,) = await bench.call("pause")
        assert body["error_code"] == code


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (RuntimeError(f"token {TOKEN} is wrong"), "ads cannot be used now: its opener failed. Answer without it"),
        (TimeoutError(), "its opener failed"),
        (OSError(), "its opener failed"),
        (asyncio.CancelledError(), "its opener was cancelled"),
        (MaasError("missing_key", "x"), "its opener failed"),
        (ToolFailure("choose an account", "Choose one."), "ads cannot be used now: choose an account. Answer"),
        (None, "its opener returned NoneType, not a mapping"),
        (["token"], "its opener returned list, not a mapping"),
        ({"token": "x" * 10_000_000}, f"its opener returned more than {MAX_VALUES_BYTES:,} characters"),
        ({"rows": list(range(MAX_VALUES + 1))}, "its opener returned more than"),
        ({"rows": [{"a": b"x" * 7000} for _ in range(10)]}, "its opener returned more than"),
        ({"connected": "yes"}, "must set connected and has_data to True or False"),
        ({"has_data": None}, "must set connected and has_data to True or False"),
    ],
)
async def test_an_opener_that_fails(values: Any, words: str) -> None:
    """One clear failure for each call, asked for once; another domain works."""
    shop = Shop(values)
    bench = Bench({"ads": shop}, made("one"), made("two", "connected", "write"), made("other", domain="crm"))
    with capture_logs() as logs:
        bodies = await bench.call("one", "two", "other")
        bodies += await bench.call("one")
    assert [body["success"] for body in bodies] == [False, False, True, False]
    assert {body["error_code"] for body in bodies if not body["success"]} == {"failed"}
    assert all(words in body["message"] for body in bodies if not body["success"])
    assert len(shop.calls) == 1
    assert TOKEN not in json.dumps([*map(dict, bodies), *logs], default=str)
    assert len(json.dumps(bodies, default=str)) < 3000
    if isinstance(values, ToolFailure):
        assert bodies[0]["say"] == "Choose one."


async def test_values_that_contain_themselves() -> None:
    values: dict[str, Any] = {}
    values["again"] = [values]
    (body,) = await Bench({"ads": Shop(values)}, made("one")).call("one")
    assert "more than" in body["message"]


async def test_an_opener_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up after its time, and not asked again."""
    monkeypatch.setattr(openers, "OPEN_TIMEOUT_S", 0.05)
    calls = 0

    async def hang(_: ToolContext) -> Mapping[str, Any]:
        nonlocal calls
        calls += 1
        await asyncio.sleep(3600)
        return {}

    bench = Bench({"ads": hang}, made("one"), made("two"))
    bodies = [*await bench.call("one", "two"), *await bench.call("one")]
    assert [body["message"].partition(". ")[0] for body in bodies] == [
        "ads cannot be used now: it gave no values within 0.05 s"
    ] * 3
    assert calls == 1


async def test_a_cancelled_run_ends_the_opener() -> None:
    """The cancellation of the run is no failure of the opener, and the next call opens it."""
    is_open = asyncio.Event()
    ended: list[str] = []

    async def wait(_: ToolContext) -> Mapping[str, Any]:
        try:
            await is_open.wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return {"currency": "USD"}

    bench = Bench({"ads": wait}, made("one"))
    task = asyncio.create_task(bench.call("one"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    is_open.set()
    (body,) = await bench.call("one")
    assert ended == ["cancelled"] and body["data"] == ["currency", "session"]


@pytest.mark.parametrize(
    "values",
    [{"token": TOKEN}, {"deep": [{"key": SecretStr(TOKEN)}]}, {"x": SecretStr(TOKEN)}, {"secret": [TOKEN.encode()]}],
)
async def test_secrets_never_leave(values: dict[str, Any]) -> None:
    """Not in data, where they are cut, in messages, or in logs; what is no secret stays."""

    def fail(_: ToolContext) -> Any:
        raise ToolFailure(f"400 for ?access={TOKEN}", f"Your token {TOKEN} is old.")

    def crash(_: ToolContext) -> Any:
        raise RuntimeError(f"cannot reach /me?access={TOKEN}")

    bench = Bench(
        {"ads": Shop(values | {"account": "act_123456789"})},
        made("data", act=lambda _: {"url": f"/me?access={TOKEN}", TOKEN: ["act_123456789"]}),
        made("long", act=lambda _: "y" * (MAX_DATA_BYTES - 12) + TOKEN),
        made("fail", act=fail),
        made("crash", act=crash),
    )
    bodies = await bench.call("data", "long", "fail", "crash")
    assert bodies[0]["data"] == {"url": "/me?access=***", "***": ["act_123456789"]}
    assert bodies[2]["message"] == "400 for ?access=***" and bodies[2]["say"] == "Your token *** is old."
    text = json.dumps(bodies)
    assert TOKEN[:8] not in text
    assert TOKEN not in repr(await bench.domains.open("ads")) + repr(bench.domains)


@pytest.mark.parametrize(
    "token", ["a\"b\\c'd/e+f==", "пароль-от-магазина", "line\nbreak-and-more", "x" * 8, "<b>&amp;</b>"]
)
async def test_secrets_of_any_characters(token: str) -> None:
    """In a text, in JSON within a text, in a URL, as a name, and in base64."""
    shown = [token, json.dumps({"t": token}), quote(token, safe=""), {token: 1}, b64encode(token.encode()).decode()]
    bench = Bench({"ads": Shop({"token": token})}, made("read", act=lambda _: shown))
    (body,) = await bench.call("read")
    plain, in_json, in_url, name, in_base64 = body["data"]
    assert (plain, in_json, in_url, name) == ("***", '{"t": "***"}', "***", {"***": 1})
    assert len(in_base64) < 8 and "***" in in_base64


async def test_a_short_value_is_no_secret() -> None:
    bench = Bench({"ads": Shop({"key": "USD"})}, made("read", act=lambda _: "10 USD"))
    assert (await bench.call("read"))[0]["data"] == "10 USD"


async def test_without_an_opener() -> None:
    """A domain is connected and has data; nothing is added."""
    bench = Bench({}, made("one", "connected"), made("two", "data"))
    assert [body["data"] for body in await bench.call("one", "two")] == [["session"], ["session"]]


async def test_an_executor_that_can_open_nothing() -> None:
    """It refuses the tools with needs, instead of calling them without values."""
    bench = Bench({}, made("one", "connected"), made("two", "data"), made("three"))
    permissions = Permissions(frozenset({"one", "two", "three"}))
    executor = Executor(bench.toolset, permissions, CONTEXT, bench._count, bench._record)
    results = await executor.run([ToolCall(name, name, "{}") for name in ("one", "two", "three")])
    assert [result.code for result in results] == ["not_connected", "no_data", None]


def test_a_tool_that_needs_something_else() -> None:
    with pytest.raises(MaasError, match="it needs connected or data, or None, not 'money'"):
        tool(domain="ads", effect="read", needs="money")(_read_nothing)  # type: ignore[arg-type]


async def _read_nothing() -> None:
    """Read nothing."""
