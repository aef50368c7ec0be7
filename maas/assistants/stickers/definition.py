"""The definition of `stickers`: what it collects, and how it may speak."""

from __future__ import annotations

from maas.agents.collector import SlotField, Texts
from maas.agents.definition import Definition, Limits

DOMAIN = "stickers"
ASSISTANT = Definition(
    name="stickers",
    role_prompt="Stickers",
    title="Stickers",
    description="Asks for a style, an emotion, a pose and a photo, and draws a sticker.",
    toolset=(DOMAIN,),
    limits=Limits(rounds=2, calls=20, tokens=1024, attempt_seconds=15),
    temperature=0.7,
    slots=(
        SlotField(
            name="style",
            label="Style",
            question=Texts(
                ru="В каком стиле сделать стикер: аниме, 3D, акварель или другой?",
                en="Which style should the sticker have: anime, 3D, watercolour, or another?",
            ),
        ),
        SlotField(
            name="emotion",
            label="Emotion",
            question=Texts(ru="Какую эмоцию должно выражать лицо?", en="Which emotion should the face show?"),
        ),
        SlotField(
            name="pose",
            label="Pose",
            question=Texts(ru="Какая нужна поза или жест?", en="Which pose or gesture should it have?"),
        ),
    ),
    completion="confirm_and_generate",
    session="latest",
    photo=True,
    photo_tool="request_photo",
    stream=False,
    forbidden_words=(
        "AI",
        "artificial intelligence",
        "neural network",
        "neural networks",
        "language model",
        "language models",
        "ИИ",
        "искусственный интеллект",
        "нейросеть",
        "нейронная сеть",
        "языковая модель",
    ),
    memory="light",
    opening="/start",
)
