"""Slots: the values that a dialogue collects before it may act, and the session that stores them.

Code keeps the values; the model only fills them. `merge`, `missing`, `state_block` and `mirror` are pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel

from maas import queries
from maas.agents.optional_slots import TOOL, OptionalMode, OptionalSlots, offer_question
from maas.agents.photo_slot import WHICH_PHOTO, PhotoSlot
from maas.agents.slot import Slot
from maas.conversations.language import Spoken
from maas.engine.run import LostRun, Run
from maas.tools.calls import ToolResult, tag_safe_json
from maas.tools.tool import ToolContext
from shared.db import Database
from shared.errors import MaasError
from shared.text import is_blank, one_line

EXPERIENCED_GENERATIONS = 10  # a user with more of them is asked for all values in one question
ALL_COLLECTED = "All collected: show the mirror and wait for the user's answer."


Slots = Sequence[Slot]
SlotValues = Mapping[str, str]


def declared(slots: Slots) -> tuple[Slot, ...]:
    """The slots of a definition, checked.

    Raises MaasError('wrong_slots') when two have one name or an allowed value would not be accepted.
    """
    names = [slot.name for slot in slots]
    if doubles := {name for name in names if names.count(name) > 1}:
        raise MaasError("wrong_slots", f"two slots are named {', '.join(sorted(doubles))}: rename one")
    for slot in slots:
        if refused := [one for one in slot.allowed if slot.accept(one) != one]:
            raise MaasError("wrong_slots", f"{slot.name}: {refused[0]!r} is twice allowed, blank or quoted")
    return tuple(slots)


def merge(slots: Slots, values: SlotValues, patch: Mapping[str, object]) -> dict[str, str]:
    """`values` with the acceptable ones of `patch`. An invalid, empty or unknown value never replaces a good one."""
    accepted = {slot.name: slot.accept(patch[slot.name]) for slot in slots if slot.name in patch}
    return {**values, **{name: value for name, value in accepted.items() if value is not None}}


def missing(slots: Slots, values: SlotValues) -> tuple[Slot, ...]:
    """The required slots without an acceptable value, in order."""
    return tuple(slot for slot in slots if slot.is_required and slot.accept(values.get(slot.name)) is None)


def state_block(
    slots: Slots, values: SlotValues, *, at_once: bool = False, optional: Slots = (), then: str = ALL_COLLECTED
) -> str:
    """The part of the prompt that says what is collected, what is needed, and what to ask next.

    `at_once`: ask for everything that is missing in one question. `optional` are asked for after the required ones;
    `then` is said when nothing is left to ask for.
    """
    collected = tag_safe_json({slot.name: value for slot, value in _filled(slots, values)})
    lines = ["[SYSTEM STATE]", f"Collected: {collected}"]
    if open_slots := missing(slots, values):
        lines.append(f"Still needed: {', '.join(slot.name for slot in open_slots)}")
        next_slots = open_slots if at_once else open_slots[:1]
        questions = " ".join(slot.question for slot in next_slots)
        lines.append(f"Ask {'in one question' if at_once else 'next'}: {questions}")
    elif optional:
        lines.append(f"All required values are there. Optional: {', '.join(slot.name for slot in optional)}")
        lines.append(f"Ask next: {optional[0].question} If the user does not want to answer, call {TOOL}.")
    else:
        lines.append(then)
    return "\n".join([*lines, "Never ask again for what is collected."])


def mirror(slots: Slots, values: SlotValues) -> str:
    """The collected values as a Markdown list that the user is asked to confirm."""
    return "\n".join(f"- **{slot.label}:** {value}" for slot, value in _filled(slots, values))


def _filled(slots: Slots, values: SlotValues) -> list[tuple[Slot, str]]:
    return [(slot, value) for slot in slots if (value := slot.accept(values.get(slot.name))) is not None]


@dataclass(slots=True)
class SlotSession:
    """The collected values of a dialogue while one run works on them; stored in assistant_sessions.

    `messages` are sentences of tools for the user. `is_changed`: this run collected something. `events`: those of tools
    that end the answer, by type.

    Tools change a session only by what they return, see `take`. A stored result therefore changes it in the same way
    after a crash, and the same rounds lead to the same state.
    `is_confirmed_by_user`: the values are used once the user has confirmed them, otherwise as soon as all are there;
    `is_confirmed` says that they were.
    """

    id: UUID
    slots: Slots
    language: Spoken
    values: dict[str, str] = field(default_factory=dict)
    is_confirmed: bool = False
    photo: PhotoSlot = field(default_factory=PhotoSlot)
    generations: int = 0
    first_name: str | None = None
    is_confirmed_by_user: bool = True
    optional: OptionalSlots = field(default_factory=OptionalSlots)
    messages: list[str] = field(default_factory=list)
    is_changed: bool = False
    events: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        row: Mapping[str, Any],
        slots: Slots,
        language: Spoken,
        *,
        photo_tool: str | None = None,
        is_confirmed_by_user: bool = True,
        optional: OptionalMode = "keep",
    ) -> Self:
        """A session of the database."""
        return cls(
            UUID(row["id"]),
            slots,
            language,
            merge(slots, {}, row["slots"]),
            row["confirmed"],
            PhotoSlot.read(row, photo_tool),
            row["generations"],
            row["first_name"],
            is_confirmed_by_user,
            OptionalSlots.read(optional, row["optional"]),
        )

    async def store(self, db: Database, run: Run) -> None:
        """Raises LostRun."""
        session = {
            "id": self.id,
            "slots": self.values,
            "confirmed": self.is_confirmed,
            "optional": self.optional.stored(),
            **self.photo.stored(),
        }
        if not await db.value(queries.keep_session, run.id, run.attempt, session):
            raise LostRun

    @property
    def missing(self) -> tuple[Slot, ...]:
        return missing(self.slots, self.values)

    @property
    def optional_left(self) -> tuple[Slot, ...]:
        """The optional slots that may still be asked for."""
        return self.optional.left(self.slots, self.values)

    @property
    def mirror(self) -> str:
        return mirror(self.slots, self.values)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to ask for."""
        return not self.missing and not self.optional_left and not self.photo.is_awaited

    @property
    def is_to_be_confirmed(self) -> bool:
        """Whether to ask the user for confirmation: this run has collected the last value and asks nothing else."""
        return self.is_confirmed_by_user and self.is_changed and self.is_complete and not self.is_confirmed

    @property
    def is_to_be_completed(self) -> bool:
        """Whether code is to use the values now, without a confirmation."""
        return not self.is_confirmed_by_user and self.is_complete and not self.is_confirmed

    @property
    def offer(self) -> str | None:
        """The question whether to ask the optional questions, as long as the user has not answered it."""
        left = self.optional_left
        if self.missing or not left or self.optional.is_asking or self.photo.is_awaited:
            return None
        return offer_question(self.language, len(left))

    @property
    def new_offer(self) -> str | None:
        """The same if the user has not been asked yet."""
        return self.offer if self.optional.state == "open" else None

    @property
    def next_question(self) -> str | None:
        """What the user is to be asked next."""
        asked = self.missing or (self.optional_left if self.optional.is_asking else ())
        return asked[0].question if asked else self.offer

    @property
    def state_block(self) -> str:
        """The part of the prompt that describes the session, before each model call."""
        block = state_block(
            self.slots,
            self.values,
            at_once=self.generations > EXPERIENCED_GENERATIONS,
            optional=self.optional_left if self.optional.is_asking else (),
            then=self._then,
        )
        lines = [block]
        if self.photo.line is not None:
            lines.append(self.photo.line)
        if self.first_name and not is_blank(self.first_name):
            lines.append(f"The user's first name: {tag_safe_json(one_line(self.first_name))}")
        return "\n".join(lines)

    @property
    def _then(self) -> str:
        """What comes when nothing is left to ask for."""
        if self.new_offer is not None:
            return f"All required values are there. The user is asked after your words, not by you: {self.offer}"
        if self.offer is not None:
            return f"The user was asked: {self.offer} If the message answers that, call {TOOL}; else ask it again."
        return ALL_COLLECTED if self.is_confirmed_by_user else "All collected: ask for nothing more."

    def receive(self, photo: UUID) -> None:
        """Use a photo that arrived with the request; if there is another already, ask the user which one to use."""
        if self.photo.receive(photo):
            self.is_confirmed, self.is_changed = False, True
        else:
            self.messages.append(WHICH_PHOTO[self.language])

    def choose(self, *, is_new: bool) -> None:
        """Use the photo that the user has chosen; the other values stay."""
        self.messages.append(self.photo.choose(self.language, is_new=is_new))
        self.is_confirmed, self.is_changed = self.is_confirmed and not is_new, True

    def accept(self, patch: Mapping[str, object]) -> dict[str, str]:
        """The acceptable values of `patch`."""
        return merge(self.slots, {}, patch)

    def collect(self, arguments: BaseModel) -> dict[str, Any]:
        """The result of a tool whose arguments are values of the session."""
        accepted = self.accept(arguments.model_dump(exclude_none=True))
        return {"accepted": accepted} | self.progress(accepted)

    def progress(self, accepted: Mapping[str, str]) -> dict[str, Any]:
        """What a tool's result tells the model about the session, once `accepted` is merged."""
        values = merge(self.slots, self.values, accepted)
        return {"collected": values, "still_needed": [slot.name for slot in missing(self.slots, values)]}

    def decide_optional(self, *, is_wanted: bool) -> None:
        """Take the user's yes or no to the offer of the optional questions."""
        self.optional.decide(is_wanted=is_wanted)
        self.is_changed = True

    def take_optional(self, result: ToolResult) -> None:
        """Apply what the user wants with the optional questions, as the tool for that has returned it."""
        data = result.body.get("data")
        if result.is_success and isinstance(data, dict) and isinstance(data.get("optional"), dict):
            self.optional.take(data["optional"])
            self.is_changed = True

    def take(self, result: ToolResult) -> None:
        """Apply a tool's result: `accepted` values, `state`, `confirmed`; `say` is for the user.

        An `attachment_id` is what the event of the tool tells, if the tool has one.

        A failure with a message for the user leaves the values as they are and lets the user confirm again.
        """
        data = result.body.get("data") if result.is_success else result.body
        if not isinstance(data, dict):
            return
        if isinstance(message := data.get("say"), str) and message and message not in self.messages:
            self.messages.append(message)
        if not result.is_success:
            self.is_changed |= "say" in data
            return
        if isinstance(accepted := data.get("accepted"), dict) and accepted:
            self._accept(accepted)
        self.photo.take_state(data.get("state"))
        if isinstance(data.get("confirmed"), bool):
            self.is_confirmed = data["confirmed"]
        if result.tool is not None and result.tool.event is not None and "attachment_id" in data:
            self.events[result.tool.event] = {"attachment_id": data["attachment_id"]}

    def _accept(self, accepted: Mapping[str, object]) -> None:
        """Keep values. Values that are confirmed one by one with the user are confirmed anew, also the same ones."""
        values = merge(self.slots, self.values, accepted)
        if self.is_confirmed_by_user or values != self.values:
            self.is_confirmed = False
        if self.optional.state == "offered" and any(
            slot.name in accepted and values.get(slot.name) != self.values.get(slot.name)
            for slot in self.slots
            if not slot.is_required
        ):
            self.optional.decide(is_wanted=True)  # the user answers one of them already
        self.values, self.is_changed = values, True


def session_of(context: ToolContext) -> SlotSession:
    """The session of the dialogue that calls the tool."""
    session: SlotSession = context.values["session"]
    return session


async def verify_collected(arguments: BaseModel, _: ToolContext, data: Any) -> Any:
    """Verify a call of a tool that collects: the values of the session, and which ones it did not take."""
    sent = arguments.model_dump(exclude_none=True)
    return {"collected": data["collected"], "refused": sorted(sent.keys() - data["accepted"].keys())}
