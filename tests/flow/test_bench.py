"""The benchmarks on little of everything: they measure what they say, and say what is wrong."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench import engine, http_cases, peer_cases, year
from bench.conversations import read_folder
from bench.report import Figure
from bench.sandbox import Sandbox
from bench.system import Bench, open_system
from bench.wrk import find_wrk
from maas.settings import load_settings
from shared import tokens
from shared.errors import MaasError
from shared.postgres import EmbeddedPostgres
from tests.embedding_server import EmbeddingServer
from tests.http_server import HTTPServer
from tests.programs import run
from tests.stack import ROOT

TALK = {
    "A1": ("Nadia", "user", "I adopted a grey parrot, he already whistles the kettle."),
    "A2": ("Omar", "assistant", "Wonderful! What is the name of the parrot?"),
    "A3": ("Nadia", "user", "Pepper, because of the black spots. The violin lessons begin on Monday, by the way."),
    "A4": ("Omar", "assistant", "I will be hiking around the volcano then, with a borrowed tent."),
    "Б1": ("Nadia", "user", "Вчера мы с братом чинили крышу дачи, пока не пошёл дождь."),
    "Б2": ("Omar", "assistant", "А я варил варенье из крыжовника, получилось двенадцать банок."),
    "Б3": ("Nadia", "user", "Оставь мне одну! Ещё я записалась на курсы гончарного дела."),
}
QUESTIONS = {
    "whistle": ("What did Nadia adopt that whistles?", "A1"),
    "tent": ("Who borrowed a tent for the volcano?", "A4"),
    "jam": ("Сколько банок варенья получилось?", "Б2"),
    "pottery": ("На какие курсы записалась Надя, гончарные?", "Б3"),
}


def conversation() -> dict[str, Any]:
    def turns(ids: list[str], day: int) -> list[dict[str, str]]:
        return [
            {
                "id": id_,
                "speaker": TALK[id_][0],
                "role": TALK[id_][1],
                "at": f"2024-03-{day:02}T10:{minute:02}:00Z",
                "text": TALK[id_][2],
            }
            for minute, id_ in enumerate(ids)
        ]

    return {
        "name": "own-1",
        "source": "written for this test",
        "language": "en",
        "participants": ["Nadia", "Omar"],
        "sessions": [
            {"id": "S1", "at": "2024-03-01T10:00:00Z", "turns": turns(["A1", "A2", "A3", "A4"], 1)},
            {"id": "S2", "at": "2024-03-08T10:00:00Z", "turns": turns(["Б1", "Б2", "Б3"], 8)},
        ],
        "questions": [
            {
                "id": id_,
                "text": text,
                "category": "fact",
                "asked_at": "2024-04-01T00:00:00Z",
                "evidence": [evidence],
                "evidence_sessions": ["S1" if evidence in ("A1", "A4") else "S2"],
            }
            for id_, (text, evidence) in QUESTIONS.items()
        ]
        + [
            {
                "id": "early",
                "text": "Сколько банок варенья?",
                "category": "fact",
                "asked_at": "2024-03-02T00:00:00Z",
                "evidence": [],
                "evidence_sessions": [],
            }
        ],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    (data / "own-1.json").write_text(json.dumps(conversation(), ensure_ascii=False), encoding="utf-8")
    return data


def recall(folder: Path, dsn: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return bench_module("recall", folder, dsn, *arguments)


def bench_module(name: str, folder: Path, dsn: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DATABASE_URL": dsn, "PYTHONPATH": str(ROOT)}
    return run(ROOT / "bench" / f"{name}.py", *arguments, environment=environment, folder=folder, timeout_s=120)


def test_recall_ranks_and_fills(postgres: EmbeddedPostgres, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "rankings.json"
    (tmp_path / "score.py").touch()
    corrections = tmp_path / "corrections.json"
    corrections.write_text('{"whistle": ["A3"], "of another conversation": ["A1"]}')
    options = ("--data", str(folder), "--corrections", str(corrections), "--embedding", "none")
    done = recall(tmp_path, postgres.dsn, *options, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "own / all" in done.stdout and "the evidence of 1 questions is corrected" in done.stdout
    assert "score.py" in done.stdout
    rankings = json.loads(out.read_text())
    assert set(rankings) == {"own-1"}
    answers = rankings["own-1"]
    for id_, (_, evidence) in QUESTIONS.items():
        answer = answers[id_]
        assert answer["ranked"][0] == evidence
        assert len(set(answer["ranked"])) == len(answer["ranked"]) <= 50
        assert answer["ms"] > 0
        for budget, text in answer["context"].items():
            assert tokens.count(text) <= int(budget)
        assert TALK[evidence][2] in answer["context"]["500"]
    assert set(answers["whistle"]["context"]) == {"500", "2000", "8000"}
    assert not {"Б1", "Б2", "Б3"} & set(answers["early"]["ranked"])  # nobody had said it then


def test_answers_are_compared_in_three_ways(postgres: EmbeddedPostgres, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "answers.json"
    options = ("--data", str(folder), "--out", str(out), "--embedding", "none")
    done = bench_module("answers", tmp_path, postgres.dsn, *options)
    assert done.returncode == 0, done.stderr
    assert "small sample" in done.stdout and "common words" in done.stdout
    body = json.loads(out.read_text())
    table = {line["way"]: line for line in body["table"]}
    assert list(table) == ["MaaS", "full history", "no memory"]
    assert table["MaaS"]["evidence_shown"] == 0.8 and table["no memory"]["evidence_shown"] == 0.0  # one came too early
    assert table["MaaS"]["f1"] > 2 * table["no memory"]["f1"]
    said = {one["question"]: one["text"] for one in body["answers"] if one["way"] == "MaaS"}
    assert TALK["A1"][2] in said["whistle"] and not any(one["error"] for one in body["answers"])
    assert len(body["answers"]) == len(table) * table["MaaS"]["questions"]


def test_what_people_say_reaches_the_answer_before_and_after_merging(
    postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    out = tmp_path / "stages.json"
    done = bench_module("stages", tmp_path, postgres.dsn, "--exchanges", "40", "--out", str(out))
    assert done.returncode == 0, done.stderr
    body = json.loads(out.read_text())
    facts = [one for one in body["asked"] if one["is_about_person"]]
    shown = Counter(one["phase"] for one in facts if one["is_shown"])
    assert len(facts) == 3 * 20 and min(shown[phase] for phase in ("as said", "merged", "words deleted")) >= 18
    assert not [one for one in body["asked"] if one["is_about_person"] == (one["kind"] == "GENERAL")]
    assert body["stages"] == []  # no model was asked


def test_what_is_true_of_invented_lives(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    """And what is not known without facts."""
    right: dict[str, dict[str, list[bool]]] = {}
    for tokens_of_facts in ("0", "300"):
        out = tmp_path / f"state{tokens_of_facts}.json"
        options = ("--lives", "2", "--facts-tokens", tokens_of_facts, "--out", str(out))
        done = bench_module("state", tmp_path, postgres.dsn, *options)
        assert done.returncode == 0, done.stderr
        by_kind: dict[str, list[bool]] = right.setdefault(tokens_of_facts, {})
        for one in json.loads(out.read_text())["answers"]:
            by_kind.setdefault(one["kind"], []).append(one["is_right"])
    assert all(right["300"]["deletion"]) and all(right["300"]["others"]) and not any(right["0"]["others"])
    assert sum(right["300"]["cascade"]) > sum(right["0"]["cascade"]) == 0


def harbour() -> dict[str, Any]:
    """Igor speaks of the harbour all the time, Vera once; the accordion is in one turn."""
    said = [("Igor", "The ferry leaves at noon."), ("Vera", "The harbour was loud.")]
    said += [("Igor", f"The harbour was calm, and the boats lay at pier {number}.") for number in range(14)]
    said += [("Vera", "My old accordion stands in the cellar.")]
    said += [("Igor", f"We saw {number} gulls and no whale.") for number in range(10)]
    turns = [
        {"id": f"C{number}", "speaker": speaker, "role": "user", "at": f"2024-03-01T10:{number:02}:00Z", "text": text}
        for number, (speaker, text) in enumerate(said)
    ]
    asked = [
        ("speaker", "What was the harbour like for Vera?", "fact", "C1"),
        ("typo", "Where is the accordion?", "fact", "C16"),
        ("never", "Where is Igor's accordion?", "adversarial", "C16"),
    ]
    return {
        "name": "quay-1",
        "sessions": [{"id": "S1", "turns": turns}],
        "questions": [
            {"id": id_, "text": text, "category": category, "asked_at": "2024-04-01T00:00:00Z", "evidence": [evidence]}
            for id_, text, category, evidence in asked
        ],
    }


def test_ablation_tells_what_a_signal_and_the_repair_buy(
    postgres: EmbeddedPostgres, folder: Path, tmp_path: Path
) -> None:
    (folder / "quay-1.json").write_text(json.dumps(harbour()), encoding="utf-8")
    out = tmp_path / "new" / "ablation.json"
    done = bench_module(
        "ablation", tmp_path, postgres.dsn, "--data", str(folder), "--out", str(out), "--embedding", "none"
    )
    assert done.returncode == 0, done.stderr
    assert "quay: 2 questions, 1 adversarial apart" in done.stdout
    found = json.loads(out.read_text())
    quay = found["rankings"]["quay"]
    assert quay["the product"]["turn R@10"] == quay["the product"]["session R@5"] == 100
    assert quay["without speaker"]["turn R@10"] == quay["coverage alone"]["turn R@10"] == 50
    assert quay["+ opening"] == quay["the product"] == quay["and newness, half in 7 days"]
    assert quay["the product"]["adversarial R@10"] == 100
    assert found["rankings"]["own"]["the product"]["nDCG@10"] == 100
    assert [one["value"] for one in found["figures"]["quay"]] == [0, 100]
    assert found["figures"]["quay"][0]["holds"]
    for shown in found["context"].values():
        assert list(shown) == ["250", "500", "1000", "2000", "4000", "8000", "16000"]
        assert shown["16000"] == 100
    for picture in (out.with_suffix(".png"), out.with_suffix(".context.png")):
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_ablation_tells_what_meaning_buys(postgres: EmbeddedPostgres, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "ablation.json"
    with HTTPServer(threaded=True) as http:
        server = EmbeddingServer(http)
        environment = server.settings()
        del environment["MAAS_EMBEDDING_MODEL"]
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            done = bench_module(
                "ablation",
                tmp_path,
                postgres.dsn,
                "--data",
                str(folder),
                "--out",
                str(out),
                "--embedding",
                "openai:words",
            )
        assert done.returncode == 0, done.stderr
        assert len(TALK) + len(QUESTIONS) <= len(server.texts)
    found = json.loads(out.read_text())
    assert found["embedding"] == "openai:words"
    assert {"without meaning", "+ meaning_nearby", "+ meaning_conversation"} <= found["rankings"]["own"].keys()


def test_ablation_needs_questions_that_name_their_evidence(folder: Path, tmp_path: Path) -> None:
    body = conversation()
    for question in body["questions"]:
        del question["evidence"]
    (folder / "own-1.json").write_text(json.dumps(body), encoding="utf-8")
    done = bench_module(
        "ablation", tmp_path, "postgresql://127.0.0.1:1/none", "--data", str(folder), "--out", str(tmp_path / "o.json")
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        f"bench: --data {folder}: no question names its evidence (a list of turn ids)"
    ]


def test_recall_finds_by_meaning_too(
    postgres: EmbeddedPostgres, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every turn and every question is embedded once; a question that shares no word with its turn finds it."""
    question = {"id": "synonym", "text": "Любимая птица", "category": "fact", "asked_at": "2024-04-01T00:00:00Z"}
    body = conversation()
    body["questions"].append(question | {"evidence": ["A1"], "evidence_sessions": ["S1"]})
    (folder / "own-1.json").write_text(json.dumps(body, ensure_ascii=False), encoding="utf-8")
    out = tmp_path / "rankings.json"
    with HTTPServer(threaded=True) as http:
        server = EmbeddingServer(http)
        server.alike = ("птица", "parrot")
        for name, value in server.settings().items():
            monkeypatch.setenv(name, value)
        done = recall(tmp_path, postgres.dsn, "--data", str(folder), "--out", str(out), "--embedding", "openai:words")
        assert done.returncode == 0, done.stderr
        assert "turns embedded" in done.stderr
        assert len(server.texts) == len(set(server.texts))
        one_names_a_speaker = 1  # a search leaves the name out, the check that there is a vector does not
        assert len(server.texts) == len(TALK) + len(body["questions"]) + one_names_a_speaker
    answers = json.loads(out.read_text())["own-1"]
    assert answers["synonym"]["ranked"][0] in ("A1", "A2")
    assert TALK["A1"][2] in answers["synonym"]["context"]["500"]


