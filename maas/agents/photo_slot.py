"""The photo that a dialogue may collect: the one in use, and a later one until the user has chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from maas.conversations.language import Spoken

CHAT = "assistant_chat"
WAIT_PHOTO = "assistant_wait_photo"
NEW_PHOTO = "assistant_new_photo"
KEEP_PHOTO = "assistant_keep_photo"
BUTTON_LABELS = {
    NEW_PHOTO: {"ru": "Взять новое фото", "en": "Use the new photo"},
    KEEP_PHOTO: {"ru": "Оставить прежнее", "en": "Keep the old one"},
}
WHICH_PHOTO = {"ru": "Взять новое фото или оставить прежнее?", "en": "The new photo or the old one?"}
NEW_PHOTO_TAKEN = {"ru": "Беру новое фото.", "en": "I will use the new photo."}
OLD_PHOTO_KEPT = {"ru": "Оставляю прежнее.", "en": "I will keep the old one."}


@dataclass(slots=True)
class PhotoSlot:
    """The photo of a session: `id` is the attachment in use, `offered` a later one.

    `is_awaited`: the dialogue waits for a photo. `is_choosing`: this run asks which of two photos to use. `tool` asks
    for the photo that the dialogue needs.
    """

    tool: str | None = None
    id: UUID | None = None
    offered: UUID | None = None
    is_awaited: bool = False
    is_choosing: bool = False

    @classmethod
    def read(cls, row: Mapping[str, Any], tool: str | None) -> Self:
        """The photo of a row of assistant_sessions."""
        return cls(tool, _uuid(row["photo"]), _uuid(row["offered_photo"]), row["state"] == WAIT_PHOTO)

    def stored(self) -> dict[str, Any]:
        """Its columns."""
        return {"state": self.state, "photo": self.id, "offered_photo": self.offered}

    @property
    def state(self) -> str:
        """What the dialogue waits for: words, or a photo."""
        return WAIT_PHOTO if self.is_awaited else CHAT

    @property
    def line(self) -> str | None:
        """What a model reads about it."""
        if self.id is not None:
            return "The photo is there."
        return f"No photo yet: call {self.tool}, without waiting for other answers." if self.tool else None

    def take_state(self, state: object) -> None:
        """Wait for what a tool's result says; anything but a state changes nothing."""
        if state in (CHAT, WAIT_PHOTO):
            self.is_awaited = state == WAIT_PHOTO

    def receive(self, photo: UUID) -> bool:
        """Use a photo that arrived with the request; False if there is another already, which the user may prefer."""
        if self.id in (None, photo) or self.is_awaited:
            self.id, self.offered, self.is_awaited = photo, None, False
            return True
        self.offered, self.is_choosing = photo, True
        return False

    def choose(self, language: Spoken, *, is_new: bool) -> str:
        """Use the photo that the user has chosen; a sentence for the user."""
        if is_new:
            self.id = self.offered
        self.offered = None
        return (NEW_PHOTO_TAKEN if is_new else OLD_PHOTO_KEPT)[language]


def _uuid(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)
