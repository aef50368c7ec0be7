"""It names a model whose key may be missing."""

from __future__ import annotations

from maas.agents.definition import Definition

ASSISTANT = Definition(name="genius", role_prompt="Mentor", model="openai:gpt-5.2")