def test_recall_by_words_asks_nobody_for_vectors(
    postgres: EmbeddedPostgres, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HTTPServer(threaded=True) as http:
        server = EmbeddingServer(http)
        for name, value in server.settings().items():
            monkeypatch.setenv(name, value)
        options = ("--data", str(folder), "--out", str(tmp_path / "rankings.json"), "--embedding", "none")
        done = recall(tmp_path, postgres.dsn, *options)
        assert done.returncode == 0, done.stderr
        assert server.calls == 0


def test_a_folder_without_conversations_is_one_clear_line(tmp_path: Path) -> None:
    done = recall(
        tmp_path, "postgresql://127.0.0.1:1/none", "--data", str(tmp_path), "--out", str(tmp_path / "out.json")
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        f"bench: --data {tmp_path} holds no *.json; name a folder of conversations"
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 7}, "name: Input should be a valid string"),
        ({"sessions": [{"id": "S1", "turns": [{"id": "1"}]}]}, "sessions.0.turns.0.role: Field required"),
        ({"questions": conversation()["questions"][:1] * 2}, "2 questions have the id 'whistle'"),
    ],
)
def test_a_file_of_another_shape_is_named_with_the_place(folder: Path, change: dict[str, Any], message: str) -> None:
    path = folder / "own-1.json"
    path.write_text(json.dumps(conversation() | change), encoding="utf-8")
    with pytest.raises(MaasError, match=message) as caught:
        read_folder(folder)
    assert str(path) in caught.value.message


