"""The seeded prompts hold what their stages rely on."""

from __future__ import annotations

import re

import pytest

from maas.prompting.prompts import BUILT_IN_ROLES, PromptLanguage, built_in_text

PLACEHOLDERS = {
    "Analyzer": {"user_query", "lsm_records_summary"},
    "Assembler": {"user_query", "memory"},
    "FinalResponder": set(),
    "Archivist": set(),
    "Compactor": set(),
    "Mentor": set(),
}


@pytest.mark.parametrize("role", PLACEHOLDERS)
def test_placeholders(role: str) -> None:
    """Exactly those that the stage fills."""
    assert set(re.findall(r"\{([a-z_]+)\}", built_in_text(role))) == PLACEHOLDERS[role]


def test_stages_have_a_text_to_fall_back_on() -> None:
    assert {*BUILT_IN_ROLES, "Mentor"} == set(PLACEHOLDERS)


def test_analyzer_knows_the_markers() -> None:
    text = built_in_text("Analyzer")
    for word in ("мы обсуждали", "помнишь", "как тогда", "продолжи", "мой", "наш", "тот проект"):
        assert word in text
    for word in (
        "вчера",
        "недавно",
        "на неделе",
        "в прошлом месяце",
        "GENERAL",
        "SPECIFIC_HISTORY",
        "null",
        "только JSON",
    ):
        assert word in text


def test_assembler_states_its_five_rules() -> None:
    text = built_in_text("Assembler")
    assert re.findall(r"^(\d)\. ", text, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    for word in ("не относится", "важные факты", "текущем вопросе", "сокращай", "XML"):
        assert word in text


@pytest.mark.parametrize(("language", "categories", "no_facts"), [
    ("ru", ("имена людей, мест и проектов", "технологии", "темы", "действия"), "не факт о человеке"),
    ("en", ("names of people, places and projects", "technologies", "topics", "activities"), "no fact about"),
])  # fmt: skip
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
