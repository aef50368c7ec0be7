"""The two texts between Analyzer and Responder: the draft of four elements, the payload of three sections."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared import tokens
from shared.errors import MaasError
from shared.text import defuse, escape, unescape

_DRAFT = re.compile(
    r"<draft>\n<query>\n(?P<query>.*?)\n</query>\n<history>\n<recent>\n(?P<recent>.*?)\n</recent>\n"
    r"<focus>\n(?P<focus>.*?)\n</focus>\n</history>\n"
    r'<role version="(?P<role_version>\d+)">\n(?P<role>.*?)\n</role>\n'
    r'<instruction version="(?P<instruction_version>\d+)">\n(?P<instruction>.*?)\n</instruction>\n</draft>',
    re.DOTALL,
)
_PAYLOAD = re.compile(
    r"<system>\n(?P<system>.*?)\n</system>\n<memory>\n(?P<memory>.*?)\n</memory>\n<query>\n(?P<query>.*?)\n</query>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything that an answer may need. `recent` and `focus` are escaped lines; the rest is plain text.

    The versions are those of the prompts FinalResponder and Assembler that the draft was built from.
    """

    query: str
    recent: tuple[str, ...]
    focus: tuple[str, ...]
    role: str
    instruction: str
    role_version: int = 0
    instruction_version: int = 0

    def render(self) -> str:
        return (
            f"<draft>\n<query>\n{escape(self.query)}\n</query>\n<history>\n<recent>\n{_join(self.recent)}\n</recent>\n"
            f"<focus>\n{_join(self.focus)}\n</focus>\n</history>\n"
            f'<role version="{self.role_version}">\n{escape(self.role)}\n</role>\n'
            f'<instruction version="{self.instruction_version}">\n{escape(self.instruction)}\n</instruction>\n</draft>'
        )

    @classmethod
    def parse(cls, text: str) -> Draft:
        """Raises MaasError('bad_draft')."""
        match = _DRAFT.fullmatch(text.strip())
        if match is None:
            raise MaasError(
                "bad_draft", "draft_context does not hold the four elements query, history, role, instruction"
            )
        return cls(
            unescape(match["query"]), _lines(match["recent"]), _lines(match["focus"]), unescape(match["role"]),
            unescape(match["instruction"]), int(match["role_version"]), int(match["instruction_version"]),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Payload:
    """What the Responder gets. `memory` is escaped, the rest is plain text."""

    system: str
    memory: str
    query: str

    def render(self) -> str:
        return (
            f"<system>\n{escape(self.system)}\n</system>\n<memory>\n{defuse(self.memory)}\n</memory>\n"
            f"<query>\n{escape(self.query)}\n</query>"
        )

    @classmethod
    def parse(cls, text: str) -> Payload:
        """Raises MaasError('bad_payload')."""
        match = _PAYLOAD.fullmatch(text.strip())
        if match is None:
            raise MaasError(
                "bad_payload", "final_context_payload does not hold <system>, <memory> and <query> in this order"
            )
        return cls(unescape(match["system"]), match["memory"], unescape(match["query"]))

    def briefing(self) -> str:
        """The role, and what is remembered if there is anything: what the Responder is told before the query."""
        return f"{self.system}\n\n<memory>\n{self.memory}\n</memory>" if self.memory.strip() else self.system

    def room(self, limit: int) -> int:
        """Tokens that are left for memory. Raises MaasError('query_too_long') when there are none."""
        room = limit - tokens.count(Payload(self.system, "", self.query).render()) - 8
        if room < 0:
            raise MaasError(
                "query_too_long", f"the query does not fit into {limit} tokens together with the role text; shorten it"
            )
        return room


def _join(lines: tuple[str, ...]) -> str:
    return "\n".join(lines)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.split("\n") if line)
