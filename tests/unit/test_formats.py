"""Formats of import files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from maas.memory.transfer.formats import ImportedMessage, read_messages
from shared.errors import MaasError


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "chat.ndjson"
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines))
    return path


def read(path: Path) -> list[ImportedMessage]:
    with path.open("rb") as file:
        return list(read_messages(file, path.name, Counter()))


def test_ndjson(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {
            "role": "user",
            "content": "привет",
            "at": "2025-01-02T03:04:05Z",
            "speaker": "Аня",
            "conversation": "c1",
            "external_id": 7,
        },
        "",
        {"role": "assistant", "content": "hello"},
    )
    first, second = read(path)
    assert (first.role, first.content, first.at) == ("user", "привет", "2025-01-02T03:04:05+00:00")
    assert (first.speaker, first.conversation, first.external_id) == ("Аня", "c1", "7")
    assert (second.role, second.at, second.speaker, second.conversation) == ("assistant", None, None, None)
    assert second.external_id.startswith("line-3-")


def test_ids_are_the_same_each_time(tmp_path: Path) -> None:
    """A file without ids can be imported again without doubles."""
    path = write(tmp_path, {"role": "user", "content": "a"}, {"role": "user", "content": "a"})
    first, again = read(path), read(path)
    assert first == again
    assert first[0].external_id != first[1].external_id


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("not json", "line 1: not JSON"),
        ("7", "must be an object"),
        ({"content": "x"}, "role"),
        ({"role": "system", "content": "x"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": " \u200b"}, "content"),
        ({"role": "user", "content": 5}, "content"),
        ({"role": "user", "content": "x", "at": "yesterday"}, "at must be"),
        ({"role": "user", "content": "x", "at": 1e30}, "at must be"),
        ({"role": "user", "content": "x", "speaker": {"a": 1}}, "speaker"),
        ({"role": "user", "content": "x" * 1_100_000}, "1 MiB"),
    ],
)
def test_bad_line_is_named(tmp_path: Path, line: Any, word: str) -> None:
    with pytest.raises(MaasError, match=word):
        read(write(tmp_path, line))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b'{"role": "user", "content": "\xff"}')
    with pytest.raises(MaasError, match="UTF-8"):
        read(path)


def test_chatgpt_export(tmp_path: Path) -> None:
    """The branch that was seen last, without hidden and tool messages, with ids and times."""

    def node(
        id_: str, parent: str | None, role: str, *parts: Any, at: float | None = None, **metadata: Any
    ) -> dict[str, Any]:
        message = {
            "id": id_,
            "author": {"role": role},
            "content": {"content_type": "text", "parts": list(parts)},
            "create_time": at,
            "metadata": metadata,
        }
        return {"id": id_, "parent": parent, "message": message}

    nodes = [
        {"id": "root", "parent": None, "message": None},
        node("s", "root", "system", "", is_visually_hidden_from_conversation=True),
        node("q", "s", "user", "What is a fjord?", at=1700000000.5),
        node("old", "q", "assistant", "A wrong answer."),
        node("new", "q", "assistant", "A long narrow inlet.", {"image": 1}, at=1700000001),
        node("tool", "new", "tool", "ran"),
    ]
    export = [
        {"title": "Fjords", "conversation_id": "conv", "current_node": "tool", "mapping": {n["id"]: n for n in nodes}}
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(export))
    messages = read(path)
    assert [(m.role, m.content, m.external_id) for m in messages] == [
        ("user", "What is a fjord?", "q"),
        ("assistant", "A long narrow inlet.", "new"),
    ]
    assert {m.conversation for m in messages} == {"conv"}
    assert messages[0].at == "2023-11-14T22:13:20.500000+00:00"
    spoken: Any = {"content_type": "audio_transcription", "text": "My boat is Zephyr.", "direction": "in"}
    sound = {"content_type": "real_time_user_audio_video_asset_pointer"}
    nodes = [
        node("v", None, "user", spoken, sound),
        node("m", "v", "assistant", "User has a boat."),
        node("th", "m", "assistant"),
        node("said", "th", "assistant", spoken | {"text": "A fine name."}),
    ]
    nodes[1]["message"] |= {"recipient": "bio"}
    nodes[2]["message"]["content"] = {"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}
    nodes[3]["message"] |= {"recipient": "all"}
    path.write_text(json.dumps([{"id": "c", "current_node": "said", "mapping": {n["id"]: n for n in nodes}}]))
    left_out: Counter[str] = Counter()
    with path.open("rb") as file:
        voice = [(one.role, one.content) for one in read_messages(file, "voice", left_out)]
    assert voice == [("user", "My boat is Zephyr."), ("assistant", "A fine name.")]
    assert left_out == {"recordings": 1, "tool calls": 1, "thoughts of a model": 1}
    path.write_text('[{"no": "mapping"}]')
    with pytest.raises(MaasError, match="conversation 1"):
        read(path)
