"""What is beside the logs moves along: dialogues, notes and images; decisions that wait do not."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.flow.test_users import export, of, post
from tests.pictures import MAKER, encode, exif, picture
from tests.stack import Stack, maas

RESTORED = ("log", "record", "fact", "conversation", "message", "attachment")


def live(stack: Stack, user: UUID) -> UUID:
    """A dialogue with a photo, a drawing, a note and an action that waits; the conversation."""
    files = {"file": ("a", picture("JPEG"), "image/jpeg")}
    photo = stack.client.post("/v1/attachments", data={"user_id": str(user)}, files=files).json()["id"]
    opened = stack.client.post("/v1/conversations", json={"user_id": str(user), "mode": "plan"}).json()["id"]
    runs = [stack.ask(user, "remember: my boat is called Zephyr", conversation_id=opened)]
    stack.wait_archived(runs[0])
    runs.append(stack.ask(user, "Это мой сад «ёж» \\ 😀", conversation_id=opened, attachment_ids=[photo]))
    stack.wait_archived(runs[1])
    stack.client.patch(f"/v1/conversations/{opened}", json={"title": "Сад"})
    keep = "select maas_store_attachment(%s, %s, 'image/png', 40, 20, %s) as id"
    (drawn,) = stack.rows(keep, user, runs[1], picture("PNG"))
    show = "update chat_messages set attachment_ids = %s where run_id = %s and role = 'assistant'"
    stack.rows(show, [drawn["id"]], runs[1])
    stack.rows(
        """insert into chat_pending_actions
             (user_id, run_id, conversation_id, call_id, tool_name, args_hash, asked_hash, effect)
           values (%s, %s, %s, 'c', 'pay', 'x', 'x', 'write')""",
        user,
        runs[1],
        opened,
    )
    return UUID(opened)


def shown(stack: Stack, conversation: UUID) -> list[tuple[str, str, int]]:
    page = stack.client.get(f"/v1/conversations/{conversation}/messages").json()["results"]
    return [(message["role"], message["content"], len(message["attachment_ids"])) for message in page]


def test_round_trip_after_erasing(stack: Stack, user: UUID) -> None:
    conversation = live(stack, user)
    before, dialogue = export(stack, user), shown(stack, conversation)
    counts = {kind: len(of(before, kind)) for kind in (*RESTORED, "action", "run")}
    assert counts == counts | {"conversation": 1, "message": 4, "fact": 1, "attachment": 2, "action": 1, "run": 2}
    assert [count for _, _, count in dialogue] == [1, 1, 0, 0]
    assert {line["kind"]: base64.b64decode(line["content"]) for line in of(before, "attachment")} == {
        "upload": picture("JPEG"),
        "generated": picture("PNG"),
    }
    assert any(line["attachment_ids"] for line in of(before, "run"))
    path = f"/v1/users/{user}/export"
    bundle = stack.client.get(path, params={"format": "aimem"})
    assert (bundle.status_code, bundle.headers["content-type"]) == (200, "application/aimem-bundle+json")
    assert stack.client.get(path, params={"format": "zip"}).status_code == 400
    stack.client.delete(f"/v1/users/{user}")
    headers = {"content-type": bundle.headers["content-type"]}
    restored = stack.client.post(f"/v1/users/{user}/import", content=bundle.content, headers=headers)
    assert restored.status_code == 202, restored.text
    assert restored.json()["others"] == 8
    after = export(stack, user)
    assert of(after, *RESTORED) == of(before, *RESTORED)
    assert of(after, "action", "run") == []
    found = stack.client.get(f"/v1/conversations/{conversation}").json()
    assert (found["title"], found["mode"]) == ("Сад", "plan")
    assert shown(stack, conversation) == dialogue
    assert post(stack, user, *before).json()["others"] == 0
    asked = stack.ask(user, "What is my boat called?", conversation_id=str(conversation))
    stack.wait_archived(asked)
    (row,) = stack.rows("select draft_context from pipeline_runs where id = %s", asked)
    assert "Zephyr" in row["draft_context"] and "Это мой сад" in row["draft_context"]


def test_another_user_gets_the_same_under_new_ids(stack: Stack, user: UUID) -> None:
    """All lines are equal but for their ids, which point to each other as before, and say that a file brought them."""
    live(stack, user)
    before, other = export(stack, user), uuid4()
    assert post(stack, other, *before).status_code == 202
    after = export(stack, other)
    pairs = list(zip(of(before, *RESTORED), of(after, *RESTORED), strict=True))
    ids: dict[str, str] = {}
    for old, new in pairs:
        for name in old:
            if name.endswith(("id", "_ids")) and name != "external_id" and old[name]:
                olds, news = (one if isinstance(one, list) else [one] for one in (old[name], new[name]))
                for one, another in zip(olds, news, strict=True):
                    assert ids.setdefault(one, another) == another, name
                    assert one != another, name
            elif name == "origins":
                assert new[name] == [*old[name], {"kind": "import", "name": "export"}]
            else:
                assert new[name] == old[name], name
    assert len(set(ids.values())) == len(ids)
    assert post(stack, other, *before).json()["others"] == 0


def test_the_command_moves_them_too(stack: Stack, user: UUID, tmp_path: Path) -> None:
    live(stack, user)
    path = tmp_path / "user.ndjson"
    printed = maas(stack, "export", str(user), "--out", str(path)).stderr
    assert "4 logs" in printed and "1 conversations, 4 messages, 2 attachments, 1 actions, 2 runs exported" in printed
    before = path.read_text().splitlines()
    maas(stack, "erase", str(user), "--yes")
    assert "8 conversations, messages, facts and images" in maas(stack, "import", str(path)).stdout
    again = maas(stack, "export", str(user)).stdout.splitlines()
    kept = [line for line in before[1:] if json.loads(line)["type"] in RESTORED]
    assert again[1:] == kept


def line(type_: str, **fields: Any) -> dict[str, Any]:
    return {"type": type_, "id": str(uuid4()), "created_at": "2024-01-01T00:00:00Z"} | fields


def image(content: bytes, **fields: Any) -> dict[str, Any]:
    return line("attachment", run_id=None, kind="upload", content=base64.b64encode(content).decode()) | fields


CHAT = line("conversation", assistant="mentor", mode="auto", title=None)
SAID = line("message", conversation_id=CHAT["id"], run_id=None, role="user", content="x")
NOTE = line("note", run_id=str(uuid4()), content="x")


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ([SAID], "do not belong together"),
        ([CHAT | {"mode": "fast"}], "mode"),
        ([CHAT, SAID | {"role": "root"}], "role"),
        ([NOTE | {"content": ""}], "content"),
        ([line("note", run_id=str(uuid4()), content=f"n{n}") for n in range(201)], "more than 200"),
        ([image(b"<script>")], "not a JPEG, PNG or WebP"),
        ([image(b"")], "is empty"),
        ([image(picture(), kind="stolen")], "kind"),
        ([image(b"") | {"content": "§"}], "content"),
        ([image(picture(), kind="generated")], "attachments"),
        ([line("dream")], "type must be one of"),
    ],
)
def test_a_bad_line_changes_nothing(stack: Stack, user: UUID, lines: list[dict[str, Any]], word: str) -> None:
    header = {"maas": "export", "version": 1, "user_id": str(user)}
    reply = post(stack, user, header, *lines)
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "bad_import"), reply.text
    assert word in reply.json()["error"]["message"]
    assert len(export(stack, user)) == 1


def test_nobody_writes_into_the_dialogue_of_another(stack: Stack, user: UUID) -> None:
    """Nor takes a chat of somebody's messenger for their own."""
    theirs = live(stack, uuid4())
    header = {"maas": "export", "version": 1, "user_id": str(user)}
    reply = post(stack, user, header, SAID | {"conversation_id": str(theirs)})
    assert "do not belong together" in reply.json()["error"]["message"]
    assert len(shown(stack, theirs)) == 4
    assert post(stack, user, header, CHAT | {"id": str(theirs)}, SAID | {"conversation_id": str(theirs)}).is_success
    assert len(shown(stack, theirs)) == 4
    assert all(line["id"] != str(theirs) for line in of(export(stack, user), "conversation", "message"))
    mine = CHAT | {"id": str(uuid4()), "telegram_chat_id": "77", "ad_account_id": "act_1"}
    assert post(stack, user, header, mine).status_code == 202
    select = "select distinct telegram_chat_id, ad_account_id from chat_conversations where user_id = %s"
    (row,) = stack.rows(select, user)
    assert set(row.values()) == {None}


