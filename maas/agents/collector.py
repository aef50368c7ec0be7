"""What an assistant or one of its agents collects from the user, as data: slots, and the tool that uses them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from maas.agents.optional_slots import OptionalMode
from maas.agents.slot import Slot
from maas.agents.slots import declared
from maas.conversations.language import Spoken
from shared.errors import MaasError

Word = Annotated[str, Field(min_length=1, max_length=50)]
Scope = Literal["conversation", "latest", "user"]


class Texts(BaseModel):
    """A text for users in each supported language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ru: Annotated[str, Field(min_length=1, max_length=300)]
    en: Annotated[str, Field(min_length=1, max_length=300)]


class SlotField(BaseModel):
    """A value to collect before `completion` may be called. Without `allowed` values it is free text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Word
    label: Word
    question: Texts
    required: bool = True
    allowed: tuple[Word, ...] = ()

    def slot(self, language: Spoken) -> Slot:
        return Slot(self.name, self.label, getattr(self.question, language), self.required, self.allowed)


class Collector(BaseModel):
    """A voice that may collect values: an assistant, or one of its agents.

    With `slots` it collects them; `completion` is the tool that uses them. The tools of the domain of `completion` are
    those of the dialogue: they change its session, and they wait for no approval. `confirm`: the user confirms the
    values first; otherwise code calls `completion` as soon as all are there. Slots that are not required are kept if
    the user mentions them, asked for after the others, or offered first with one question: see `optional`.
    `session`: one dialogue in each conversation; one of a user, where another conversation begins the `latest`; or one
    of a `user` that goes on in every conversation.
    `photo`: an image of a request is one of the collected values; `photo_tool` asks for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    slots: tuple[SlotField, ...] = ()
    completion: Word | None = None
    confirm: bool = True
    optional: OptionalMode = "keep"
    session: Scope = "conversation"
    photo: bool = False
    photo_tool: Word | None = None

    @model_validator(mode="after")
    def _check_slots(self) -> Self:
        try:
            declared(self.slots_in("en"))
        except MaasError as error:
            raise ValueError(f"slots: {error.message}") from error
        if bool(self.slots) != (self.completion is not None):
            raise ValueError("slots and completion belong together: name both or neither")
        if self.optional != "keep" and all(slot.required for slot in self.slots):
            raise ValueError(f"optional: {self.optional!r} needs a slot with required: false")
        if self.photo_tool is not None and not self.photo:
            raise ValueError("photo_tool: it asks for a photo; set photo, too")
        return self

    def slots_in(self, language: Spoken) -> list[Slot]:
        """The slots with their questions in this language."""
        return [one.slot(language) for one in self.slots]
