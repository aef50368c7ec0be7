"""Exports that other products read: by the letter of their formats, and nothing of ours is lost in them."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.memory.transfer.export import write_export
from maas.memory.transfer.formats import exported_user
from maas.memory.transfer.import_ import import_file
from maas.memory.transfer.interchange import OURS, ExportFormat, convert, unwrap
from shared.db import Database
from shared.errors import MaasError
from tests.notes import ADD_NOTE
from tests.pictures import picture

Connection = psycopg.Connection[DictRow]
AT = "2026-04-01T09:30:00+00:00"
LONG = 'Zürich «ёж» 🤖\u2028\x7f \\ " \t' * 5000
CHUNK = {"id", "content", "content_hash", "memory_type", "created_at", "is_pinned", "tags"}
MEMORY_TYPES = {"fact", "preference", "decision", "identity", "pitfall", "procedure", "episodic", "goal"}
BOTH = pytest.mark.parametrize("form", [ExportFormat.AIMEM, ExportFormat.MEMORYWIRE])


@pytest.fixture
async def user(db: Database, connection: Connection) -> UUID:
    """With two messages, a fact, one that is over, a note and an image."""
    user, run = uuid4(), uuid4()
    messages = [
        {"role": "user", "content": "I like tea.", "at": AT, "speaker": "Ann", "external_id": "1"},
        {"role": "assistant", "content": LONG, "at": AT, "external_id": "2"},
    ]
    file = BytesIO("\n".join(json.dumps(one) for one in messages).encode())
    await import_file(db, user, file, "messages", "test")
    for statement, until in (("Ann likes tea.", None), ("Ann lived in Rome.", "2020-01-01")):
        connection.execute(
            """insert into facts (
                 user_id, statement, subject, attribute, kind, said_by, said_at, known_at, true_until,
                 raw_log_ids, origin)
               select user_id, %s, 'user', 'likes', 'preference', 'user', occurred_at, known_at, %s, array[id], 'rule'
               from raw_logs where user_id = %s and message_type = 'user_query'""",
            (statement, until, user),
        )
    connection.execute(ADD_NOTE, (user, "No sugar", run))
    connection.execute("select maas_store_attachment(%s, null, 'image/png', 40, 20, %s)", (user, picture("PNG")))
    return user


async def exported(db: Database, user: UUID, form: ExportFormat) -> bytes:
    out = BytesIO()
    await write_export(db, user, out, "test", form=form)
    return out.getvalue()


def without_time(export: bytes) -> bytes:
    return re.sub(rb'"exported_at" ?: ?"[^"]+"', b"", export)


def types(export: bytes) -> list[str]:
    """Those of all lines but the header and runs: what is imported is archived by one."""
    return [kind for line in export.splitlines()[1:] if (kind := json.loads(line)["type"]) != "run"]


async def test_a_bundle_of_aimem(db: Database, user: UUID) -> None:
    """By draft-vu-aimem-bundle-00: its envelope, its records, and the checksum of RFC 8785."""
    bundle = json.loads(await exported(db, user, ExportFormat.AIMEM))
    envelope = {name: bundle[name] for name in ("format", "version", "producer", "tenant_id", "scope")}
    assert envelope == {
        "format": "aimem-bundle",
        "version": "1",
        "producer": "maas",
        "tenant_id": str(user),
        "scope": "FULL",
    }
    assert bundle["edges"] == bundle["entities"] == bundle["chunk_entities"] == []
    assert bundle["exported_at"].endswith("Z") and datetime.fromisoformat(bundle["exported_at"])
    body = {name: value for name, value in bundle.items() if name != "checksum"}
    canonical = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    assert bundle["checksum"] == f"sha256:{hashlib.sha256(canonical).hexdigest()}"
    chunks = bundle["chunks"]
    assert len({chunk["id"] for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert chunk.keys() == CHUNK and chunk["memory_type"] in MEMORY_TYPES
        assert re.fullmatch(r"urn:aimem:maas:[\x21-\x39\x3b-\x7e]{1,256}", chunk["id"])
        assert 0 < len(chunk["content"]) <= 65_536
        assert chunk["content_hash"] == f"sha256:{hashlib.sha256(chunk['content'].encode()).hexdigest()}"
        assert chunk["created_at"].endswith("Z") and datetime.fromisoformat(chunk["created_at"])
        assert all(1 <= len(tag) <= 64 for tag in chunk["tags"])
    said = [chunk["content"] for chunk in chunks if "message" in chunk["tags"]]
    assert said[0] == "I like tea." and "".join(said[1:]) == LONG and len(said) == 3
    others = [(one["content"], one["memory_type"], one["is_pinned"]) for one in chunks if "message" not in one["tags"]]
    assert others == [("Ann likes tea.", "preference", False), ("No sugar", "fact", True)]


async def test_records_of_memorywire(db: Database, user: UUID) -> None:
    """By its JSON Schemas of version 0: of a stored memory, episodic and semantic."""
    lines = [json.loads(line) for line in (await exported(db, user, ExportFormat.MEMORYWIRE)).splitlines()]
    records = [line for line in lines if OURS not in line]
    for record in records:
        assert {name: type(record[name]) for name in ("id", "agent_id", "content", "created_at")} == {
            "id": str,
            "agent_id": str,
            "content": str,
            "created_at": int,
        }
        assert record["user_id"] == str(user) and record["type"] in ("episodic", "semantic") and record["content"]
    tea, answer, likes, note = records
    assert (tea["type"], tea["participants"], tea["created_at"]) == ("episodic", ["Ann"], 1_775_035_800_000)
    assert answer["content"] == LONG and tea["event_time"] == tea["created_at"]
    assert [(one["content"], one["type"]) for one in (likes, note)] == [
        ("Ann likes tea.", "semantic"),
        ("No sugar", "semantic"),
    ]


@BOTH
async def test_nothing_of_ours_is_lost(db: Database, connection: Connection, user: UUID, form: ExportFormat) -> None:
    """Our export stands in it byte for byte, and an import restores it, for another user, too, and once."""
    ours, file, inner = await exported(db, user, ExportFormat.MAAS), BytesIO(await exported(db, user, form)), BytesIO()
    assert unwrap(file, "file", inner) and without_time(inner.getvalue()) == without_time(ours)
    assert exported_user(file, "file") == user
    other = uuid4()
    for added in (2, 0):
        assert (await import_file(db, other, file, "file", "test")).added == added
    assert types(await exported(db, other, ExportFormat.MAAS)) == types(ours)
    connection.execute("select maas_erase(%s)", (user,))
    await import_file(db, user, file, "file", "test", is_operator=True)
    texts = connection.execute("select content from raw_logs where user_id = %s order by seq", (user,)).fetchall()
    assert [row["content"] for row in texts] == ["I like tea.", LONG]


@BOTH
@pytest.mark.parametrize("change", ["cut", "line", "text", "deep"])
async def test_a_damaged_file_is_refused(db: Database, user: UUID, form: ExportFormat, change: str) -> None:
    """Whole, by one error."""
    content = await exported(db, user, form)
    if change == "cut":
        content = content[: content.index(b"attachment")]
    elif change == "line":
        content = content.replace(b'\\"type\\": \\"fact\\"', b'\\"type\\": \\"vote\\"', 1)
    elif change == "text":
        content = re.sub(rb'(?m)^(\{"x-maas":|")(".*log.*"|.*log.*")', rb"\g<1>7", content, count=1)
    else:
        content = content.replace(b'\\"type\\": \\"fact\\"', b'\\"type\\": ' + b"[" * 2000, 1)
    other = uuid4()
    with pytest.raises(MaasError) as caught:
        await import_file(db, other, BytesIO(content), "file", "test")
    assert caught.value.code == "bad_import"
    assert await _count(db, other) == 0


async def _count(db: Database, user: UUID) -> int:
    return len((await exported(db, user, ExportFormat.MAAS)).splitlines()) - 1


def test_another_file_is_none_of_these() -> None:
    for content in (b"", b'{"role": "user", "content": "x-maas"}\n', b'[{"role": "user", "content": "a"}]'):
        out = BytesIO()
        assert not unwrap(BytesIO(content), "file", out) and out.getvalue() == b""


def test_an_empty_export() -> None:
    header: dict[str, Any] = {"maas": "export", "version": 1, "user_id": str(uuid4()), "exported_at": AT}
    out = BytesIO()
    convert(BytesIO(json.dumps(header).encode() + b"\n"), ExportFormat.AIMEM, out)
    assert json.loads(out.getvalue())["chunks"] == []
