"""Files that hold other files: the archives in which products deliver exports, and the database of Open WebUI.

For the command line only: a server takes neither from strangers.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from maas.memory.transfer.ndjson import import_error
from maas.memory.transfer.palace import is_room, write_room_lines
from shared.query import NAME

HEAD_BYTES = 1024  # of a file, by which it is known
MAX_UNPACKED_BYTES = 4 * 1024**3  # of one archive
MEMBER = re.compile(
    r"(?:.*/)?(conversations(?:-\d+)?\.json|memories(?:/[^/]+)?\.json|My ?Activity\.json|[^/]+\.af|"
    r"documents/\d{6}\.json|[^/]+/[^/]+\.jsonl|[^/]+/[^/]+\.md)",
    re.IGNORECASE,
)
MANIFEST = "manifest.json"  # of an archive of Hindsight: how many of what else there is
_PARTS = NAME.split(Path(__file__).with_name("open_webui.sql").read_text(encoding="utf-8"))
STATEMENTS = dict(zip(_PARTS[1::2], _PARTS[2::2], strict=True))


def unpack(path: Path, owner: str | None) -> Iterator[tuple[BinaryIO, str]]:
    """Yield the files to import and their names: those in an archive, a database as one of lines, or the file itself.

    `owner`: whose chats are taken of a database, an id or an email. Raises MaasError('bad_import').
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        file.seek(0)
        if head.startswith(b"PK\x03\x04"):
            yield from _members(file, path.name)
        elif head.startswith(b"SQLite format 3\0"):
            with TemporaryFile() as lines:
                _write_lines(path, owner, lines)
                lines.seek(0)
                yield lines, path.name
        elif is_room(head):
            yield from _room(file, path.name)
        else:
            yield file, path.name


def _is_known(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    """Whether a Markdown file is a room of MemPalace; other archives have Markdown, too."""
    if not member.filename.lower().endswith(".md"):
        return True
    with archive.open(member) as file:
        return is_room(file.read(HEAD_BYTES))


def _room(file: BinaryIO, name: str) -> Iterator[tuple[BinaryIO, str]]:
    with TemporaryFile() as lines:
        write_room_lines(file, name, lines)
        lines.seek(0)
        yield lines, name


def _members(file: BinaryIO, name: str) -> Iterator[tuple[BinaryIO, str]]:
    try:
        with zipfile.ZipFile(file) as archive:
            files = sorted(archive.infolist(), key=lambda one: one.filename)
            members = [one for one in files if MEMBER.fullmatch(one.filename) and _is_known(archive, one)]
            if not members:
                known = "conversations.json, MyActivity.json, agent file, documents/000000.json, WING/ROOM.jsonl or .md"
                raise import_error(name, f"the archive holds no {known}")
            if members[0].filename.startswith("documents/"):
                members += [one for one in files if one.filename == MANIFEST]
            if sum(one.file_size for one in members) > MAX_UNPACKED_BYTES:
                raise import_error(name, f"is larger than {MAX_UNPACKED_BYTES // 1024**3} GiB when unpacked")
            for one in members:
                with archive.open(one) as member:
                    where = f"{name}/{one.filename}"
                    if one.filename.lower().endswith(".md"):
                        yield from _room(member, where)  # type: ignore[arg-type]
                    else:
                        yield member, where  # type: ignore[misc]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise import_error(name, f"is no readable archive: {error}") from error


def _write_lines(path: Path, owner: str | None, lines: BinaryIO) -> None:
    try:
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            user = _owner(database, path.name, owner)
            for query in (STATEMENTS["chats"], STATEMENTS["memories"]):
                cursor = database.execute(query, (user,))
                names = [column[0] for column in cursor.description]
                for values in cursor:
                    row = dict(zip(names, values, strict=True))
                    if isinstance(row.get("chat"), str):
                        row["chat"] = json.loads(row["chat"])
                    lines.write(json.dumps(row, ensure_ascii=False).encode(errors="replace") + b"\n")
        finally:
            database.close()
    except (sqlite3.Error, ValueError) as error:
        raise import_error(path.name, f"is no database of Open WebUI that can be read: {error}") from error


def _owner(database: sqlite3.Connection, name: str, owner: str | None) -> str:
    """The id of the one whose chats are taken. Raises MaasError('bad_import') where it is not clear."""
    users = database.execute(STATEMENTS["owners"]).fetchall()
    chosen = [user for user, email in users if owner in (None, user, email)]
    if len(chosen) == 1:
        return str(chosen[0])
    known = ", ".join(sorted(str(email or user) for user, email in users)) or "nobody"
    raise import_error(name, f"it has chats of {known}: choose one of them with --of")
