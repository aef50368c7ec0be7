"""It needs a setting and a key."""

from __future__ import annotations

from maas.agents.definition import Definition, Needs

ASSISTANT = Definition(
    name="painter", role_prompt="Mentor", needs=Needs(settings=("MAAS_IMAGE_MODEL",), keys=("gemini",))
)
