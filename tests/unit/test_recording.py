"""Recordings: which requests are the same, what comes back, and what a missing one says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from learning_agent.emulator.errors import EmulatorError, ExitStatus
from learning_agent.emulator.recorder import Recorder
from learning_agent.emulator.recording import RecordedReply, Recording, key_of, read_recording
from learning_agent.emulator.report import to_html, to_text
from learning_agent.emulator.results import Report

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"day": "Friday"}'}}


def request(system: str, text: str, **more: object) -> dict[str, Any]:
    return {
        "model": "q",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
        **more,
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("today: Tuesday 2026-11-24, 18:23 UTC", "today: Friday 2027-01-08, 07:05 UTC"),
        ("[27 November] user: hi", "[3 May] user: hi"),
        ("Сегодня вторник, 24 ноября, завтра среда", "Сегодня пятница, 8 мая, завтра суббота"),
        ("run 7e55a2a4-6a44-4c07-9d32-0a7c4ee1c7c1", "run 11111111-2222-4333-8444-555555555555"),
        ("Period: 2026-Week-48", "Period: 2027-Week-02"),
    ],
)
def test_time_does_not_make_another_request(one: str, other: str) -> None:
    assert key_of(request(one, "Where is the boat?")) == key_of(request(other, "Where is the boat?"))


@pytest.mark.parametrize(
    "changed",
    [
        request("Answer briefly.", "Where is the boat?"),
        request("Answer.", "Where is the kettle?"),
        request("Answer.", "Where is the boat?", tools=[{"type": "function", "function": {"name": "look"}}]),
        request("Answer.", "May I take the boat?"),
    ],
)
def test_words_make_another_request(changed: dict[str, Any]) -> None:
    assert key_of(changed) != key_of(request("Answer.", "Where is the boat?"))


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    recording = Recording("openai:q", ("responder",), "2026-11-24", ["boat-name"], "openai:j")
    recording.add(request("a", "b"), RecordedReply("first", (), "stop", {"prompt_tokens": 3}))
    recording.add(request("a", "b"), RecordedReply("second", (CALL,), "tool_calls"))
    path = tmp_path / "new" / "recording.json"
    recording.write(path)
    read = read_recording(path)
    assert (read.model, read.roles, read.scenarios) == ("openai:q", ("responder",), ["boat-name"])
    assert (read.judge, read.person) == ("openai:j", None)
    assert [getattr(read.find(request("a", "b")), "text", None) for _ in range(3)] == ["first", "second", "second"]
    assert read.find(request("other", "b")) is None and len(read.missed) == 1
    recording.write(path.with_name("again.json"))
    assert path.read_bytes() == path.with_name("again.json").read_bytes()
    for text, problem in (("{}", "is not a recording"), ("[", "is not a recording")):
        path.write_text(text)
        with pytest.raises(EmulatorError, match=problem):
            read_recording(path)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_replies_come_back_as_a_provider_gives_them(is_streamed: bool) -> None:
    recording = Recording("openai:q")
    usage = {"prompt_tokens": 3, "total_tokens": 5}
    recording.add(request("a", "b"), RecordedReply("Aye", (CALL,), "tool_calls", usage))
    with Recorder(recording) as server, httpx2.Client() as client:
        body = request("a", "b", stream=is_streamed)
        answer = client.post(f"{server.url}/chat/completions", json=body)
        assert answer.status_code == 200
        relay = Recording("openai:q")
        with Recorder(relay, server.url) as second:  # records what the first one replies
            passed = client.post(f"{second.url}/chat/completions", json=body)
        assert passed.status_code == 200
    assert relay.replies == recording.replies
    if is_streamed:
        assert answer.text.endswith("data: [DONE]\n\n") and json.loads(
            answer.text.split("\n")[0].removeprefix("data: ")
        )
        assert passed.text.count("data: ") == answer.text.count("data: ")


def test_a_request_that_is_not_recorded_is_refused_without_a_repetition() -> None:
    with Recorder(Recording("openai:q")) as server:
        client = openai.OpenAI(base_url=server.url, api_key="x", max_retries=0)
        with pytest.raises(openai.BadRequestError, match="its prompt has changed"):
            client.chat.completions.create(model="q", messages=[{"role": "user", "content": "b"}])
        client.close()


def test_an_old_recording_has_a_status_and_words_of_its_own() -> None:
    report = Report("openai:q", None, "2026-11-24", (), ("You are … boat?",), "r.json")
    assert report.status is ExitStatus.STALE_RECORDING
    text = to_text(report)
    assert "recorded for another prompt: record again with `make emulate MODEL=openai:q RECORD=FILE`" in text
    assert "You are … boat?" in text and "1 requests are not in the recording" in to_html(report)
