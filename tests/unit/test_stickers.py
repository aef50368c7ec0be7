"""The sticker assistant as it is written down: its prompt, its tools, and what must not come back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.agents.results import ToolFailure, ToolResult, refused, succeeded
from maas.agents.slots.session import CHAT, WAIT_PHOTO, SlotSession
from maas.assistants.stickers import ASSISTANT
from maas.tools.stickers import StickerParams, prompt_of, update_sticker_params
from shared.models.types import ToolCall

ROOT = Path(__file__).resolve().parent.parent.parent
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
    """[STK-26, STK-27]"""
    text = (ROOT / "sql" / "prompts" / "Stickers.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert not re.search(r"нейро|\bИИ\b|\bAI\b|\bLLM\b|модел|алгоритм", text, re.IGNORECASE)


def test_what_was_removed_stays_away() -> None:
    """[STK-1, STK-36, STK-56] No parser of answers, no list of words that confirm, no steps."""
    gone = (
        r"<!--|PARAMS_REGEX|stripMetadata|strip_metadata|parse\w*[Mm]etadata|extractParams|extract_params|confirm_?[Ww]ords|current_step"
        r"|wait_assistant_confirm|mapParams"
    )
    for folder in ("maas/agents", "maas/tools", "maas/assistants", "workers"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(gone, path.read_text(encoding="utf-8")), path
    for name in ("maas/tools/stickers.py", "maas/agents/slots/collect.py", "maas/agents/slots/session.py"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"\bimport re\b|re\.(search|match|compile)|[\"'](да|yes|ok)[\"']", text), name


def test_no_stage_knows_an_assistant() -> None:
    """[DC-8]"""
    for folder in ("maas/pipeline", "maas/agents", "workers"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(r"assistant\s*(==|!=|in)\s*[\"'(\[{]", path.read_text(encoding="utf-8")), path


@given(PATCHES)
def test_results_never_lose_a_value(patches: list[dict[str, str | None]]) -> None:
    """[STK-10, STK-53] Nor does it matter that a result comes twice."""
    one = session()
    for patch in patches:
        before = dict(one.values)
        result = {"accepted": one.accepted(patch)}
        after = dict(took(one, result).values)
        assert before.keys() <= after.keys()
        assert all(after[name] == value for name, value in before.items() if not one.accepted(patch).get(name))
        assert took(one, result).values == after
        assert all(slot.accept(after[slot.name]) == after[slot.name] for slot in SLOTS if slot.name in after)


@pytest.mark.parametrize("mask", range(8))
def test_it_is_complete_with_all_three(mask: int) -> None:
    """[STK-13]"""
    values = {name: FULL[name] for place, name in enumerate(FULL) if mask >> place & 1}
    assert (not session(**values).missing) == (mask == 7)


def test_results_change_the_session() -> None:
    """[STK-11, STK-30] Values, state, confirmation; a tool that is none changes nothing."""
    one = took(session(), {"accepted": FULL})
    assert (one.values, one.is_offered) == (FULL, True)
    assert took(one, {"confirmed": True}).is_confirmed and not one.is_offered
    assert took(one, {"accepted": {"style": "3D"}}).is_confirmed is False
    assert took(one, {"state": WAIT_PHOTO}).state == WAIT_PHOTO and not one.is_offered
    before = dict(one.values)
    one.take(ToolResult(ToolCall("1", "fly", "{}"), refused("unknown_tool", "there is no such tool")))
    assert (one.values, one.state, one.said) == (before, WAIT_PHOTO, [])
    one.take(
        ToolResult(ToolCall("1", "any", "{}"), refused("failed", "no", **(ToolFailure("no", "Sorry.").details or {})))
    )
    assert one.said == ["Sorry."]


def test_photos() -> None:
    """[STK-31, STK-37]"""
    first, second = UUID(int=1), UUID(int=2)
    one = session(**FULL)
    one.state = WAIT_PHOTO
    one.receive(first)
    assert (one.photo, one.state, one.is_offered) == (first, CHAT, True)
    one.receive(second)
    assert (one.photo, one.offered_photo, one.values) == (first, second, FULL)


def test_the_tool_of_values() -> None:
    """[STK-3, STK-5]"""
    assert list(StickerParams.model_fields) == ["style", "emotion", "pose"]
    assert update_sticker_params.parameters["required"] == []


def test_the_prompt_of_a_picture() -> None:
    """[STK-38]"""
    assert prompt_of(FULL).endswith("\nStyle: anime\nEmotion: happy\nPose: hands up")
