"""The sticker assistant as it is written down: its prompt, its tools, and what must not come back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.agents.photo_slot import CHAT, WAIT_PHOTO
from maas.agents.slots import SlotSession
from maas.assistants.stickers.definition import ASSISTANT
from maas.assistants.stickers.tools import StickerParams, image_prompt, update_sticker_params
from maas.prompting.prompts import built_in_text
from maas.tools.calls import ToolFailure, ToolResult, refused, succeeded
from shared.models import ToolCall

ROOT = Path(__file__).resolve().parents[3]
SLOTS = [one.slot("en") for one in ASSISTANT.slots]
FULL = {"style": "anime", "emotion": "happy", "pose": "hands up"}
VALUES = st.one_of(st.none(), st.sampled_from(["", "  ", "null", "anime", "3D", "x" * 501, "a\nb"]))
PATCHES = st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(FULL, VALUES)), max_size=8)


def session(**values: str) -> SlotSession:
    return SlotSession(UUID(int=1), SLOTS, "en", values=values)


def took(one: SlotSession, data: dict[str, Any]) -> SlotSession:
    one.take(ToolResult(ToolCall("1", "any", "{}"), succeeded(data)))
    return one


def test_the_prompt_is_short_and_plain() -> None:
    """At most 60 lines, and not a word about models, algorithms or AI."""
    text = built_in_text("Stickers")
    assert len(text.splitlines()) <= 60
    assert not re.search(r"нейро|\bИИ\b|\bAI\b|\bLLM\b|модел|алгоритм", text, re.IGNORECASE)


def test_what_was_removed_stays_away() -> None:
    """Code does not parse answers, has no list of words that confirm, and no fixed steps."""
    gone = (
        r"<!--\s*[A-Za-z]|PARAMS_REGEX|stripMetadata|strip_metadata|parse\w*[Mm]etadata|extractParams|extract_params|confirm_?[Ww]ords|current_step"
        r"|wait_assistant_confirm|mapParams"
    )
    for folder in ("maas/agents", "maas/assistants", "workers"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(gone, path.read_text(encoding="utf-8")), path
    for name in (
        "maas/assistants/stickers/tools.py",
        "maas/agents/slot_step.py",
        "maas/agents/slots.py",
        "maas/agents/slot_loop.py",
    ):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"\bimport re\b|re\.(search|match|compile)|[\"'](да|yes|ok)[\"']", text), name


def test_no_stage_knows_an_assistant() -> None:
    """Nothing depends on the name of an assistant."""
    for folder in ("maas/engine", "maas/runs", "maas/prompting", "maas/conversations", "maas/agents", "workers"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(r"assistant\s*(==|!=|in)\s*[\"'(\[{]", path.read_text(encoding="utf-8")), path


def test_the_core_has_no_word_of_it() -> None:
    """What stickers need is in their folder, or is a mechanism for every assistant."""
    core = (
        "agents",
        "cli",
        "client",
        "conversations",
        "engine",
        "http",
        "mcp_server",
        "memory",
        "prompting",
        "runs",
        "settings",
    )
    files = [path for folder in core for path in (ROOT / "maas" / folder).rglob("*.py")]
    files += [*(ROOT / "workers").rglob("*.py"), *(ROOT / "sql").rglob("*.*")]
    words = re.compile(r"sticker|\bemotion\b|\bpose\b|стикер", re.IGNORECASE)
    assert len(files) > 200
    assert not [str(path) for path in files if words.search(path.read_text(encoding="utf-8"))]


@given(PATCHES)
def test_results_never_lose_a_value(patches: list[dict[str, str | None]]) -> None:
    """A result that is applied twice changes nothing more."""
    one = session()
    for patch in patches:
        before = dict(one.values)
        result = {"accepted": one.accept(patch)}
        after = dict(took(one, result).values)
        assert before.keys() <= after.keys()
        assert all(after[name] == value for name, value in before.items() if not one.accept(patch).get(name))
        assert took(one, result).values == after
        assert all(slot.accept(after[slot.name]) == after[slot.name] for slot in SLOTS if slot.name in after)


@pytest.mark.parametrize("mask", range(8))
def test_it_is_complete_with_all_three(mask: int) -> None:
    """The session is complete with all three values, not with fewer."""
    values = {name: FULL[name] for place, name in enumerate(FULL) if mask >> place & 1}
    assert (not session(**values).missing) == (mask == 7)


def test_results_change_the_session() -> None:
    """Results set values, state and confirmation; the refusal of an unknown tool changes nothing."""
    one = took(session(), {"accepted": FULL})
    assert (one.values, one.is_to_be_confirmed) == (FULL, True)
    assert took(one, {"confirmed": True}).is_confirmed and not one.is_to_be_confirmed
    assert took(one, {"accepted": {"style": "3D"}}).is_confirmed is False
    assert took(one, {"state": WAIT_PHOTO}).photo.state == WAIT_PHOTO and not one.is_to_be_confirmed
    before = dict(one.values)
    one.take(ToolResult(ToolCall("1", "fly", "{}"), refused("unknown_tool", "there is no such tool")))
    assert (one.values, one.photo.state, one.messages) == (before, WAIT_PHOTO, [])
    one.take(
        ToolResult(ToolCall("1", "any", "{}"), refused("failed", "no", **(ToolFailure("no", "Sorry.").details or {})))
    )
    assert one.messages == ["Sorry."]


def test_photos() -> None:
    """A second photo is offered, not used; the other values stay."""
    first, second = UUID(int=1), UUID(int=2)
    one = session(**FULL)
    one.photo.is_awaited = True
    one.receive(first)
    assert (one.photo.id, one.photo.state, one.is_to_be_confirmed) == (first, CHAT, True)
    one.receive(second)
    assert (one.photo.id, one.photo.offered, one.values) == (first, second, FULL)


def test_the_tool_of_values() -> None:
    """Three optional values, so that the model can send one at a time."""
    assert list(StickerParams.model_fields) == ["style", "emotion", "pose"]
    assert update_sticker_params.parameters["required"] == []


def test_the_prompt_of_a_picture() -> None:
    """The image model gets one line for each value."""
    assert image_prompt(FULL).endswith("\nStyle: anime\nEmotion: happy\nPose: hands up")
