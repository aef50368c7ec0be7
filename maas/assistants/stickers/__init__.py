"""The sticker assistant `stickers`: it collects style, emotion, pose and a photo, then has a sticker drawn."""

from __future__ import annotations

from maas.plugins import Plugin

PLUGIN = Plugin(
    name="stickers",
    package=__name__,
    assistants={"stickers": "definition:ASSISTANT"},
    tools="tools:make_tools",
    events={"sticker": "image"},  # {attachment_id}: the sticker that was drawn
)
