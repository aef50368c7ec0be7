"""What a client sends with a request beside the question: a system text and earlier messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self
from uuid import UUID

from maas import queries
from shared.db import Database
from shared.text import escape, one_line

Role = Literal["user", "assistant", "tool"]
KNOWN_MESSAGES = 200  # messages of the user that a client's context is compared with
_BLANKS = " \t\n\r"


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A message of a dialogue that only the client has."""

    role: Role
    content: str

    def line(self) -> str:
        """The message as one escaped line of memory."""
        return f"- [earlier] {self.role}: {escape(one_line(self.content))}"


@dataclass(frozen=True, slots=True)
class ClientContext:
    """What a client sends with a request: a system text, earlier messages in order, and the format of the answer.

    `output` is None for text, else {"schema": a JSON schema or None for any object, "strict"}. It is stored with the
    run and erased with it, and never logged as the user's own messages.
    """

    system: str = ""
    messages: tuple[ClientMessage, ...] = ()
    output: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any] | None:
        """The stored form; None for an empty context."""
        if self == NO_CONTEXT:
            return None
        stored = {"system": self.system, "messages": [asdict(one) for one in self.messages]}
        return stored if self.output is None else stored | {"output": dict(self.output)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> Self:
        """Undo `to_json`."""
        if stored is None:
            return cls()
        messages = tuple(ClientMessage(**one) for one in stored["messages"])
        return cls(stored["system"], messages, stored.get("output"))


NO_CONTEXT = ClientContext()


async def read_client_context(db: Database, run_id: UUID, user_id: UUID) -> ClientContext:
    """The context of a run, without messages that are in the user's newest dialogues: memory shows those already."""
    return await without_known_messages(db, run_id, user_id, await db.value(queries.client_context, run_id))


async def without_known_messages(
    db: Database, run_id: UUID, user_id: UUID, stored: Mapping[str, Any] | None
) -> ClientContext:
    """The context in the row of a run, without messages that are in the user's newest dialogues."""
    context = ClientContext.from_json(stored)
    if not context.messages:
        return context
    texts = [one.content.strip(_BLANKS) for one in context.messages]
    rows = await db.rows(queries.turns_of_words, user_id, run_id, texts, KNOWN_MESSAGES)
    known = {row["words"] for row in rows}
    return replace(context, messages=_unknown(context.messages, [text in known for text in texts]))


def _unknown(messages: Sequence[ClientMessage], known: Sequence[bool]) -> tuple[ClientMessage, ...]:
    """The messages that are not in memory. A known text counts only next to another: "Yes" is in many dialogues."""
    padded = [False, *known, False]
    return tuple(
        message
        for n, message in enumerate(messages)
        if not (known[n] and (len(messages) == 1 or padded[n] or padded[n + 2]))
    )
