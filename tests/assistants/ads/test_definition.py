"""The advertising assistants as data: which questions words decide, which models the settings choose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maas.agents.routing import by_keywords
from maas.assistants.ads.definition import define_ads, define_ads_v1
from maas.settings import load_settings
from tests.stack import ROOT

FOLDER = ROOT / "maas" / "assistants" / "ads" / "prompts"
AGENTS = define_ads_v1(load_settings()).agents
ROUTES = [
    ("Покажи расходы за сегодня", "ads"),
    ("Какие направления активны?", "ads"),
    ("Измени бюджет направления Кухни на 50", "ads"),
    ("Покажи все креативы", "creative"),
    ("Топ-5 креативов по CPL", "creative"),
    ("Проанализируй креатив «Лето»", "creative"),
    ("Запусти креатив «Лето» в направление Кухни", "creative"),
    ("Сравни креативы 1, 2 и 3", "creative"),
    ("Покажи retention видео", "creative"),
    ("Покажи последние диалоги", "whatsapp"),
    ("Сколько лидов сегодня?", "crm"),
    ("Сколько стоит лид?", "ads"),
]
IN_ENGLISH = [
    ("Show the spend of today", "ads"),
    ("Launch creative Summer into direction Kitchens", "creative"),
    ("How many qualified leads are there?", "crm"),
    ("Show the last dialogues", "whatsapp"),
    ("What does a lead cost?", "ads"),
]


FIGURE = re.compile(r"\d[\d ]*(₽|USD|долл|лид|переписок|горячих)")


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.md")), ids=lambda one: one.stem)
def test_no_prompt_holds_a_figure_that_a_model_could_give_as_the_answer(file: Path) -> None:
    """A small model answered the first question of a person with the figures of an example."""
    assert not FIGURE.search(file.read_text())


@pytest.mark.parametrize(("question", "agent"), ROUTES + IN_ENGLISH)
def test_words_decide(question: str, agent: str) -> None:
    chosen = by_keywords(question, AGENTS)
    assert chosen is not None and chosen.name == agent


@pytest.mark.parametrize(
    "question",
    [
        "Как дела?",
        "Почему реклама даёт плохих лидов?",
        "Сколько квалифицированных лидов и во что они обошлись?",
        "Стоимость квалифицированного лида",
        "Is the lead worth the spend?",
        "How many qualified leads are there, and what did they cost?",
    ],
)
def test_words_do_not_decide(question: str) -> None:
    assert by_keywords(question, AGENTS) is None


def models(**settings: str) -> tuple[str | None, str | None, str | None]:
    read = load_settings(**settings)
    ads, ads_v1 = define_ads(read), define_ads_v1(read)
    assert {agent.model for agent in (*ads.agents, *ads_v1.agents)} == {ads_v1.model}
    return ads.model, ads_v1.model, "key" if ads.needs.keys else None


def test_models_are_settings() -> None:
    assert models() == (None, None, "key")
    assert models(model="gemini:gemini-2.5-flash") == (None, None, None)
    assert models(openai_api_key="sk-test-0123456789") == ("openai:gpt-5.2", "openai:gpt-4o-mini", None)
    named = {"meta_orchestrator_model": "gpt-9", "domain_agent_model": "gemini:gemini-2.5-pro"}
    assert models(**named) == ("openai:gpt-9", "gemini:gemini-2.5-pro", None)


def test_limits() -> None:
    limits = define_ads(load_settings(meta_max_iterations=2)).limits
    assert (limits.rounds, limits.calls, limits.seconds) == (2, 30, 300)
    agent = define_ads(load_settings()).agents[0]
    assert (agent.temperature, agent.max_tokens) == (0.3, 1500)


def test_no_prompt_lets_figures_come_from_memory() -> None:
    """What was answered last week may be in memory, and stands there as a fact."""
    roles = {define_ads(load_settings()).role_prompt, *(agent.role_prompt for agent in AGENTS)}
    texts = {role: (FOLDER / f"{role}.ru.md").read_text(encoding="utf-8") for role in roles}
    assert len(texts) == 5
    assert [role for role, text in texts.items() if "из памяти и прежних ответов" not in text] == []
