"""Notes: what a user asked to be remembered in so many words, and the commands for it, which need no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from shared import tokens
from shared.db import Database
from shared.text import clean, escape, is_blank, one_line

NOTE_CHARS = 1000
NOTES_TOKENS = 1000
_TOLD = re.compile(r"\s*(запомни|забудь|remember|forget)\s*:(.*)", re.IGNORECASE | re.DOTALL)
_ASKED = re.compile(r"\s*+(заметки|notes)\s*+[.!?]*+\s*+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Command:
    """What the user wants of the notes; `words` is one line, empty for a list."""

    verb: Literal["remember", "forget", "list"]
    words: str
    language: Literal["ru", "en"]


@dataclass(frozen=True, slots=True)
class Phrases:
    """What is said about notes; each verdict of the database has its phrase."""

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
    "ru": Phrases(
        noted="Запомнил: {words}",
        known="Это уже есть в заметках: {words}",
        full="Заметок уже слишком много. Сначала удалите ненужную: «забудь: …».",
        off="Не записал: эта беседа не запоминается.",
        forgotten="Забыл: {words}",
        unknown="Такой заметки нет, ничего не удалено. Все заметки покажет команда «заметки».",
        empty="После двоеточия нужен текст, например: «запомни: я не ем мясо».",
        too_long=f"Заметка длиннее {NOTE_CHARS} знаков; сократите её, пожалуйста.",
        all="Ваши заметки:",
        none="Заметок пока нет. Добавить: «запомни: …».",
    ),
    "en": Phrases(
        noted="Noted: {words}",
        known="This is in your notes already: {words}",
        full="There are too many notes. Delete one first: “forget: …”.",
        off="Not noted: what is said here is not remembered.",
        forgotten="Forgotten: {words}",
        unknown="There is no such note, nothing was deleted. The command “notes” shows them all.",
        empty="Put some text after the colon, for example: “remember: I do not eat meat”.",
        too_long=f"The note is longer than {NOTE_CHARS} characters; please shorten it.",
        all="Your notes:",
        none="There are no notes yet. To add one: “remember: …”.",
    ),
}


@dataclass(frozen=True, slots=True)
class Note:
    """One note; `log_id` is the turn that told it, None where that is gone."""

    id: UUID
    content: str
    log_id: UUID | None


def parse_command(query: str) -> Command | None:
    """The command that `query` is; None for everything else."""
    if asked := _ASKED.fullmatch(query):
        return Command("list", "", "ru" if asked[1].lower() == "заметки" else "en")
    if told := _TOLD.fullmatch(query):
        word, words = told[1].lower(), one_line(clean(told[2]))
        return Command(
            "remember" if word in ("запомни", "remember") else "forget",
            "" if is_blank(words) else words,
            "ru" if word in ("запомни", "забудь") else "en",
        )
    return None


async def obey(db: Database, run_id: UUID, user_id: UUID, command: Command) -> str:
    """Do it for the user of the run, and say so; done twice for one run it says the same."""
    phrases = PHRASES[command.language]
    if command.verb == "list":
        lines = [f"- {note.content}" for note in await read_notes(db, user_id)]
        return "\n".join([phrases.all, *lines]) if lines else phrases.none
    if not command.words:
        return phrases.empty
    if command.verb == "remember" and len(command.words) > NOTE_CHARS:
        return phrases.too_long
    verdict = await db.value("add_note" if command.verb == "remember" else "drop_note", run_id, command.words)
    said: str = getattr(phrases, verdict)
    return said.replace("{words}", command.words)


async def read_notes(db: Database, user_id: UUID) -> list[Note]:
    """The notes of a user, oldest first."""
    return [Note(row["id"], row["content"], row["log_id"]) for row in await db.rows("notes", user_id)]


def note_lines(notes: Sequence[Note], room: int = NOTES_TOKENS) -> list[str]:
    """Escaped lines under a heading, oldest first; the oldest are left out when they do not fit."""
    lines: list[str] = []
    for note in reversed(notes):
        line = f"- Note: {escape(note.content)}"
        room -= tokens.count(line)
        if room < 0:
            break
        lines.append(line)
    return ["Notes of the user:", *reversed(lines)] if lines else []
