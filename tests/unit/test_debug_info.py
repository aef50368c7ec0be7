"""Debug layers: the form of an event, what it holds back, and when there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from maas.engine.events import EventType
from maas.runs.debug_info import DebugLog


@pytest.fixture
def sent() -> list[Mapping[str, Any]]:
    return []


def ticking() -> Iterator[float]:
    seconds = 1_700_000_000.0
    while True:
        yield seconds
        seconds += 0.25


def layers(sent: list[Mapping[str, Any]], is_enabled: bool = True) -> DebugLog:
    async def emit(kind: EventType, event: Mapping[str, Any]) -> None:
        assert kind is EventType.LAYER
        sent.append(event)

    times = ticking()
    return DebugLog(emit, is_enabled, clock=lambda: next(times))


async def test_steps_are_logged_for_operators(sent: list[Mapping[str, Any]]) -> None:
    """With ORCHESTRATOR_DEBUG, though nobody asked for events; without it there is no line."""

    async def emit(_: EventType, event: Mapping[str, Any]) -> None:
        sent.append(event)

    with capture_logs() as lines:
        await layers(sent).info(4, "meta_tool")
    assert lines == [] and len(sent) == 1
    log = DebugLog(emit, is_enabled=False, is_logged=True)
    with capture_logs() as lines:
        await log.start(3, "session", {"token": "hunter2-hunter2"})
        await log.end(3, "session")
    assert len(sent) == 1 and log.all() == []
    assert [(one["event"], one["layer"], one["status"]) for one in lines] == [
        ("orchestrator_debug", 3, "start"),
        ("orchestrator_debug", 3, "end"),
    ]
    assert "hunter2" not in str(lines)


async def test_the_form_of_events(sent: list[Mapping[str, Any]]) -> None:
    """duration_ms at an end only, error at an error only, what is not given is not there."""
    log = layers(sent)
    await log.start(3, "session", {"mode": "auto"})
    await log.info(4, "meta_tool", message="three tools")
    await log.end(3, "session")
    await log.start(8, "get_leads")
    await log.error(8, "get_leads", "timeout")
    await log.end(8, "get_leads")
    head = [{"type": one["type"], "layer": one["layer"], "name": one["name"], "status": one["status"]} for one in sent]
    assert [tuple(one.values()) for one in head] == [
        ("layer", 3, "session", "start"),
        ("layer", 4, "meta_tool", "info"),
        ("layer", 3, "session", "end"),
        ("layer", 8, "get_leads", "start"),
        ("layer", 8, "get_leads", "error"),
        ("layer", 8, "get_leads", "end"),
    ]
    more = [{key: one[key] for key in one.keys() - head[0].keys() - {"timestamp"}} for one in sent]
    assert more == [
        {"data": {"mode": "auto"}},
        {"message": "three tools"},
        {"duration_ms": 750.0},
        {},
        {"error": "timeout"},
        {"duration_ms": 0.0},
    ]
    stamps = [one["timestamp"] for one in sent]
    assert stamps == sorted(stamps)
    assert stamps[0] == 1_700_000_000_250
    assert log.all() == sent


async def test_a_span(sent: list[Mapping[str, Any]]) -> None:
    """Two of one name at one moment have an end each; what is raised is reported and goes on."""
    log = layers(sent)
    async with log.span(8, "act"), log.span(8, "act"):
        pass
    with pytest.raises(ValueError, match="no"):
        async with log.span(9, "ads"):
            raise ValueError("no")
    found = [(one["layer"], one["status"], one.get("duration_ms"), one.get("error")) for one in sent]
    assert found == [
        (8, "start", None, None),
        (8, "start", None, None),
        (8, "end", 1000.0, None),
        (8, "end", 1000.0, None),
        (9, "start", None, None),
        (9, "error", None, "ValueError: no"),
    ]


async def test_secrets_are_held_back(sent: list[Mapping[str, Any]]) -> None:
    """Wherever they stand: in texts, under names, in lists, as numbers, in an error."""
    log = layers(sent)
    data = {
        "text": "call +7 912 345-67-89",
        "api_key": "hidden-1",
        "nested": [{"Token": "hidden-2"}, ("sk-abcdefgh12345678",)],
        "phone": 79123456789,
        "count": 12,
        "ratio": 0.5,
        "ok": True,
        "+79123456789": None,
    }
    await log.info(7, "validation of +79123456789", data, message="Bearer abcdefgh12345")
    await log.error(8, "send", "postgresql://maas:hunter22@db/maas")
    dump = str(sent)
    for secret in ("345-67", "hidden", "abcdefgh", "7912345", "hunter22"):
        assert secret not in dump
    kept = sent[0]["data"]
    assert (kept["count"], kept["ratio"], kept["ok"]) == (12, 0.5, True)


async def test_nothing_when_it_is_off(sent: list[Mapping[str, Any]]) -> None:
    log = layers(sent, is_enabled=False)
    await log.start(1, "http_entry")
    await log.end(1, "http_entry")
    assert (log.all(), sent, log._starts) == ([], [], {})  # the silent one lives as long as its process
