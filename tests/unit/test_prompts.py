"""The seeded prompts hold what their stages rely on."""

from __future__ import annotations

import re

import pytest

from maas.prompt_rows import PromptLanguage
from maas.prompting.analysis import SCHEMA, parse_choice
from maas.prompting.prompts import BUILT_IN_ROLES, built_in_text

ROLES = {"Analyzer", "Assembler", "FinalResponder", "Archivist", "Facts", "Compactor", "Mentor"}


@pytest.mark.parametrize("role", sorted(ROLES))
def test_no_placeholders(role: str) -> None:
    """What stages add stands in messages of its own, so that a prompt is the same in every request."""
    assert not re.findall(r"\{([a-z_]+)\}", built_in_text(role))


def test_stages_have_a_text_to_fall_back_on() -> None:
    assert {*BUILT_IN_ROLES, "Mentor"} == ROLES


MARKERS = {
    "ru": ("мы обсуждали", "помнишь", "как тогда", "продолжи", "«мой»", "«наш»", "тот проект"),
    "en": ("we discussed", "do you remember", "like last time", "continue", '"my"', '"our"', "that project"),
}
RULES = {
    "ru": ("не относится", "важные факты", "текущий вопрос", "длинной истории", "XML"),
    "en": ("nothing to do with", "facts that the answer needs", "this question", "long history", "XML"),
}


@pytest.mark.parametrize("language", ["ru", "en"])
def test_analyzer_knows_the_markers(language: PromptLanguage) -> None:
    """And asks for three short fields."""
    text = built_in_text("Analyzer", language)
    for word in (*MARKERS[language], *SCHEMA["required"], "person", "world", "none"):
        assert word in text
    labels = {"#parrot-kiwi", "#попугай-киви"}
    examples = [parse_choice(line, labels) for line in text.splitlines() if '{"about"' in line]
    assert [(one.is_personal, one.label is not None) for one in examples] == [
        (True, True),
        (True, False),
        (False, False),
    ]


@pytest.mark.parametrize("language", ["ru", "en"])
def test_assembler_states_its_five_rules(language: PromptLanguage) -> None:
    text = built_in_text("Assembler", language)
    assert re.findall(r"^(\d)\. ", text, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    for word in (*RULES[language], "keep"):
        assert word in text


@pytest.mark.parametrize(
    ("language", "categories", "no_facts"),
    [
        ("ru", ("имена людей, мест и проектов", "технологии", "темы", "действия"), "не факт о человеке"),
        ("en", ("names of people, places and projects", "technologies", "topics", "activities"), "no fact about"),
    ],
)
def test_archivist_states_its_six_rules_and_four_categories(
    language: PromptLanguage, categories: tuple[str, ...], no_facts: str
) -> None:
    """Nothing is asked for that code knows, and there is no example that a small model copies into its reply."""
    text = built_in_text("Archivist", language)
    assert re.findall(r"^(\d)\. ", text, re.MULTILINE) == ["1", "2", "3", "4", "5", "6"]
    for word in (*categories, no_facts, "tags", "summary", "<before>", "<logs>", "<person>", "from tool"):
        assert word in text
    assert "time_bucket" not in text and "{" not in text


@pytest.mark.parametrize("language", ["ru", "en"])
def test_the_compactor_has_its_limit_in_words(language: PromptLanguage) -> None:
    text = built_in_text("Compactor", language)
    assert re.findall(r"^(\d)\. ", text, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    assert "<limit>" in text and "<records>" in text and "{" not in text


@pytest.mark.parametrize("role", ["Analyzer", "Assembler", "FinalResponder", "Archivist", "Compactor"])
def test_remembered_text_is_called_data(role: str) -> None:
    assert "данные" in built_in_text(role)