def test_two_conversations_of_one_name_are_refused(folder: Path) -> None:
    (folder / "other.json").write_text(json.dumps(conversation()), encoding="utf-8")
    with pytest.raises(MaasError, match="both named 'own-1'"):
        read_folder(folder)


def figures_of(out: Path) -> dict[str, float]:
    body = json.loads(out.read_text())
    assert not [one["name"] for found in body["figures"].values() for one in found if math.isnan(one["value"])]
    return {f"{one['name']} {one['unit']}".strip(): one["value"] for found in body["figures"].values() for one in found}


@pytest.mark.parametrize(
    ("quick", "disk", "missed"),
    [(True, 2300.0, ["errors"]), (False, 2300.0, ["errors", "latency", "rate"]), (False, 1.0, ["errors", "latency"])],
)
def test_the_engine_fails_by_a_gate_that_was_missed(
    postgres: EmbeddedPostgres,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    quick: bool,
    disk: float,
    missed: list[str],
) -> None:
    """With its figures written; of rates that the disk bounds the scaled ones are held, with --quick no times."""

    async def measured(bench: Bench) -> list[Figure]:
        return [
            Figure("errors", "", 1, limit=1),
            Figure("latency", "ms", 9, limit=1),
            Figure("rate", "runs/s", 1, floor=1000, scales=True),
        ]

    async def calibrated(sandbox: Sandbox, seconds: int) -> list[Figure]:
        return [Figure("insert", "commits/s", disk)]

    monkeypatch.setenv("DATABASE_URL", postgres.dsn)
    monkeypatch.setattr(engine, "CASES", (engine.Case("a case", measured, 1, is_quick=True),))
    monkeypatch.setattr(engine, "calibrate", calibrated)
    out = tmp_path / "engine.json"
    with pytest.raises(MaasError) as caught:
        engine.engine(out, quick)
    names = [one.partition(" is ")[0].partition(": ")[2].partition(",")[0] for one in caught.value.message.split("; ")]
    assert names == missed
    assert ("gates of times and rates are not held" in capsys.readouterr().out) is quick
    assert json.loads(out.read_text())["figures"]["a case"][0]["holds"] is False


