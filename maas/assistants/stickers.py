"""The assistant that leads a user to a sticker: style, emotion and pose are collected, then one is made of a photo."""

from __future__ import annotations

from maas.assistants.definition import Definition, Limits, SlotField, Texts
from maas.tools.stickers import tools

TOOLS = tools
ASSISTANT = Definition(
    name="stickers",
    role_prompt="Stickers",
    toolset=("stickers",),
    limits=Limits(rounds=2, calls=20, tokens=1024, attempt_seconds=15),
    temperature=0.7,
    slots=(
        SlotField(
            name="style",
            label="Style",
            question=Texts(
                ru="В каком стиле сделать стикер: аниме, 3D, акварель или другой?",
                en="Which style shall the sticker have: anime, 3D, watercolour, or another?",
            ),
        ),
        SlotField(
            name="emotion",
            label="Emotion",
            question=Texts(ru="Какую эмоцию должно выражать лицо?", en="Which emotion shall the face show?"),
        ),
        SlotField(
            name="pose",
            label="Pose",
            question=Texts(ru="Какая нужна поза или жест?", en="Which pose or gesture shall it be?"),
        ),
    ),
    completion="confirm_and_generate",
    photo=True,
    memory="light",
    opening="/start",
)
