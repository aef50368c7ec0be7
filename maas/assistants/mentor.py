"""The default assistant: it remembers and answers, and has no tools."""

from __future__ import annotations

from maas.agents.definition import Definition

ASSISTANT = Definition(
    name="mentor",
    role_prompt="Mentor",
    title="Mentor",
    description="Remembers what you say and answers from it.",
)