def test_the_type_of_an_imported_image_comes_from_its_bytes(stack: Stack, user: UUID) -> None:
    header = {"maas": "export", "version": 1, "user_id": str(user)}
    lied = image(picture("JPEG", exif=exif(6)), media_type="text/html", width=1, height=1)
    assert post(stack, user, header, lied).status_code == 202
    (row,) = stack.rows("select media_type, width, height, content from attachments where user_id = %s", user)
    assert (row["media_type"], row["width"], row["height"]) == ("image/jpeg", 20, 40)
    assert MAKER.encode() not in row["content"]


def test_a_note_that_is_there_is_not_doubled(stack: Stack, user: UUID) -> None:
    stack.wait_archived(stack.ask(user, "remember: my boat is called Zephyr"))
    header = {"maas": "export", "version": 1, "user_id": str(uuid4())}
    note = line("note", run_id=str(uuid4()), content="my boat is called Zephyr")
    assert post(stack, user, header, note).json()["others"] == 0
    assert [one["statement"] for one in of(export(stack, user), "fact")] == [note["content"]]


def test_the_largest_image_comes_back(stack: Stack, user: UUID, tmp_path: Path) -> None:
    from PIL import Image

    large = encode(Image.effect_noise((3600, 2900), 200), "PNG", compress_level=0)
    assert 9_000_000 < len(large) < 10 * 1024 * 1024 + 500_000
    stack.rows("select maas_store_attachment(%s, null, 'image/png', 3600, 2900, %s)", user, large)
    path = tmp_path / "large.ndjson"
    maas(stack, "export", str(user), "--out", str(path))
    maas(stack, "erase", str(user), "--yes")
    maas(stack, "import", str(path), "--user", str(user))
    (row,) = stack.rows("select content from attachments where user_id = %s", user)
    assert bytes(row["content"]) == large