@pytest.mark.bench
def test_telegram(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    out = tmp_path / "telegram.json"
    done = bench_module("telegram", tmp_path, postgres.dsn, "--quick", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert set(json.loads(out.read_text())["figures"]) == {"messages", "a stream", "process"}


@pytest.mark.bench
def test_scale_asks_for_what_users_said(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    out = tmp_path / "scale.json"
    done = bench_module("scale", tmp_path, postgres.dsn, "--quick", "--logs", "2000", "--out", str(out))
    assert done.returncode == 0, done.stderr
    figures = figures_of(out)
    assert figures["questions whose turn is among the ten found %"] > 90
    assert figures["fresh logs found by their own words %"] == 100
    assert figures["16 callers: errors"] == 0
    assert figures["16 callers searches/s"] > 0
    assert figures["a log row, search indexes on kB of WAL"] > 0
    curve = json.loads(out.read_text())["curve"]
    assert curve[-1]["logs"] > 10 * curve[0]["logs"]
    plans = out.with_suffix(".plans.txt").read_text()
    assert plans.count("Query Text:") >= 3 and "raw_logs" in plans and "Buffers:" in plans


@pytest.mark.bench
def test_the_model_layer_costs_little_and_the_ledger_adds_up(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    out = tmp_path / "models.json"
    done = bench_module("models", tmp_path, postgres.dsn, "--quick", "--out", str(out))
    assert done.returncode == 0, done.stderr
    figures = figures_of(out)
    assert figures["through the layer ms"] > 0
    assert all(figures[f"{role}, tokens in"] > 100 for role in ("Analyzer", "Assembler", "FinalResponder", "Archivist"))
    dollars = json.loads(out.read_text())["dollars"]
    assert dollars["openai:gpt-4o"] > dollars["openai:gpt-4o-mini"] > 0


@pytest.mark.bench
def test_a_round_of_tools_is_measured_beside_the_bare_loop(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    out = tmp_path / "tools.json"
    done = bench_module("tools", tmp_path, postgres.dsn, "--quick", "--out", str(out))
    assert done.returncode == 0, done.stderr
    cases = json.loads(out.read_text())["figures"]
    assert [name.partition(", each ")[2] for name in cases] == [
        "a read",
        "a write",
        "a read in a domain with an opener",
        "",
    ]
    domains, sources = cases.pop("side by side")
    assert 500 < domains["value"] < 1500 and 300 < sources["value"] < 1800, "not one after another"
    for bare, ours, part in cases.values():
        assert min(ours["value"], bare["value"]) > 0 and part["limit"] == 5


@pytest.mark.bench
def test_tools_over_many_leads_are_measured(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    out = tmp_path / "ads.json"
    done = bench_module("ads", tmp_path, postgres.dsn, "--quick", "--out", str(out))
    assert done.returncode == 0, done.stderr
    cases = json.loads(out.read_text())["figures"]
    assert len(cases) == 11 and all(figure["value"] > 0 for figures in cases.values() for figure in figures)


@pytest.mark.bench
def test_every_fact_is_known_to_the_next_request(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    out = tmp_path / "writes.json"
    done = bench_module("memory", tmp_path, postgres.dsn, "--quick", "--users", "10", "--out", str(out))
    assert done.returncode == 0, done.stderr
    figures = figures_of(out)
    for name in (
        "users",
        "facts in the payload of the next request",
        "facts among its sources",
        "turns found by `search` at once",
        "turns found over HTTP at once",
    ):
        assert figures[name] == 10, name
    assert figures["requests that did not wait for memory"] == 0
    assert figures["COMPLETED to archived p50 ms"] > 0


@pytest.mark.bench
def test_every_event_reaches_its_follower(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    out = tmp_path / "events.json"
    done = bench_module("events", tmp_path, postgres.dsn, "--quick", "--followers", "10", "--out", str(out))
    assert done.returncode == 0, done.stderr
    figures = figures_of(out)
    assert figures["events delivered"] == 50
    assert figures["followers that heard all, once, in order"] == figures["followers that heard the end"] == 10
    assert figures["from the word to the client p95 ms"] > 0


@pytest.fixture
def empty(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[str]:
    with Sandbox(tmp_path, postgres.dsn, postgres, "template1").empty_database() as dsn:
        yield dsn


def peer(name: str, dsn: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [peer_cases.python_of(name), "-m", f"bench.peers.{name}", dsn, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("name", [name for name in peer_cases.PEERS if peer_cases.is_installed(name)])
def test_a_peer_prints_one_line_about_work_that_it_did(empty: str, name: str) -> None:
    concurrencies = peer_cases.module_of(name).CONCURRENCIES
    assert len(concurrencies) == 3
    done = peer(name, empty, "--runs", "50", "--users", "7", "--concurrency", str(concurrencies[0]))
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    result = json.loads(line)
    assert set(result) == {"peer", "version", "runs", "seconds", "unit", "settings"}
    assert (result["peer"], result["runs"], result["settings"]["concurrency"]) == (name, 50, concurrencies[0])
    assert result["seconds"] > 0


def test_the_literal_reading_completes_every_run_in_six_commits(empty: str) -> None:
    assert peer("spec_literal", empty, "--runs", "50", "--users", "7", "--concurrency", "4").returncode == 0
    with psycopg.connect(empty, autocommit=True) as connection:
        assert connection.execute("select status, count(*) from pipeline_runs group by 1").fetchall() == [
            ("COMPLETED", 50)
        ]
        overtaken = """
        select count(*) from pipeline_runs a join pipeline_runs b
          on a.user_id = b.user_id and a.seq < b.seq and b.updated_at < a.updated_at"""
        assert connection.execute(overtaken).fetchall() == [(0,)]


async def test_a_peer_is_measured_over_an_empty_database(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    bench = Bench(Sandbox(tmp_path, postgres.dsn, postgres, "template1"), load_settings(), quick=True)
    result = await peer_cases.run_peer(bench, "spec_literal", 50, 4)
    assert (result.name, result.runs, result.concurrency) == ("spec_literal", 50, 4)
    assert result.runs_per_second == pytest.approx(50 / result.seconds)
    assert result.client_cpu_us_per_run > 0


async def test_a_peer_that_is_not_installed_says_how_to_install_it(
    postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_cases, "APART", tmp_path)
    bench = Bench(Sandbox(tmp_path, postgres.dsn, postgres, "template1"), load_settings(), quick=True)
    with pytest.raises(MaasError, match="dbos is left out: make bench-engine installs it"):
        await peer_cases.run_peer(bench, "dbos", 50, 4)


@pytest.mark.parametrize("client", ["Python", *(["wrk"] if find_wrk() else [])])
async def test_every_accepted_request_is_a_row(
    postgres: EmbeddedPostgres, template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    if client == "Python":
        monkeypatch.setattr(http_cases, "find_wrk", lambda: None)
    bench = Bench(Sandbox(tmp_path, postgres.dsn, postgres, template), load_settings(), quick=True)
    async with open_system(bench, server=True) as system:
        load = await http_cases.post_for(bench, system, 1)
        steady = await http_cases.post_for(bench, system, 1, rate=100)
        users = await system.connection.fetchval("select count(distinct user_id) from pipeline_runs")
    assert (load.client, steady.client) == (client, client)
    assert steady.accepted == len(steady.ms) == 100
    assert users == load.accepted + steady.accepted


async def test_a_year_is_lived(database: str, tmp_path: Path) -> None:
    """Both twins are archived, one is compacted; what is counted is what is there."""
    exchanges = list(year.live(50))
    months, before, after, _ = await year.measure(tmp_path, database, load_settings(), exchanges)
    assert [one.name for one in months] == ["2025-01", "2025-02"]
    assert months[-1].levels.keys() == {0, 1, 2} and months[-1].levels[0] == 15
    assert months[-1].open < 50 < months[0].made + months[1].made
    assert before.turns == after.turns == 1.0 and 0 < after.summaries < before.summaries == 1.0
    with psycopg.connect(database) as connection:
        logs = connection.execute("select user_id, count(*) from raw_logs group by 1").fetchall()
        merged = connection.execute("select distinct user_id from lsm_storage where level > 0").fetchall()
    assert [count for _, count in logs] == [len(exchanges)] * 2 and len(merged) == 1
    assert all(figure.holds for figure in year.figures_of(months, before, after))
