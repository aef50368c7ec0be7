"""The Russian and the English text of a prompt are the same rules: the same form, placeholders, tags and names."""

from __future__ import annotations

import re

import pytest

from maas.prompting.prompts import built_in_text, prompt_files

PAIRS = sorted(name.removesuffix(".en") for name in prompt_files() if name.endswith(".en"))
CYRILLIC = re.compile("[А-Яа-яЁё]")
MAX_RATIO = 1.35  # of the words of both, which Russian needs fewer of


def both(role: str) -> tuple[str, str]:
    return built_in_text(role, "ru"), built_in_text(role, "en")


def form(text: str) -> list[str]:
    """What each line is: a numbered rule, a point, a heading, or a sentence."""
    return [re.match(r"\d+\.|- |#+ |", line)[0] for line in text.split("\n") if line.strip()]  # type: ignore[index]


def names(text: str) -> list[str]:
    """Placeholders, tags and code, in any order."""
    return sorted(re.findall(r"\{[a-z_]+\}|</?[a-z_]+>|`[^`]+`|\[[A-Z ]+\]", text))


@pytest.mark.parametrize("role", PAIRS)
def test_both_languages_have_the_same_rules(role: str) -> None:
    russian, english = both(role)
    assert form(russian) == form(english)
    assert names(russian) == names(english)


@pytest.mark.parametrize("role", PAIRS)
def test_an_english_prompt_is_english_and_no_longer(role: str) -> None:
    russian, english = both(role)
    assert not CYRILLIC.search(english)
    assert len(english.split()) <= len(russian.split()) * MAX_RATIO


def test_the_prompts_of_every_answer_are_there_in_both() -> None:
    assert {"FinalResponder", "Mentor", "Planner", "TaskDecomposer", "Stickers"} <= set(PAIRS)


@pytest.mark.parametrize("language", ["ru", "en"])
def test_the_rules_of_every_answer_speak_of_what_is_sent(language: str) -> None:
    """The request holds the bare question, no tag <query>; its last line is that of now."""
    text = built_in_text("FinalResponder", "ru" if language == "ru" else "en")
    assert "<query>" not in text and "<memory>" in text
    assert {"ru": "«Сейчас»", "en": '"Now"'}[language] in text
