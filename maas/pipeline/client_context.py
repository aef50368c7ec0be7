"""What a client sends along with a question: its system text, and messages from before that MaaS does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self
from uuid import UUID

from shared.db import Database
from shared.text import escape, one_line

Role = Literal["user", "assistant", "tool"]
NEWEST_TURNS = 200
_BLANKS = " \t\n\r"


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A message as the client says that it was said."""

    role: Role
    content: str

    def line(self) -> str:
        """As one escaped line of memory."""
        return f"- [earlier] {self.role}: {escape(one_line(self.content))}"


@dataclass(frozen=True, slots=True)
class ClientContext:
    """Stored with the run and gone with it; never logged as words of the user. `messages` are in order."""

    system: str = ""
    messages: tuple[ClientMessage, ...] = ()

    def to_json(self) -> dict[str, Any] | None:
        """As it is stored; None when there is nothing."""
        return asdict(self) | {"messages": [asdict(one) for one in self.messages]} if self != NOTHING else None

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> Self:
        """Undo `to_json`."""
        if stored is None:
            return cls()
        return cls(stored["system"], tuple(ClientMessage(**one) for one in stored["messages"]))


NOTHING = ClientContext()


async def read_client_context(db: Database, run_id: UUID, user_id: UUID) -> ClientContext:
    """That of a run, without messages that the user's newest turns hold: those are shown and recalled as ours."""
    context = ClientContext.from_json(await db.value("client_context", run_id))
    if not context.messages:
        return context
    texts = [one.content.strip(_BLANKS) for one in context.messages]
    rows = await db.rows("turns_of_words", user_id, run_id, texts, NEWEST_TURNS)
    known = {row["words"] for row in rows}
    return ClientContext(context.system, _unknown(context.messages, [text in known for text in texts]))


def _unknown(messages: Sequence[ClientMessage], known: Sequence[bool]) -> tuple[ClientMessage, ...]:
    """Those that are not ours. "Yes" was said before in many dialogues: a neighbour must be known, too."""
    beside = [False, *known, False]
    return tuple(
        one for n, one in enumerate(messages)
        if not (known[n] and (len(messages) == 1 or beside[n] or beside[n + 2]))
    )  # fmt: skip
