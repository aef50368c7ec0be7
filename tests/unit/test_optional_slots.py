"""Optional slots: how many are offered, and what the user's decisions do to them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.agents.optional_slots import OptionalMode, OptionalSlots, offer_question
from maas.agents.optional_tool import OPTIONAL_QUESTIONS, Choice
from maas.agents.slot import Slot
from maas.agents.slots import SlotSession
from maas.tools.calls import ToolFailure, ToolResult, refused, succeeded
from maas.tools.tool import ToolContext
from shared.models import ToolCall

CITY = Slot("city", "City", "Which city?")
HOBBY = Slot("hobby", "Hobby", "Which hobby?", is_required=False)
PET = Slot("pet", "Pet", "Which pet?", is_required=False)
SLOTS = (CITY, HOBBY, PET)
HERE = UUID(int=1)


def session(mode: OptionalMode = "offer", values: dict[str, str] | None = None, **stored: Any) -> SlotSession:
    optional = OptionalSlots.read(mode, stored)
    return SlotSession(
        HERE,
        SLOTS,
        "en",
        values={"city": "Ufa"} if values is None else values,
        is_confirmed_by_user=False,
        optional=optional,
    )


def result(body: dict[str, Any]) -> ToolResult:
    return ToolResult(ToolCall("1", "any", "{}"), body)


async def choose(one: SlotSession, decision: str) -> None:
    context = ToolContext(UUID(int=2), UUID(int=3), None, {"session": one})
    choice = Choice.model_validate({"decision": decision})
    one.take_optional(result(succeeded(await OPTIONAL_QUESTIONS.handler(choice, context))))


@pytest.mark.parametrize(
    ("count", "question"),
    [
        (1, "Задать ещё 1 необязательный вопрос?"),
        (3, "Задать ещё 3 необязательных вопроса?"),
        (5, "Задать ещё 5 необязательных вопросов?"),
        (11, "Задать ещё 11 необязательных вопросов?"),
        (21, "Задать ещё 21 необязательный вопрос?"),
    ],
)
def test_the_offer_in_russian(count: int, question: str) -> None:
    assert offer_question("ru", count) == question


def test_the_offer_in_english() -> None:
    assert offer_question("en", 1) == "Shall I ask 1 more optional question?"
    assert offer_question("en", 2) == "Shall I ask 2 more optional questions?"


def test_modes() -> None:
    """Kept only if they are mentioned; asked after the required ones; offered first."""
    assert session("keep").is_complete and session("keep").next_question is None
    assert session("ask").next_question == HOBBY.question and session("ask").offer is None
    assert session("offer").next_question == session("offer").new_offer == offer_question("en", 2)
    for mode in ("keep", "ask", "offer"):
        none = session(mode, {})
        assert not none.is_complete and none.next_question == CITY.question and none.offer is None


async def test_decisions() -> None:
    one = session(state="offered", offered_in="here")
    assert one.new_offer is None and one.offer is not None and not one.is_to_be_completed
    await choose(one, "ask")
    assert one.next_question == HOBBY.question and "call optional_questions" in one.state_block
    await choose(one, "skip_one")
    assert one.next_question == PET.question and one.optional.offered_in == "here"
    await choose(one, "skip_all")
    assert one.is_to_be_completed and one.offer is None
    with pytest.raises(ToolFailure, match="no optional question now"):
        await choose(one, "ask")


async def test_nothing_is_skipped_before_it_is_asked() -> None:
    with pytest.raises(ToolFailure, match="no optional question is asked yet"):
        await choose(session(state="offered"), "skip_one")
    with pytest.raises(ToolFailure, match="no optional question now"):
        await choose(session(values={}), "ask")


def test_an_answer_takes_the_offer() -> None:
    """What the user says of a required slot does not."""
    one = session(state="offered")
    one.take(result(succeeded({"accepted": {"city": "Perm"}})))
    assert not one.optional.is_asking
    one.take(result(succeeded({"accepted": {"hobby": "chess"}})))
    assert one.optional.is_asking and one.next_question == PET.question


def test_the_same_value_uses_nothing_again() -> None:
    """With a confirmation it is confirmed again: the user has said it."""
    one = session("keep")
    one.is_confirmed = True
    one.take(result(succeeded({"accepted": {"city": "Ufa"}})))
    assert not one.is_to_be_completed
    one.take(result(succeeded({"accepted": {"city": "Perm"}})))
    assert one.is_to_be_completed


@pytest.mark.parametrize(
    "data",
    [
        {"state": "closed"},
        {"state": 5},
        {"confirmed": "yes"},
        {"accepted": ["city"]},
        {"accepted": "city"},
        {"say": 5},
        {"say": ["x"]},
        {"optional": {"state": "declined"}},
        [1],
        "text",
        None,
    ],
)
def test_a_strange_result_changes_nothing(data: Any) -> None:
    one = session()
    before = (dict(one.values), one.photo.state, one.is_confirmed, list(one.messages), one.optional.stored())
    one.take(result(succeeded(data)))
    one.take_optional(result(refused("failed", "no", data={"optional": {"state": "declined"}})))
    assert (dict(one.values), one.photo.state, one.is_confirmed, list(one.messages), one.optional.stored()) == before


VALUES = st.one_of(st.none(), st.text(), st.integers(), st.lists(st.text()), st.just("asking"))


@given(st.dictionaries(st.sampled_from(["state", "offered_in", "skipped", "mode"]), VALUES))
def test_anything_stored_can_be_read(stored: dict[str, Any]) -> None:
    optional = OptionalSlots.read("offer", stored)
    assert OptionalSlots.read("offer", optional.stored()) == optional
