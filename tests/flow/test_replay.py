"""`maas replay`: what a stage would write now, on a run that stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from maas.prompting.now import now_line
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.stack import Stack, maas

STAGES = ["analyzer", "assembler", "final_responder", "archivist"]


@pytest.fixture
def stack(database: str, tmp_path: Path) -> Iterator[Stack]:
    """No process yet: what is replayed must stand still."""
    with Stack(database, tmp_path) as stack:
        yield stack


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with HTTPServer(threaded=True) as server:
        models = ModelServer(server)
        yield models
        models.close()


def insert(stack: Stack, user: UUID, query: str) -> UUID:
    row = stack.rows("insert into pipeline_runs (user_id, user_query) values (%s, %s) returning id", user, query)
    return UUID(str(row[0]["id"]))


def answered(stack: Stack, user: UUID, *queries: str, **settings: str) -> list[UUID]:
    """The runs of these queries, finished; nobody works on the database any more."""
    orchestrator = stack.start_orchestrator(**settings)
    runs = [insert(stack, user, query) for query in queries]
    stack.wait_archived(*runs)
    stack.stop(orchestrator)
    return runs


def everything(stack: Stack) -> dict[str, list[str]]:
    """Every row of every table, but for the audit, which notes whose run was replayed."""
    tables = stack.rows(
        "select relname from pg_class"
        " where relkind = 'r' and relname <> 'audit' and relnamespace = 'maas'::regnamespace"
    )
    names = [row["relname"] for row in tables]
    return {name: sorted(row["t"] for row in stack.rows(f'select t::text from "{name}" t')) for name in names}


def replayed(stack: Stack, run_id: UUID, *words: str, **settings: str) -> dict[str, dict[str, Any]]:
    """The stages of a replay, by name."""
    done = maas(stack, "replay", str(run_id), *words, "--json", **settings)
    assert done.stdout, done.stderr
    return {one["stage"]: one for one in json.loads(done.stdout)["stages"]}


def test_the_same_again_is_no_difference(stack: Stack, user: UUID) -> None:
    """The built-in model writes the same, whatever was recalled, and for small talk."""
    runs = answered(stack, user, "My boat <Zephyr> lies in Bergen.", "Where is my boat & what is it called?", "Thanks!")
    before = everything(stack)
    for run_id in runs:
        done = maas(stack, "replay", str(run_id))
        assert done.returncode == 0, done.stderr
        for stage in STAGES:
            assert f"{stage}: no difference" in done.stdout, done.stdout
    found = replayed(stack, runs[1])
    assert "Zephyr" in found["final_responder"]["now"]["wrote"]
    assert all(found[stage]["is_same_request"] for stage in STAGES[:3])
    assert everything(stack) == before
    assert len(before["llm_calls"]) == 12 and len(before["raw_logs"]) == 6


def test_now_is_the_time_of_the_question(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Replayed days later, in the same zone, the same request is sent."""
    stack.rows("select maas_set_timezone(%s, 'America/Los_Angeles')", user)
    (run_id,) = answered(stack, user, "What day is tomorrow?", **models.settings())
    stack.rows("update pipeline_runs set created_at = created_at - interval '3 days' where id = %s", run_id)
    (run,) = stack.rows("select created_at from pipeline_runs where id = %s", run_id)
    models.requests.clear()
    found = replayed(stack, run_id, "--stage", "final_responder", **models.settings())["final_responder"]
    assert models.last_lines("responder") == {now_line(run["created_at"], ZoneInfo("America/Los_Angeles"), "ru")}
    assert found["is_same_request"] is False and found["is_prompt_changed"] is False
    stack.rows("update pipeline_runs set created_at = created_at + interval '3 days' where id = %s", run_id)
    again = replayed(stack, run_id, "--stage", "final_responder", **models.settings())["final_responder"]
    assert again["is_same_request"] is True


