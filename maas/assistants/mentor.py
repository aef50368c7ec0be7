"""The assistant that a request gets when it names none: it remembers and answers, and acts on nothing."""

from __future__ import annotations

from maas.assistants.definition import Definition

ASSISTANT = Definition(name="mentor", role_prompt="Mentor")
