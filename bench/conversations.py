"""Conversations with questions whose evidence is known, read from a folder of JSON files."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ValidationError

from shared.errors import MaasError, problems_of
from shared.text import is_blank

Time = Annotated[datetime, AfterValidator(lambda at: at if at.tzinfo else at.replace(tzinfo=UTC))]


class Turn(BaseModel):
    id: str
    speaker: str | None = None
    role: Literal["user", "assistant"]
    at: Time
    text: str


class Session(BaseModel):
    id: str
    turns: list[Turn]


class Question(BaseModel):
    """`asked_at` is when it is asked: later turns are unknown then. `evidence` names the turns that answer it.

    `answer` is the right one, where the file has it.
    """

    id: str
    text: str
    asked_at: Time
    category: str = ""
    evidence: list[str] = []
    evidence_sessions: list[str] = []
    answer: str | None = None

    @property
    def is_adversarial(self) -> bool:
        """Whether it asks for what was never said; its evidence is what it was made of."""
        return self.category == "adversarial"


class Conversation(BaseModel):
    """One file. What stands before the first hyphen of its name is its family."""

    name: str
    sessions: list[Session]
    questions: list[Question]

    @property
    def family(self) -> str:
        return self.name.partition("-")[0]

    @property
    def length(self) -> int:
        """How many turns there are."""
        return sum(len(session.turns) for session in self.sessions)

    @property
    def homes(self) -> dict[str, str]:
        """The session of each turn."""
        return {turn.id: session.id for session in self.sessions for turn in session.turns}

    def write_history(self, path: Path) -> None:
        """Write the turns as the NDJSON that `maas import` reads."""
        with path.open("w", encoding="utf-8") as file:
            for session in self.sessions:
                for turn in session.turns:
                    line = {
                        "role": turn.role,
                        "content": turn.text,
                        "at": turn.at.isoformat(),
                        "speaker": turn.speaker,
                        "conversation": session.id,
                        "external_id": turn.id,
                    }
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_folder(folder: Path) -> list[Conversation]:
    """Every conversation of a folder, by file name. Raises MaasError('bad_data') that names the file and the place."""
    if not folder.is_dir():
        raise MaasError("bad_data", f"--data {folder} is no folder; name one that holds conversations as *.json")
    found = {path: read_conversation(path) for path in sorted(folder.glob("*.json"))}
    if not found:
        raise MaasError("bad_data", f"--data {folder} holds no *.json; name a folder of conversations")
    names: dict[str, Path] = {}
    for path, conversation in found.items():
        if conversation.name in names:
            raise MaasError("bad_data", f"{path} and {names[conversation.name]} are both named {conversation.name!r}")
        names[conversation.name] = path
    return list(found.values())


def read_conversation(path: Path) -> Conversation:
    """One conversation, without turns that hold no text. Raises MaasError('bad_data')."""
    try:
        conversation = Conversation.model_validate_json(path.read_bytes())
    except OSError as error:
        raise MaasError("bad_data", f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = problems_of(error)[0]
        where = first.field or "the file"
        raise MaasError("bad_data", f"{path} is not a conversation: {where}: {first.message}") from error
    for session in conversation.sessions:
        session.turns = [turn for turn in session.turns if not is_blank(turn.text)]  # a picture, say; import refuses it
    ids = [turn.id for session in conversation.sessions for turn in session.turns]
    for what, values in (("turns", ids), ("questions", [question.id for question in conversation.questions])):
        value, count = next(iter(Counter(values).most_common(1)), ("", 0))
        if count > 1:
            raise MaasError("bad_data", f"{path}: {count} {what} have the id {value!r}")
    return conversation


def shorten_for_quick(conversations: list[Conversation], questions: int = 40) -> list[Conversation]:
    """The smallest conversation of each family, with some of its questions."""
    smallest: dict[str, Conversation] = {}
    for conversation in sorted(conversations, key=lambda one: one.length):
        smallest.setdefault(conversation.family, conversation)
    return [
        one.model_copy(update={"questions": one.questions[:: max(1, len(one.questions) // questions)][:questions]})
        for one in smallest.values()
    ]
