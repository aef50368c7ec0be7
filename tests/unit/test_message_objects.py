"""Objects in quotes, and orders: what the words of a message tell of a call before any model is asked."""

from __future__ import annotations

import pytest

from maas.agents.message_objects import is_of_its_kind, named_objects, quoted_names, quoted_object
from maas.tools.consent import subject_words
from maas.tools.consent.orders import MAX_ORDER_CHARS, objects_ordered

CREATIVES = {"creative_ids": {"type": "array"}, "period": {"type": "string"}}
CAMPAIGN = {"campaign_id": {"type": "string"}}
FILTERS = {"creative_id": {"type": "string"}, "stage_id": {"type": "string"}}


def test_names_stand_in_quotes_of_every_kind() -> None:
    assert quoted_names('«Кухни | весна», “Spring”, "Ad 2" и снова «Кухни | весна»') == [
        "Кухни | весна",
        "Spring",
        "Ad 2",
    ]
    assert quoted_names("Кухни") == quoted_names("«" * 5_000) == quoted_names('"' + "x" * 5_000) == []


def test_names_have_a_kind_where_the_word_before_tells() -> None:
    assert named_objects('Сравни кампанию «Весна» и "Лето"') == ["Весна"]
    assert named_objects("Кто спросил «сколько стоит»?") == []


@pytest.mark.parametrize(
    ("message", "properties", "required", "named"),
    [
        ("Сравни «Видео 2» и «Видео 6»", CREATIVES, ["creative_ids"], {"creative_ids": ["Видео 2", "Видео 6"]}),
        ("Расход «Весны»", CAMPAIGN, ["campaign_id"], {"campaign_id": "Весны"}),
        ("Расход «Весны»", CAMPAIGN, [], {"campaign_id": "Весны"}),
        ("Расход «Весны» и «Лета»", CAMPAIGN, ["campaign_id"], {}),  # of two, a model has to choose
        ("Лиды «Весны»", FILTERS, [], {}),
        ("Расход", CAMPAIGN, ["campaign_id"], {}),
    ],
)
def test_the_only_parameter_that_takes_them(
    message: str, properties: dict[str, dict[str, str]], required: list[str], named: dict[str, object]
) -> None:
    assert quoted_object(message, properties, required) == named


def test_a_tool_of_another_kind_of_object_is_not_meant() -> None:
    of_direction = "Какая цена лида у направления «Кухни»?"
    assert not is_of_its_kind(of_direction, ["lead_id"])
    assert is_of_its_kind(of_direction, ["direction_id"]) and is_of_its_kind(of_direction, [])
    assert is_of_its_kind("Что с «Кухнями»?", ["lead_id"])


@pytest.mark.parametrize(
    ("message", "tools"),
    [
        ("Подними бюджет направления «Кухни» до 45 долларов", ["updateDirectionBudget"]),
        ("Пожалуйста, останови кампанию «Кухни»", ["pauseCampaign"]),
        ("Поставь кампанию на паузу", ["pauseCampaign"]),
        ("Put the campaign on hold", ["pauseCampaign"]),
        ("Увеличить бюджет до 100", ["updateBudget", "updateDirectionBudget"]),
        ("Поднять бюджет?", []),
        ("Подними настроение", []),
        ("Покажи кампании", []),
        ("Почему ты остановил кампанию", []),
        ("Останови кампанию " + "!" * MAX_ORDER_CHARS, []),
        ("", []),
    ],
)
def test_an_order_begins_with_the_act_and_names_its_object(message: str, tools: list[str]) -> None:
    known = ("updateBudget", "updateDirectionBudget", "pauseCampaign")
    named = {name: objects_ordered(message, *subject_words(name)) for name in known}
    assert [name for name, count in named.items() if 0 < count == max(named.values())] == tools
