"""Exports of other products: what becomes a message, and what is counted as left out."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from maas.memory.transfer.containers import unpack
from maas.memory.transfer.formats import ImportedMessage, read_messages
from maas.memory.transfer.sources import SOURCES
from shared.errors import MaasError

FOLDER = Path(__file__).parents[1] / "data" / "exports"
Said = list[tuple[str, str]]


def read(path: Path, owner: str | None = None) -> tuple[list[ImportedMessage], dict[str, int]]:
    left_out: Counter[str] = Counter()
    messages = [one for file, name in unpack(path, owner) for one in read_messages(file, name, left_out)]
    return messages, dict(left_out)


WANTED: dict[str, tuple[Said, dict[str, int]]] = {
    "claude.json": (
        [("user", "My boat is called Zephyr."), ("assistant", "A fine name."), ("user", "I live in Bergen.")],
        {
            "attached files": 2,
            "thoughts of a model": 1,
            "tool calls": 1,
            "tool results": 1,
            "messages without text": 1,
        },
    ),
    "gemini.json": (
        [
            ("user", "Where does my sister Alma live?"),
            ("assistant", "In Lisbon & Porto.\nby the river"),
            ("assistant", "A nice picture."),
        ],
        {
            "activities that are no questions": 1,
            "attached files": 2,
            "answers that were written again": 1,
            "messages without text": 1,
        },
    ),
    "open_webui.json": (
        [("user", "What is the weather in Paris?"), ("assistant", "It is 18C with rain.")],
        {"attached files": 1, "thoughts and tool calls of a model": 1, "messages of other branches": 1},
    ),
    "librechat.json": (
        [("user", "How much does my van burn?"), ("assistant", "8.2 litres.")],
        {"thoughts of a model": 1, "tool calls": 1, "messages of other branches": 1},
    ),
    "librechat_messages.json": (
        [("user", "How much does my van burn?")],
        {"attached files": 1, "errors that were shown": 1},
    ),
    "mem0.json": ([("user", "Likes Scandinavian jazz"), ("user", "Lives in Bergen")], {}),
    "graphiti.json": (
        [
            ("user", "My sister is Alma.\nShe is in Lisbon."),
            ("assistant", "I will remember Alma."),
            ("user", "I prefer trains."),
        ],
        {"episodes that are JSON": 1, "facts that were derived": 1, "entities that were derived": 1},
    ),
    "zep.json": (
        [("user", "I sold the kayak."), ("assistant", "Noted."), ("user", "For 300 euros.")],
        {"messages of the system": 1},
    ),
    "honcho.json": (
        [("user", "I moved to Oslo."), ("assistant", "How is Oslo?"), ("assistant", "Fine answer.")],
        {"conclusions that were derived": 1},
    ),
    "hindsight.json": (
        [
            ("user", "Ann: my kayak is called Otter.\nShe keeps it in Bergen."),
            ("user", "The tent leaks."),
            ("user", "The paddle is red."),
            ("user", "Ann prefers trains"),
            ("assistant", "I recommended the night train"),
        ],
        {
            "facts that were derived": 2,
            "observations that were derived": 5,
            "mental models that were derived": 2,
            "directives": 1,
        },
    ),
    "mempalace.jsonl": (
        [
            ("user", "Where did I put the canoe?\nIt was blue."),
            ("assistant", "In the boat house.\n\nBehind the door."),
            ("user", "Thanks!"),
            ("assistant", "and the oars hang above it."),
            ("user", "SESSION: the house was painted white."),
        ],
        {"entries of the registry": 1},
    ),
    "mempalace.md": (
        [
            ("user", "Where did I put the canoe?\nIt was blue."),
            ("assistant", "In the boat house.\n\nBehind the door."),
            ("user", "Thanks!"),
            ("user", "SESSION: the house was painted white.\n## not a heading\n---"),
        ],
        {},
    ),
    "aimem.json": (
        [("user", "User prefers PostgreSQL."), ("user", "Cha gọi tao là 'mày' 🤖")],
        {"links between memories": 1, "entities that were derived": 1},
    ),
    "memorywire.jsonl": (
        [("user", "Ann prefers trains"), ("user", "Ann met Alma in Lisbon")],
        {"procedures": 1},
    ),
    "letta.af": (
        [
            ("user", "Name: Ann. Likes dogs."),
            ("user", "My dog is Comet."),
            ("assistant", "Comet is a lovely name."),
            ("assistant", "Shall we walk?"),
        ],
        {
            "blocks of agents": 1,
            "messages of the system": 1,
            "thoughts of a model": 2,
            "messages of tools and others": 1,
            "events of the system": 1,
        },
    ),
}


@pytest.mark.parametrize("name", WANTED)
def test_an_export_is_read(name: str) -> None:
    messages, left_out = read(FOLDER / name)
    said, others = WANTED[name]
    assert [(one.role, one.content) for one in messages] == said
    assert left_out == others
    assert all(one.at is not None for one in messages if one.content != "Name: Ann. Likes dogs.")
    again, _ = read(FOLDER / name)
    assert again == messages and len({one.external_id for one in messages}) == len(messages)  # so it can be resumed


def test_every_format_has_a_file() -> None:
    texts = [path.stem for path in FOLDER.iterdir()]
    names = {source.NAME.lower().replace(" ", "_") for source in SOURCES} - {"chatgpt"}  # test_formats.py
    assert names <= set(texts)


def test_who_speaks_and_where(tmp_path: Path) -> None:
    (ann, assistant, text), _ = read(FOLDER / "graphiti.json")
    assert (ann.speaker, ann.conversation, ann.at) == ("Ann (user)", "ann", "2025-07-01T09:00:00+00:00")
    assert (assistant.speaker, text.speaker) == ("assistant", None)
    (moved, *_), _ = read(FOLDER / "honcho.json")
    assert (moved.speaker, moved.conversation) == ("ann", "s1")
    kayak, tent, *_, train = read(FOLDER / "hindsight.json")[0]
    assert (kayak.conversation, kayak.at) == ("chat-2026-03-01", "2026-02-27T18:30:00+00:00")
    assert (tent.external_id, train.at) == ("notes 0", "2026-03-03T08:00:00+00:00")
    (_, met), _ = read(FOLDER / "memorywire.jsonl")
    assert (met.conversation, met.at) == ("helper", "2026-03-02T09:30:00+00:00")
    canoe, *_, house = read(FOLDER / "mempalace.jsonl")[0]
    assert (canoe.conversation, canoe.external_id) == ("/home/ann/chats/boats.jsonl", "drawer_ann_boats_1f2e 0")
    assert canoe.at == "2026-04-01T08:00:00+00:00"
    assert (house.conversation, house.at) == ("wing_ann/diary", "2026-04-03T10:00:00+00:00")
    _, lives = read(FOLDER / "mem0.json")[0]
    assert (lives.conversation, lives.at) == ("trip", "2025-06-01T15:00:00+00:00")


def database(path: Path, *emails: str) -> None:
    chats: list[dict[str, Any]] = json.loads((FOLDER / "open_webui.json").read_text())
    with sqlite3.connect(path) as connection:
        connection.execute("create table user (id varchar primary key, email varchar)")
        connection.execute("create table chat (id varchar, user_id varchar, title text, chat json, created_at bigint)")
        connection.execute(
            "create table memory (id varchar, user_id varchar, content text, updated_at bigint, created_at bigint)"
        )
        for number, email in enumerate(emails):
            user = f"u{number}"
            connection.execute("insert into user values (?, ?)", (user, email))
            row = (f"chat-{number}", user, "Weather", json.dumps(chats[0]["chat"]), 1700001000)
            connection.execute("insert into chat values (?, ?, ?, ?, ?)", row)
            memory = (f"m{number}", user, f"I am {email}.", 1700001000, 1700001000)
            connection.execute("insert into memory values (?, ?, ?, ?, ?)", memory)
    connection.close()


def test_the_database_of_open_webui(tmp_path: Path) -> None:
    """Chats and memories of one user; whose, if it holds those of several."""
    path = tmp_path / "webui.db"
    database(path, "ann@example.org", "ben@example.org")
    with pytest.raises(MaasError, match=r"ann@example.org, ben@example.org: choose one of them with --of"):
        read(path)
    messages, _ = read(path, "ben@example.org")
    assert [one.content for one in messages][-1] == "I am ben@example.org."
    assert {one.conversation for one in messages} == {"chat-1", None}
    assert read(path, "u1")[0] == messages
    alone = tmp_path / "alone.db"
    database(alone, "ann@example.org")
    assert len(read(alone)[0]) == 3


def test_what_a_model_wrote_for_newer_versions_of_open_webui(tmp_path: Path) -> None:
    """Its text stands in `output` alone, beside reasoning and calls."""
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 18C."}]}
    calls = [{"type": kind, "id": "i"} for kind in ("reasoning", "function_call", "function_call_output")]
    answer = {"id": "a", "parentId": "q", "role": "assistant", "content": "", "output": [*calls, said], "timestamp": 2}
    question = {"id": "q", "parentId": None, "role": "user", "content": "And in Oslo?", "timestamp": 1}
    chat = {"id": "c", "chat": {"history": {"currentId": "a", "messages": {"q": question, "a": answer}}}}
    path = tmp_path / "chats.json"
    path.write_text(json.dumps([chat]))
    messages, left_out = read(path)
    assert [one.content for one in messages] == ["And in Oslo?", "It is 18C."]
    assert left_out == {"thoughts of a model": 1, "tool calls": 1, "tool results": 1}


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (a)")
    connection.close()
    with pytest.raises(MaasError, match="no database of Open WebUI"):
        read(path)


def test_archives(tmp_path: Path) -> None:
    """As ChatGPT, Claude and Takeout deliver them; what else is in them is not looked at."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(FOLDER / "claude.json", "data/conversations.json")
        archive.write(FOLDER / "gemini.json", "Takeout/My Activity/Gemini Apps/MyActivity.json")
        archive.writestr("data/users.json", "[]")
        memory = {"conversations_memory": "Ann sails.", "project_memories": {"p": "A boat."}, "account_uuid": "a"}
        archive.writestr("data/memories.json", json.dumps([memory]))
    messages, left_out = read(path)
    assert (len(messages), left_out["memories that were derived"]) == (6, 2)
    apart = tmp_path / "memories-000.zip"
    with zipfile.ZipFile(apart, "w") as archive:
        archive.writestr("memories/a.json", json.dumps(memory | {"memory_files": []}))
    assert read(apart) == ([], {"memories that were derived": 2})
    documents = json.loads((FOLDER / "hindsight.json").read_text())
    bank = tmp_path / "bank.zip"
    with zipfile.ZipFile(bank, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, one in enumerate(documents[:-1]):
            archive.writestr(f"documents/{number:06d}.json", json.dumps(one, indent=2))
        archive.writestr("observations.json", "[]")
        archive.writestr("manifest.json", json.dumps(documents[-1], indent=2))
    assert read(bank)[1] == WANTED["hindsight.json"][1] and len(read(bank)[0]) == 5
    palace = tmp_path / "palace.zip"
    with zipfile.ZipFile(palace, "w") as archive:
        archive.write(FOLDER / "mempalace.jsonl", "ann/boats.jsonl")
        archive.writestr("export-manifest.json", "{}")
    assert len(read(palace)[0]) == 5
    folder = tmp_path / "folder.zip"
    with zipfile.ZipFile(folder, "w") as archive:
        archive.write(FOLDER / "mempalace.md", "ann/boats.md")
        archive.writestr("index.md", "# Palace Export")
        archive.writestr("ann/notes.md", "# Notes")
    assert read(folder)[0] == read(FOLDER / "mempalace.md")[0]
    empty = tmp_path / "empty.zip"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("photo.png", "x")
    with pytest.raises(MaasError, match=r"holds no conversations.json"):
        read(empty)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(path.read_bytes()[:200])
    with pytest.raises(MaasError, match="no readable archive"):
        read(broken)


@pytest.mark.parametrize(
    "item",
    [
        {"chat_messages": [{"text": "a"}]},
        {"chat_messages": [7]},
        {"mapping": {"a": 7}},
        {"header": "Gemini Apps", "title": 7, "time": "2026-01-01"},
        {"chat": {"history": {"messages": {"a": {}}, "currentId": "a"}}},
        {"conversationId": "c", "messages": [{"text": "no id"}]},
        {"conversationId": "c", "messages": [7]},
        {"agents": [{"messages": [{}], "id": "a"}], "blocks": []},
        {"agents": [7], "blocks": []},
        {"id": "d", "original_text": None, "chunks": [{"chunk_text": "no index"}], "facts": []},
        {"id": "d", "original_text": 7},
        {
            "format": "aimem-bundle",
            "producer": "p",
            "chunks": [{"id": "c", "content": "a", "content_hash": "sha256:0"}],
        },
        {"format": "aimem-bundle", "chunks": 7},
        {"id": "m", "agent_id": "a", "type": "semantic", "content": "a", "created_at": "yesterday"},
        {"id": "d", "document": None, "metadata": {"ingest_mode": "convos"}},
        {"uuid": "u", "content": 7, "source": "message"},
        {"id": 1, "content": "a", "peer_id": 7, "session_id": "s"},
        {"results": [{"what": "else"}]},
        {"what": "else"},
    ],
)
def test_another_form_gets_one_line(tmp_path: Path, item: dict[str, Any]) -> None:
    for text in (json.dumps(item, indent=1), json.dumps(item), json.dumps([item])):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(MaasError) as raised:
            read(path)
        assert raised.value.code == "bad_import" and "\n" not in raised.value.message


def test_trees_that_never_end_do(tmp_path: Path) -> None:
    """A message that is its own ancestor, in each format with branches."""
    path = tmp_path / "x.json"
    a = {"id": "a", "parentId": "b", "role": "user", "content": "one", "timestamp": 1}
    b = {"id": "b", "parentId": "a", "role": "user", "content": "two", "timestamp": 2}
    path.write_text(json.dumps([{"id": "c", "chat": {"history": {"messages": {"a": a, "b": b}, "currentId": "a"}}}]))
    assert [one.content for one in read(path)[0]] == ["two", "one"]


def test_a_message_that_is_too_long_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    message = {"uuid": "m", "sender": "human", "text": "x" * 1_100_000, "created_at": "2025-01-01T00:00:00Z"}
    path.write_text(json.dumps([{"uuid": "c", "chat_messages": [message]}]))
    assert read(path) == ([], {"messages of more than 1 MiB": 1})
