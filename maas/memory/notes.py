"""Notes: what a user explicitly asked to remember, and the commands for it, which need no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from maas import queries
from shared import tokens
from shared.db import Database
from shared.text import clean, escape, is_blank, one_line

MAX_NOTE_CHARS = 1000
MAX_NOTES_TOKENS = 1000
NOTES_HEADING = "Notes of the user:"
_ADD_OR_DROP = re.compile(r"\s*(запомни|забудь|remember|forget)\s*:(.*)", re.IGNORECASE | re.DOTALL)
_LIST_COMMAND = re.compile(r"\s*+(заметки|notes)\s*+[.!?]*+\s*+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NoteCommand:
    """A command about notes; `content` is one line, and empty for a list."""

    verb: Literal["remember", "forget", "list"]
    content: str
    language: Literal["ru", "en"]


@dataclass(frozen=True, slots=True)
class NotePhrases:
    """Answers to commands in one language; a verdict of the database is the name of its phrase."""

    noted: str
    known: str
    full: str
    off: str
    forgotten: str
    unknown: str
    empty: str
    too_long: str
    all: str
    none: str


PHRASES = {
    "ru": NotePhrases(
        noted="Запомнил: {content}",
        known="Это уже есть в заметках: {content}",
        full="Заметок уже слишком много. Сначала удалите ненужную: «забудь: …».",
        off="Не записал: эта беседа не запоминается.",
        forgotten="Забыл: {content}",
        unknown="Такой заметки нет, ничего не удалено. Все заметки покажет команда «заметки».",
        empty="После двоеточия нужен текст, например: «запомни: я не ем мясо».",
        too_long=f"Заметка длиннее {MAX_NOTE_CHARS} знаков; сократите её, пожалуйста.",
        all="Ваши заметки:",
        none="Заметок пока нет. Добавить: «запомни: …».",
    ),
    "en": NotePhrases(
        noted="Noted: {content}",
        known="This is already in your notes: {content}",
        full="There are too many notes. Delete one first: “forget: …”.",
        off="Not noted: what is said here is not remembered.",
        forgotten="Forgotten: {content}",
        unknown="There is no such note, nothing was deleted. The command “notes” shows them all.",
        empty="Put some text after the colon, for example: “remember: I do not eat meat”.",
        too_long=f"The note is longer than {MAX_NOTE_CHARS} characters; please shorten it.",
        all="Your notes:",
        none="There are no notes yet. To add one: “remember: …”.",
    ),
}


@dataclass(frozen=True, slots=True)
class Note:
    """One note; `log_id` is the message with the command, None once that is deleted.

    `replaced` is the day when that message was corrected.
    """

    id: UUID
    content: str
    log_id: UUID | None
    replaced: str = ""

    @property
    def line(self) -> str:
        """The note as one escaped line."""
        return f"- Note{f', replaced {self.replaced}' if self.replaced else ''}: {escape(self.content)}"


def parse_note_command(query: str) -> NoteCommand | None:
    """Parse a query as a command about notes; return None for any other query."""
    if match := _LIST_COMMAND.fullmatch(query):
        return NoteCommand("list", "", "ru" if match[1].lower() == "заметки" else "en")
    if match := _ADD_OR_DROP.fullmatch(query):
        keyword, content = match[1].lower(), one_line(clean(match[2]))
        return NoteCommand(
            "remember" if keyword in ("запомни", "remember") else "forget",
            "" if is_blank(content) else content,
            "ru" if keyword in ("запомни", "забудь") else "en",
        )
    return None


async def run_note_command(db: Database, run_id: UUID, user_id: UUID, command: NoteCommand) -> str:
    """Run a command for the user of a run and return the answer; a repetition for the same run answers the same."""
    phrases = PHRASES[command.language]
    if command.verb == "list":
        lines = [f"- {note.content}" for note in await read_notes(db, user_id)]
        return "\n".join([phrases.all, *lines]) if lines else phrases.none
    if not command.content:
        return phrases.empty
    if command.verb == "remember" and len(command.content) > MAX_NOTE_CHARS:
        return phrases.too_long
    query = queries.add_note if command.verb == "remember" else queries.drop_note
    verdict = await db.value(query, run_id, command.content)
    phrase: str = getattr(phrases, verdict)
    return phrase.replace("{content}", command.content)


async def read_notes(db: Database, user_id: UUID) -> list[Note]:
    """Return the notes of a user, oldest first."""
    return [Note(row["id"], row["content"], row["log_id"]) for row in await db.rows(queries.notes, user_id)]


def newest_notes(notes: Sequence[Note]) -> list[Note]:
    """Return the notes whose lines fit, oldest first; the oldest are left out when not all fit."""
    fitting: list[Note] = []
    room = MAX_NOTES_TOKENS
    for note in reversed(notes):
        room -= tokens.count(note.line)
        if room < 0:
            break
        fitting.append(note)
    return fitting[::-1]
