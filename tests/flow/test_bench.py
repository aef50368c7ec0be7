"""bench.recall on a small conversation of our own: it ranks, stays within its budgets, and says what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.conversations import read_folder
from shared import tokens
from shared.errors import MaasError
from shared.postgres import EmbeddedPostgres
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
            {"id": id_, "speaker": TALK[id_][0], "role": TALK[id_][1], "at": f"2024-03-{day:02}T10:{minute:02}:00Z",
             "text": TALK[id_][2]}
            for minute, id_ in enumerate(ids)
        ]  # fmt: skip

    return {
        "name": "own-1", "source": "written for this test", "language": "en", "participants": ["Nadia", "Omar"],
        "sessions": [
            {"id": "S1", "at": "2024-03-01T10:00:00Z", "turns": turns(["A1", "A2", "A3", "A4"], 1)},
            {"id": "S2", "at": "2024-03-08T10:00:00Z", "turns": turns(["Б1", "Б2", "Б3"], 8)},
        ],
        "questions": [
            {"id": id_, "text": text, "category": "fact", "asked_at": "2024-04-01T00:00:00Z", "evidence": [evidence],
             "evidence_sessions": ["S1" if evidence in ("A1", "A4") else "S2"]}
            for id_, (text, evidence) in QUESTIONS.items()
        ] + [{"id": "early", "text": "Сколько банок варенья?", "category": "fact", "asked_at": "2024-03-02T00:00:00Z",
              "evidence": [], "evidence_sessions": []}],
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    (data / "own-1.json").write_text(json.dumps(conversation(), ensure_ascii=False), encoding="utf-8")
    return data


def recall(folder: Path, dsn: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench.recall", *arguments],
        cwd=folder, env=os.environ | {"DATABASE_URL": dsn, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip


def test_recall_ranks_and_fills(postgres: EmbeddedPostgres, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "rankings.json"
    (tmp_path / "score.py").touch()
    done = recall(tmp_path, postgres.dsn, "--data", str(folder), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "own" in done.stdout and "score.py" in done.stdout
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
