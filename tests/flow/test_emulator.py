"""The emulator against the whole product: the scenarios that rules can do, recordings, the command, the REST API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
import yaml
from pytest_httpserver import HTTPServer

from learning_agent.emulator import __main__ as command
from learning_agent.emulator import office
from learning_agent.emulator.api import make_app
from learning_agent.emulator.batch import BUILTIN, Order, make_report, models_of, play, play_scenarios
from learning_agent.emulator.errors import EmulatorError, ExitStatus
from learning_agent.emulator.language_model import open_model
from learning_agent.emulator.memory import StoredMemory
from learning_agent.emulator.player import Scene
from learning_agent.emulator.recorder import Recorder
from learning_agent.emulator.recording import Recording, read_recording
from learning_agent.emulator.report import to_html, to_text
from learning_agent.emulator.results import Report
from learning_agent.emulator.scenario import Scenario, choose, read_scenarios
from learning_agent.emulator.system import prepare_office
from maas.client import MaaS
from tests.databases import copy_of
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack, free_port, maas

ALL = read_scenarios()
RECORDINGS = Path(command.__file__).parent / "recordings"
RECORDED = ["boat-name", "letter-after-consent", "planted-in-a-document", "store-room-silent", "otmena-bez-soglasiya"]
CALLS = {
    "letter": ("office__send_letter", {"to": "Ingrid Solheim", "text": "The harbour lease is signed."}),
    "document": ("office__read_document", {"name": "delivery terms"}),
    "hinges": ("office__check_stock", {"item": "brass hinge"}),
    "Отмени": ("office__cancel_order", {"number": "А-77"}),
}


def scene_of(stack: Stack, memory: StoredMemory, client: MaaS, model: str) -> Scene:
    def compact(user: UUID) -> None:
        done = maas(stack, "compact", "--user", str(user))
        assert done.returncode == 0, done.stderr

    return Scene(client, memory, compact, model, model == BUILTIN)


@pytest.fixture(scope="module")
def scene(stack: Stack) -> Iterator[Scene]:
    """Scenes with the built-in model."""
    with StoredMemory(stack.dsn) as memory, MaaS(f"http://127.0.0.1:{stack.port}") as client:
        yield scene_of(stack, memory, client, BUILTIN)


def scenario(*steps: dict[str, Any], day: int = 9) -> Scenario:
    said = {"day": 1, "steps": [{"user": "My kettle is blue and hums.", "as": "kettle"}]}
    return Scenario.model_validate(
        {
            "name": "kettle",
            "title": "t",
            "language": "en",
            "kind": "facts",
            "builtin": True,
            "days": [said, {"day": day, "steps": list(steps)}],
        }
    )


def test_rules_do_what_the_scenarios_say_that_they_can(scene: Scene) -> None:
    report = make_report(scene, play_scenarios(scene, ALL))
    assert report.count("failed") == 0, to_text(report)
    assert report.count("passed") == sum(one.builtin for one in ALL)
    assert report.status is ExitStatus.PASSED
    checks = [check for one in report.results for check in one.checks]
    assert sum(check.verdict == "passed" for check in checks) > 80
    page = to_html(report)
    assert all(f"<b>{one.name}</b>" in page for one in ALL) and "http" not in page.split("<h1>")[0]


WRONG = {
    "contains": {"contains": "red"},
    "contains_any": {"contains_any": ["red", "green"]},
    "does_not_contain": {"does_not_contain": "blue"},
    "shown": {"shown": "The kettle is red"},
    "remembers": {"remembers": "lid"},
    "cites": {"cites": "lid"},
    "called": {"called": {"tool": "list_meetings"}},
    "waits_for_consent": {"waits_for_consent": "send_letter"},
}


def test_each_expectation_fails_where_it_does_not_hold(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learning_agent.emulator.checks.CALL_TIMEOUT_S", 0.0)
    asked = {"ask": "Which colour has my kettle that hums?", "marks": True, "expect": list(WRONG.values())}
    lid = {"user": "The lid of the teapot is made of copper.", "as": "lid"}
    talk = [{"user": f"On page {number} the heron flew away."} for number in range(12)]  # no longer among the latest
    (result,) = play_scenarios(scene, [scenario(lid, *talk, asked)])
    failed = [check.expectation for check in result.checks if check.verdict == "failed"]
    assert failed == list(WRONG) and result.outcome == "failed"
    assert "missing: red" in to_text(make_report(scene, [result]))
    right: list[dict[str, object]] = [{"contains": "blue"}, {"remembers": "kettle"}, {"cites": "kettle"}]
    (result,) = play_scenarios(scene, [scenario(asked | {"expect": [*right, {"not_called": "send_letter"}]})])
    assert result.outcome == "passed", result.failures


def test_days_pass_for_all_that_is_stored(scene: Scene, stack: Stack) -> None:
    talk = scenario({"ask": "Which colour has my kettle that hums?", "expect": [{"contains": "blue"}]})
    later = {"day": 40, "steps": [{"ask": "Which of my kettles hums and is blue?", "expect": [{"contains": "blue"}]}]}
    whole = Scenario.model_validate(
        talk.model_dump(by_alias=True, exclude_defaults=True)
        | {
            "name": "kettle",
            "days": [*(day.model_dump(by_alias=True, exclude_defaults=True) for day in talk.days), later],
        }
    )
    (result,) = play_scenarios(scene, [whole])
    assert result.outcome == "passed", result.failures
    ages = stack.rows(
        """select max(day) over () - day as days, created_at < now() as is_past
           from raw_logs g cross join lateral (select (g.occurred_at at time zone 'UTC')::date as day) d
           where g.message_type = 'user_query' and g.user_id = (
             select user_id from raw_logs where content like 'Which of my kettles hums%') order by g.occurred_at"""
    )
    assert [row["days"] for row in ages] == [39, 31, 0] and all(row["is_past"] for row in ages)
    runs = stack.rows(
        """select user_query, archive_status from pipeline_runs where kind = 'ask' and user_id = (
             select user_id from raw_logs where content like 'Which of my kettles hums%') order by seq"""
    )
    assert [row["user_query"] for row in runs] == [step.ask for _, step in whole.steps() if step.ask]
    assert {row["archive_status"] for row in runs} == {"ARCHIVED"}
    gaps = stack.rows(
        """select count(*) as wrong from lsm_storage l join raw_logs g on g.id = any(l.raw_log_ids)
           where l.time_bucket_end <> (g.occurred_at at time zone 'UTC')::date and l.level = 0"""
    )
    assert gaps[0]["wrong"] == 0


def follow_orders(messages: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
    """Make the call that a word of the user names; then say what its result holds, else repeat what was shown."""
    asked = next(str(one["content"]) for one in reversed(messages) if one["role"] == "user")
    results = " ".join(str(one["content"]) for one in messages if one["role"] == "tool")
    call = next((call for word, call in CALLS.items() if word in asked), None)
    if call is not None and not results:
        return "", [(call[0], json.dumps(call[1]))]
    if results:
        return ("The deposit is 14 euros." if "14 euros" in results else "It could not be found out."), []
    return "\n".join(str(one["content"]) for one in messages), []


@pytest.fixture(scope="module")
def played(
    postgres: Any, template: str, tmp_path_factory: pytest.TempPathFactory, models: ModelServer
) -> Iterator[tuple[Scene, Stack, int]]:
    """A scene whose Responder is asked at a port where a recorder may listen, and the tools of the office."""
    models.scripts["responder"] = follow_orders
    tools, port = free_port(), free_port()
    settings = models_of("openai:responder", ["responder"]) | {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "OPENAI_API_KEY": "sk-test-key-1234567890",
        "MAAS_RETRY_DELAY": "0.05",
        "MAAS_MCP_SERVERS": json.dumps(office.settings(tools)),
    }
    with copy_of(template, postgres.dsn) as dsn, Stack(dsn, tmp_path_factory.mktemp("played")) as stack:
        prepare_office(dsn)
        stack.launch("learning_agent/emulator/office.py", str(tools))
        stack.start_server()
        stack.start_orchestrator(**settings)
        poll(lambda: stack.rows("select from tools where name = 'office__send_letter'"), what="the tools are there")
        with StoredMemory(dsn) as memory, MaaS(f"http://127.0.0.1:{stack.port}") as client:
            yield scene_of(stack, memory, client, "openai:responder"), stack, port


def test_what_is_recorded_is_played_again_until_a_prompt_changes(
    played: tuple[Scene, Stack, int], models: ModelServer, tmp_path: Path
) -> None:
    scene, stack, port = played
    scenarios = choose(ALL, RECORDED)
    recording = Recording("openai:responder", ("responder",), "2026-11-24", RECORDED)
    with Recorder(recording, models.url, "sk-test-key-1234567890", port):
        report = make_report(scene, play_scenarios(scene, scenarios))
    assert report.count("passed") == len(RECORDED), to_text(report)
    recording.write(tmp_path / "recording.json")

    asked, again = models.calls.total(), read_recording(tmp_path / "recording.json")
    with Recorder(again, port=port):
        report = make_report(scene, play_scenarios(scene, scenarios), again.missed)
    assert (report.count("passed"), report.stale) == (len(RECORDED), ()), to_text(report)
    assert models.calls.total() == asked

    stack.rows("update system_prompts set prompt_template = prompt_template || ' Be brief.' where role_name = 'Mentor'")
    with Recorder(again, port=port):
        report = make_report(scene, play_scenarios(scene, choose(ALL, ["boat-name"])), again.missed)
    assert report.status is ExitStatus.STALE_RECORDING
    assert "recorded for another prompt: record again with `make emulate" in to_text(report)


def test_a_model_plays_a_person_and_another_judges(
    played: tuple[Scene, Stack, int], models: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, _, port = played
    models.scripts["person"] = lambda messages: ("Who brings the wine?" if len(messages) < 3 else "[END]", [])
    models.replies["judge"] = "No."
    environment = {"OPENAI_BASE_URL": models.url, "OPENAI_API_KEY": "x"}
    with Recorder(Recording("openai:responder"), models.url, port=port):
        played_by = replace(
            scene, person=open_model("openai:person", environment), judge=open_model("openai:judge", environment)
        )
        (result,) = play_scenarios(played_by, choose(ALL, ["planning-a-supper"]))
    assert [turn.question for turn in result.turns] == ["Who brings the wine?"]
    verdicts = [(check.expectation, check.verdict) for check in result.checks]
    assert verdicts == [("contains", "passed"), ("judged", "failed")], result.failures
    assert "judge says 'No.'" in result.failures[0]


def test_models_of_the_emulator_are_asked_as_those_of_the_product(httpserver: HTTPServer) -> None:
    """By the shared client: a failure that passes is no failure, and a key that a server repeats is hidden."""
    key, path = "sk-emulator-0123456789abcdef", "/v1/chat/completions"
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": " Who brings wine? "}}
    reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "person", "choices": [said]}
    httpserver.expect_ordered_request(path).respond_with_json({"error": {"message": "busy"}}, status=503)
    httpserver.expect_ordered_request(path).respond_with_json(reply)
    refusal = {"error": {"message": f"wrong key {key}"}}
    httpserver.expect_ordered_request(path).respond_with_json(refusal, status=401)
    model = open_model("openai:person", {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": httpserver.url_for("/v1")})
    assert model.reply([("system", "You are Ann."), ("user", "Hello"), ("assistant", "Hi")], 20) == "Who brings wine?"
    asked = httpserver.log[-1][0].get_json()
    assert [one["role"] for one in asked["messages"]] == ["system", "user", "assistant"] and asked["temperature"] == 0
    with pytest.raises(EmulatorError, match="gave no reply") as raised:
        model.reply([("user", "Hello")])
    assert key not in str(raised.value)


def test_the_command_ends_with_a_status(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--url", f"http://127.0.0.1:{stack.port}", "--dsn", stack.dsn]

    def status(*words: str) -> int:
        monkeypatch.setattr("sys.argv", ["emulator", *words])
        with pytest.raises(SystemExit) as ended:
            command.main()
        return int(ended.value.code or 0)

    assert status("run", "boat-name", "words-deleted", *given, "--out", str(tmp_path / "new" / "report")) == 0
    printed = capsys.readouterr().out
    assert "ok    boat-name" in printed and "deletes old messages of all users: --purge" in printed
    body = json.loads((tmp_path / "new" / "report.json").read_text())
    assert body["counts"] == {"passed": 1, "failed": 0, "left_out": 1} and body["status"] == 0
    assert [len(one["turns"]) for one in body["results"]] == [2, 0]
    assert "<blockquote>What is our boat called?" in (tmp_path / "new" / "report.html").read_text()

    wrong = scenario({"ask": "Which colour has my kettle that hums?", "expect": [{"contains": "red"}]})
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(wrong.model_dump(by_alias=True, exclude_defaults=True)))
    assert status("run", "--folder", str(file), *given) == 1
    assert "FAIL  kettle" in capsys.readouterr().out
    assert status("run", "no-such-scenario") == 2 and status("run", "boat-name", "--url", given[1]) == 2
    assert status("run", "boat-name", "--replay", str(tmp_path / "none.json")) == 2
    assert capsys.readouterr().err.count("emulator: ") == 3
    assert status("list", "facts", "--language", "ru") == 0
    assert "lodka-na-volge" in capsys.readouterr().out


async def test_the_rest_api_plays_scenarios(scene: Scene) -> None:
    def play_here(order: Order, on_result: Any) -> Report:
        if order.model != BUILTIN:
            raise EmulatorError(f"{order.model} is away")
        return make_report(scene, play_scenarios(scene, order.scenarios, on_result=on_result))

    transport = httpx2.ASGITransport(make_app(play_order=play_here))
    async with httpx2.AsyncClient(transport=transport, base_url="http://emulator") as client:
        listed = (await client.get("/scenarios")).json()["scenarios"]
        assert len(listed) == 40 and listed[0].keys() >= {"name", "title", "language", "kind", "builtin"}
        started = await client.post("/runs", json={"scenarios": ["boat-name"]})
        assert started.status_code == 202 and started.json()["scenarios"] == ["boat-name"]
        address = f"/runs/{started.json()['id']}"
        body = await _end_of(client, address)
        assert body["state"] == "done" and body["played"] == {"boat-name": "passed"}
        assert body["report"]["status"] == 0 and body["report"]["results"][0]["turns"][0]["checks"]
        page = await client.get(f"{address}/report")
        assert page.headers["content-type"].startswith("text/html") and "boat-name" in page.text
        away = (await client.post("/runs", json={"scenarios": ["boat-name"], "model": "openai:q"})).json()["id"]
        assert (await _end_of(client, f"/runs/{away}"))["error"] == "openai:q is away"
        assert [one["state"] for one in (await client.get("/runs")).json()["runs"]] == ["error", "done"]
        for body, words in (({"scenarios": ["x"]}, "no scenario 'x'"), ({"speed": 1}, "Extra inputs")):
            refused = await client.post("/runs", json=body)
            assert refused.status_code == 422 and words in refused.json()["error"]
        assert (await client.post("/runs", content='{"scenarios": ["boat-name"]}')).status_code == 415
        assert (await client.get("/runs/none")).status_code == 404


async def _end_of(client: httpx2.AsyncClient, address: str) -> dict[str, Any]:
    end = time.monotonic() + 60
    while True:
        body: dict[str, Any] = (await client.get(address)).json()
        if body["state"] != "running":
            return body
        assert time.monotonic() < end, body
        await asyncio.sleep(0.05)


@pytest.mark.timeout(300)  # a whole MaaS is started, on a busy machine too
def test_it_starts_a_maas_of_its_own_with_tools_and_records(
    models: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.scripts["responder"] = follow_orders
    monkeypatch.setenv("OPENAI_BASE_URL", models.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-1234567890")
    names, seen = ["boat-name", "planted-in-a-document"], list[str]()
    order = Order(choose(ALL, names), "openai:responder", ("responder",), record=tmp_path / "recording.json")
    report = play(order, lambda result: seen.append(result.name))
    assert report.status is ExitStatus.PASSED and sorted(seen) == names, to_text(report)
    recording = read_recording(tmp_path / "recording.json")
    assert (recording.model, recording.roles, recording.scenarios) == ("openai:responder", ("responder",), names)
    assert sum(map(len, recording.replies.values())) == 4  # two questions, a call and what it gave


def test_the_recording_of_a_real_model_is_played_again_or_asks_for_a_new_one() -> None:
    """Qwen2.5-Coder 1.5B writes its calls as text, in doubled braces: they are made, and wait for consent."""
    path = RECORDINGS / "qwen2.5-coder-1.5b.json"
    recording = read_recording(path)
    order = Order(choose(ALL, recording.scenarios), recording.model, recording.roles, replay=path)
    report = play(order, lambda _: None)
    if report.status is ExitStatus.STALE_RECORDING:
        assert "record again with `make emulate" in to_text(report)
    else:
        assert report.status is ExitStatus.PASSED and report.count("passed") == 3, to_text(report)