def test_the_analyzer_knows_the_day(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Without it no model could tell how old "in March" is."""
    stack.rows("select maas_set_timezone(%s, 'America/Los_Angeles')", user)
    (run_id,) = answered(stack, user, "What did I do in March?", **models.settings())
    (run,) = stack.rows("select created_at from pipeline_runs where id = %s", run_id)
    line = now_line(run["created_at"], ZoneInfo("America/Los_Angeles"), "ru")
    assert line in models.prompts("analyzer")[-1]


def test_a_changed_prompt_shows_and_the_run_is_untouched(stack: Stack, models: ModelServer, user: UUID) -> None:
    stack.rows("insert into model_prices values ('openai', 'analyzer', 2, null, 10)")
    (run_id,) = answered(stack, user, "Where do I live?", **models.settings())
    for role in ("Analyzer", "Assembler", "Mentor"):
        stack.rows("update system_prompts set prompt_template = prompt_template || ' NEWER' where role_name = %s", role)
    models.requests.clear()
    models.replies["responder"] = "A model answered\nin two lines."
    before = everything(stack)
    found = replayed(stack, run_id, **models.settings())
    assert everything(stack) == before
    assert list(found) == STAGES
    assert {name: one["is_same"] for name, one in found.items()} == {
        "analyzer": True,
        "assembler": True,
        "final_responder": False,
        "archivist": True,
    }
    assert found["final_responder"]["diff"] == [
        "--- then",
        "+++ now",
        "@@ -1 +1,2 @@",
        "-A model answered.",
        "+A model answered",
        "+in two lines.",
    ]
    assert {name: one["is_prompt_changed"] for name, one in found.items()} == {
        "analyzer": True,
        "assembler": True,
        "final_responder": True,
        "archivist": False,
    }
    versions = {name: (one["then"]["prompt_version"], one["now"]["prompt_version"]) for name, one in found.items()}
    assert versions == {"analyzer": (1, 2), "assembler": (1, 2), "final_responder": (1, 1), "archivist": (1, 1)}
    for name in ("then", "now"):
        took = found["analyzer"][name]
        assert (took["tokens_in"], took["tokens_out"], took["requests"]) == (11, 7, 1) and took["ms"] > 0
        assert took["price"] == 92
    asked = {role: models.prompts(role)[0] for role in ("analyzer", "assembler", "responder", "archivist")}
    assert {role: "NEWER" in text for role, text in asked.items()} == {
        "analyzer": True,
        "assembler": True,
        "responder": True,
        "archivist": False,
    }
    assert "A model answered." in asked["archivist"], "the run's own words, not what was replayed"
    page = maas(stack, "replay", str(run_id), "--stage", "final_responder", **models.settings()).stdout
    assert "final_responder: differs, the prompt has changed" in page
    assert "today's texts of FinalResponder and Mentor stand in the recorded payload" in page
    assert "\n-A model answered.\n+A model answered\n+in two lines.\n" in page
    assert everything(stack) == before


def test_another_model_for_one_stage(stack: Stack, models: ModelServer, user: UUID) -> None:
    (run_id,) = answered(stack, user, "Where do I live?", **models.settings())
    models.calls.clear()
    models.replies["other"] = "Nobody told me."
    words = ("--stage", "final_responder", "--model", "openai:other")
    found = replayed(stack, run_id, *words, **models.settings())
    assert models.calls == {"other": 1}
    assert found["final_responder"]["is_same_request"] is None
    one = found["final_responder"]
    assert (one["then"]["models"], one["now"]["models"]) == (["openai:responder"], ["openai:other"])
    assert one["now"]["price"] is None
    assert (one["then"]["wrote"], one["now"]["wrote"]) == ("A model answered.", "Nobody told me.")
    assert one["is_prompt_changed"] is False
    models.statuses["other"] = 401
    settings = models.settings() | {"MAAS_FALLBACK_MODEL": "extractive:builtin"}
    failed = maas(stack, "replay", str(run_id), *words, **settings)
    assert failed.returncode == 1 and "final_responder: fails now" in failed.stdout
    assert "unauthorized" in failed.stdout and "Traceback" not in failed.stderr
    quoted = replayed(stack, run_id, "--model", "extractive:builtin")
    assert {name: stage["now"]["models"] for name, stage in quoted.items()} == {
        stage: ["extractive:builtin"] for stage in STAGES
    }


def test_a_failed_run_may_be_answered_by_another(stack: Stack, models: ModelServer, user: UUID) -> None:
    """What it did not reach is not replayed; why it failed stands beside the answer."""
    models.statuses["responder"] = 401
    models.replies["other"] = "An answer after all."
    (run_id,) = answered(stack, user, "Are you there?", **models.settings())
    before = everything(stack)
    one = replayed(stack, run_id, "--model", "openai:other", **models.settings())["final_responder"]
    assert one["then"]["wrote"] is None and "unauthorized" in one["then"]["error"]
    assert one["now"]["wrote"] == "An answer after all."
    same = maas(stack, "replay", str(run_id), "--stage", "final_responder", **models.settings())
    assert same.returncode == 1 and "final_responder: fails as before" in same.stdout
    unreached = maas(stack, "replay", str(run_id), "--stage", "archivist", **models.settings())
    assert (unreached.returncode, unreached.stderr.count("\n")) == (1, 1)
    assert "nothing to replay for archivist" in unreached.stderr
    assert everything(stack) == before


def test_rules_then_and_now(stack: Stack, models: ModelServer, user: UUID) -> None:
    """A stage that came to its rules says so, then and now, and why."""
    models.replies["archivist"] = "I would rather not."
    (run_id,) = answered(stack, user, "I moved to Oslo.", **models.settings())
    stack.rows("update pipeline_runs set attempt = 2 where id = %s", run_id)  # an owner that died would find its calls
    before = everything(stack)
    models.statuses["analyzer"] = 503
    models.calls.clear()
    spent = {"MAAS_ANALYZER_TIMEOUT": "0.1", "MAAS_USER_DAILY_TOKENS": "1", "MAAS_RUN_MAX_TOKENS": "1"}
    found = replayed(stack, run_id, **models.settings() | spent)
    assert everything(stack) == before
    asked = {role: models.calls[role] for role in ("assembler", "responder", "archivist")}
    assert asked == {"assembler": 1, "responder": 1, "archivist": 2}
    assert found["archivist"]["then"]["is_degraded"] and found["archivist"]["now"]["is_degraded"]
    assert found["archivist"]["is_same"] and "Oslo" in found["archivist"]["now"]["wrote"]
    assert found["archivist"]["now"]["models"] == ["openai:archivist", "extractive:builtin"]
    analyzer = found["analyzer"]
    assert not analyzer["then"]["is_degraded"] and analyzer["now"]["is_degraded"]
    assert "openai:analyzer" in analyzer["now"]["error"]
    trace = maas(stack, "trace", str(run_id)).stdout
    assert "by rule: its model's replies could not be used" in trace


def test_mistakes_get_one_line(stack: Stack, user: UUID) -> None:
    """Each says what to do; nothing is asked and nothing changed."""
    finished, noted = answered(stack, user, "Hello there, my name is Ann.", "remember: figs are good")
    waiting, cancelled = (insert(stack, user, word) for word in ("nobody takes this", "nor this"))
    stack.rows("update pipeline_runs set status = 'FAILED', queue_state = 2 where id = %s", cancelled)
    turns = json.dumps([{"role": "user", "content": "I like figs."}])
    imported = stack.rows("select run_id from maas_import(%s, 'two', %s)", user, turns)[0]["run_id"]
    before = everything(stack)
    for words, part in (
        (("me",), "is not a UUID"),
        ((str(uuid4()),), "there is no run"),
        ((str(imported),), "of kind archive; only what was asked can be replayed"),
        ((str(waiting),), f"maas trace {waiting}"),
        ((str(cancelled),), "nothing to replay for any stage"),
        ((str(noted),), "is a command about notes"),
        ((str(finished), "--stage", "draft_builder"), "stages are analyzer, assembler, final_responder, archivist"),
        ((str(finished), "--model", "gpt-4o"), "must be written provider:model"),
        ((str(finished), "--model", "openai:gpt-4o"), "OPENAI_API_KEY"),
    ):
        done = maas(stack, "replay", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
        assert part in done.stderr
    assert everything(stack) == before


def test_forgotten_words_are_not_replayed(stack: Stack, user: UUID) -> None:
    (run_id,) = answered(stack, user, "My boat is called Zephyr.")
    record = stack.rows("select id from lsm_storage where run_id = %s", run_id)[0]["id"]
    assert maas(stack, "forget", str(record), "--user", str(user)).returncode == 0
    done = maas(stack, "replay", str(run_id), "--stage", "archivist")
    assert done.returncode == 1 and "its words were forgotten" in done.stderr
