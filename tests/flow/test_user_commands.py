"""`maas export, import, erase, forget, trace` as a person types them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from maas.cli.runs import memory_lines
from tests.stack import Stack, maas


def remember(stack: Stack, user: UUID, *sentences: str) -> None:
    stack.wait_archived(*(stack.ask(user, sentence) for sentence in sentences))


def test_export_erase_import(stack: Stack, user: UUID, tmp_path: Path) -> None:
    remember(stack, user, "My boat is called Zephyr.", "Мой кот любит рыбу.")
    path = tmp_path / "user.ndjson"
    done = maas(stack, "export", str(user), "--out", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert "4 logs, 2 records, 2 runs exported" in done.stderr
    assert path.stat().st_mode & 0o077 == 0, "for its owner's eyes only"
    printed = maas(stack, "export", str(user)).stdout.splitlines()
    assert printed[1:] == path.read_text().splitlines()[1:]
    asked = maas(stack, "erase", str(user))
    assert asked.returncode == 1 and "cannot be undone" in asked.stderr
    assert stack.rows("select from raw_logs where user_id = %s", user)
    erased = maas(stack, "erase", str(user), "--yes")
    assert erased.returncode == 0, erased.stderr
    assert re.search(r"^raw_logs +4$", erased.stdout, re.MULTILINE)
    assert stack.rows("select from raw_logs where user_id = %s", user) == []
    restored = maas(stack, "import", str(path))
    assert restored.returncode == 0, restored.stderr
    assert f"4 messages and 2 summaries restored, 0 already known, for user {user}" in restored.stdout
    assert "Zephyr" in maas(stack, "search", "boat", "--user", str(user)).stdout
    assert maas(stack, "export", str(user)).stdout.splitlines()[1:] == [
        line for line in printed[1:] if json.loads(line)["type"] != "run"
    ]
    notes = stack.rows("select action, actor from audit where user_id = %s order by id", user)
    assert [note["action"] for note in notes] == ["export", "export", "erase", "import", "user_access", "export"]
    assert {note["actor"] for note in notes} == {"cli"}


def test_trace_goes_down_to_the_words(stack: Stack, user: UUID) -> None:
    """Each summary with its turns, each turn with its words; what is gone is called forgotten."""
    remember(stack, user, "My sister Alma moved to Lisbon in May.", "Alma bought a piano in Lisbon.")
    run_id = stack.ask(user, "Do you remember where my sister Alma moved?")
    stack.wait_archived(run_id)
    page = maas(stack, "trace", str(run_id)).stdout
    assert "memory: 1 summaries," in page
    lines = page[page.index("memory: ") : page.index("answer:")].splitlines()
    assert "[" in lines[1] and "Alma" in lines[1] and "-Week-" in lines[1]
    assert "user: My sister Alma moved to Lisbon in May." in lines[2]
    given = json.loads(maas(stack, "trace", str(run_id), "--json").stdout)["memories"]
    summary = next(one for one in given if one["kind"] == "summary")
    assert summary["logs"][0]["content"] == "My sister Alma moved to Lisbon in May."
    forgotten = maas(stack, "forget", summary["id"], "--user", str(user))
    assert forgotten.returncode == 0 and re.match(r"deleted: \d messages, \d summaries\n", forgotten.stdout)
    page = maas(stack, "trace", str(run_id)).stdout
    lines = page[page.index("memory: ") : page.index("answer:")].splitlines()
    assert "a deleted summary" in lines[1]
    assert "Lisbon in May" not in "\n".join(lines)


def test_many_memories_stay_readable() -> None:
    log = {
        "occurred_at": "2025-01-02T00:00:00+00:00",
        "speaker": None,
        "message_type": "user_query",
        "content": "w " * 500,
    }
    turns = [{"id": "x", "kind": "turn", "score": 0.5, "logs": [log]}] * 40
    record = {
        "id": "y",
        "kind": "summary",
        "score": 1.0,
        "period": "2025-Week-01",
        "tags": ["A"],
        "memory": "m",
        "logs": [log] * 9,
    }
    lines = list(memory_lines([record, *turns]))
    assert lines[0] == "memory: 1 summaries, 40 messages, and the last 0 messages"
    assert lines[7] == "         and 4 more messages" and lines[-1] == "  and 30 more messages"
    assert len(lines) == 19 and max(map(len, lines)) < 200
    assert list(memory_lines([])) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("erase", "me", "--yes"), "is not a UUID"),
        (("forget", "me"), "is not a UUID"),
        (("forget", str(uuid4())), "there is no memory"),
        (("export", "me"), "is not a UUID"),
        (("export", str(uuid4()), "--out", "/no/such/folder/file"), "cannot be written"),
    ],
)
def test_mistakes_get_one_line(stack: Stack, words: tuple[str, ...], said: str) -> None:
    done = maas(stack, *words)
    assert done.returncode == 1
    assert said in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_a_broken_export_changes_nothing(stack: Stack, user: UUID, tmp_path: Path) -> None:
    remember(stack, user, "My boat is called Zephyr.")
    path, other = tmp_path / "user.ndjson", uuid4()
    maas(stack, "export", str(user), "--out", str(path))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], lines[3][:-5]]))
    done = maas(stack, "import", str(path), "--user", str(other))
    assert done.returncode == 1
    assert "user.ndjson, line 4: not JSON" in done.stderr
    assert stack.rows("select from raw_logs where user_id = %s", other) == []
