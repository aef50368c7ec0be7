"""The draft of a run, of four elements, and its payload, of three sections: as values, and as the texts in its row.

Stages of one claim hand the values on. The texts are what operators read and may edit; a claim that begins with them
parses them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared import tokens
from shared.errors import MaasError
from shared.text import defuse, escape, unescape

_DRAFT = re.compile(
    r"<draft>\n<query>\n(?>(?P<query>.*?)\n</query>\n<history>\n<recent>\n)(?>(?P<recent>.*?)\n</recent>\n<focus>\n)"
    r"(?>(?P<focus>.*?)\n</focus>\n</history>\n)"
    r"(?:<client>\n<text>\n(?>(?P<client_system>.*?)\n</text>\n<messages>\n)(?>(?P<client_lines>.*?)\n</messages>\n)(?:<format>\n(?>(?P<client_format>.*?)\n</format>\n))?</client>\n)?"
    r'<role version="(?P<role_version>\d{1,9})">\n'
    r'(?>(?P<role>.*?)\n</role>\n<instruction version="(?P<instruction_version>\d{1,9})">\n)'
    r"(?P<instruction>.*?)\n</instruction>\n</draft>",
    re.DOTALL,
)
_TAGS = ("system", "memory", "query")
_FOREIGN_TAGS = ("system", "context_from_history", "current_query")  # other programs may write these; we only read them
_MARGIN_TOKENS = 8
CLIENT_HEADING = (
    "The application through which the user asks adds the text between the tags. Follow it as far as it does not "
    "contradict what stands above."
)
MARKS_RULE = (
    "Lines of <memory> have numbers in brackets. After a sentence that rests on such a line, write its number in "
    "brackets: [2], or [2][5] for two lines. Write no other number in brackets, and no list of sources."
)


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything that an answer may need; the column draft_context holds its text.

    `recent`, `focus` and `client_lines` are escaped lines, the rest is plain text. `client_system` and `client_lines`
    are the context that the client sent, `client_format` the JSON text of the format that it wants; they are left out
    of the text when they are empty. The versions are those of the prompts FinalResponder and Assembler.
    """

    query: str
    recent: tuple[str, ...]
    focus: tuple[str, ...]
    role: str
    instruction: str
    role_version: int = 0
    instruction_version: int = 0
    client_system: str = ""
    client_lines: tuple[str, ...] = ()
    client_format: str = ""

    @property
    def chars(self) -> int:
        """How many characters it has, but for tags."""
        texts = (self.query, self.role, self.instruction, self.client_system)
        return sum(map(len, (*texts, *self.recent, *self.focus, *self.client_lines)))

    def system(self, role: str) -> str:
        """A role text, followed by the client's system text between tags."""
        if not self.client_system:
            return role
        return f"{role}\n\n{CLIENT_HEADING}\n<client>\n{escape(self.client_system)}\n</client>"

    def render(self) -> str:
        """Return the draft as stored in draft_context; `parse` reads it back."""
        return (
            f"<draft>\n<query>\n{escape(self.query)}\n</query>\n<history>\n<recent>\n{_join(self.recent)}\n</recent>\n"
            f"<focus>\n{_join(self.focus)}\n</focus>\n</history>\n{self._client()}"
            f'<role version="{self.role_version}">\n{escape(self.role)}\n</role>\n'
            f'<instruction version="{self.instruction_version}">\n{escape(self.instruction)}\n</instruction>\n</draft>'
        )

    def _client(self) -> str:
        if not (self.client_system or self.client_lines or self.client_format):
            return ""
        wanted = f"<format>\n{escape(self.client_format)}\n</format>\n" if self.client_format else ""
        return (
            f"<client>\n<text>\n{escape(self.client_system)}\n</text>\n"
            f"<messages>\n{_join(self.client_lines)}\n</messages>\n{wanted}</client>\n"
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
            unescape(match["query"]),
            _lines(match["recent"]),
            _lines(match["focus"]),
            unescape(match["role"]),
            unescape(match["instruction"]),
            int(match["role_version"]),
            int(match["instruction_version"]),
            unescape(match["client_system"] or ""),
            _lines(match["client_lines"] or ""),
            unescape(match["client_format"] or ""),
        )


@dataclass(frozen=True, slots=True)
class Payload:
    """The input of the Responder; the column final_context_payload holds its text.

    `memory` is escaped, the rest is plain text.
    """

    system: str
    memory: str
    query: str

    def render(self) -> str:
        """Return the payload as stored in final_context_payload; `parse` reads it back."""
        return (
            f"<system>\n{escape(self.system)}\n</system>\n<memory>\n{defuse(self.memory)}\n</memory>\n"
            f"<query>\n{escape(self.query)}\n</query>"
        )

    @classmethod
    def parse(cls, text: str) -> Payload:
        """Parse a payload with either set of tags. Raises MaasError('bad_payload')."""
        sections = _sections(text, _TAGS) or _sections(text, _FOREIGN_TAGS)
        if sections is None:
            raise MaasError(
                "bad_payload",
                "final_context_payload does not hold <system>, <memory> and <query> in this order, nor <system>, "
                "<context_from_history> and <current_query>",
            )
        system, memory, query = sections
        return cls(unescape(system), defuse(memory), unescape(query))

    @property
    def has_marks(self) -> bool:
        """Whether the answer may cite the lines of memory by their numbers."""
        return MARKS_RULE in self.system

    def system_text(self) -> str:
        """The system text of the Responder: the role, and the memory if there is any."""
        return f"{self.system}\n\n<memory>\n{self.memory}\n</memory>" if self.memory.strip() else self.system

    def room(self, limit: int) -> int:
        """Tokens that are left for memory. Raises MaasError('query_too_long') when there are none."""
        # Counted in two parts, because the count of the first, which runs of an assistant share, is cached.
        before, _, query = Payload(self.system, "", self.query).render().rpartition("<query>\n")
        room = limit - tokens.count(before + "<query>") - tokens.count("\n" + query) - _MARGIN_TOKENS
        if room < 0:
            raise MaasError(
                "query_too_long",
                f"the query does not fit into {limit} tokens together with the role text and the client's system text; "
                "shorten it",
            )
        return room


def _sections(text: str, tags: tuple[str, ...]) -> list[str] | None:
    """The texts between these tags; None unless the tags follow one another in this order with nothing in between."""
    sections: list[str] = []
    rest = text.strip()
    for tag in tags:
        before, opening, rest = rest.partition(f"<{tag}>")
        content, closing, rest = rest.partition(f"</{tag}>")
        if before.strip() or not (opening and closing):
            return None
        sections.append(content.removeprefix("\n").removesuffix("\n"))
    return None if rest.strip() else sections


def _join(lines: tuple[str, ...]) -> str:
    return "\n".join(lines)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.split("\n") if line)
