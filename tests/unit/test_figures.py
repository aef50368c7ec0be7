"""Which figures of an answer stand in what its model was given."""

from __future__ import annotations

import pytest

from maas.agents.figures import GivenFigures

DATA = '{"spend": 36895.83, "leads": 27, "share": 0.0172, "date": "2026-10-05", "phone": "77011234567", "n": 1234567}'


@pytest.mark.parametrize(
    "answer",
    [
        "Потратили 36 895,83 USD.",
        "Spent 36,895.83 USD.",
        "Потратили около 36 896 USD",
        "Это 36,9 тыс. USD",
        "Это 36.9k",
        "По плану 1,23 млн.",
        "Доля — 1,72 %, то есть 1,7%.",
        "5 октября 2026 года было 27 лидов.",
        "Телефон кончается на 4567.",
        "1. Расходы.\n2. Лиды: 27.",
        "",
        "Ничего.",
    ],
)
def test_figures_with_a_source(answer: str) -> None:
    assert GivenFigures().invented(answer, [DATA]) == []


@pytest.mark.parametrize(
    ("answer", "invented"),
    [
        ("Потратили 36 895,84 USD.", ["36 895,84"]),
        ("Потратили 2000$.", ["2000"]),
        ("Потратили 2000 рублей.", ["2000"]),
        ("Лидов 28, по 1,5.", ["28", "1,5"]),
        ("Доля — 1,8 %.", ["1,8"]),
        ("Это 37,5 тыс.", ["37,5"]),
        ("Лидов 3.", ["3"]),
        ("9" * 400, ["9" * 400]),
    ],
)
def test_figures_without_a_source(answer: str, invented: list[str]) -> None:
    assert GivenFigures().invented(answer, [DATA]) == invented


def test_a_count_of_what_tools_gave() -> None:
    assert GivenFigures(has_data=True).invented("Это 3 кампании, 13 групп.", [DATA]) == ["13"]


def test_a_number_of_rows_some_of_which_were_left_out() -> None:
    """The number of rows that a model was shown is that of all only if it was shown all."""
    figures = GivenFigures(has_data=True)
    meta = {"cut": ["data"], "left_out": {"rows": {"rows": 37, "of": 40}}}
    figures.show({"success": True, "data": {"rows": [{"spend": 70.5}]}, "_meta": meta})
    assert figures.invented("70,5 USD, 3 кампании из 40", []) == ["3"]


def test_of_a_tool_that_passes_calls_on_only_the_results_in_it_count() -> None:
    figures = GivenFigures()
    data = {"responses": {"ads": [{"success": True, "data": {"spend": 70}}], "crm": "Сделок 55."}}
    figures.show({"success": True, "data": data}, is_meta=True)
    assert figures.invented("70 USD, 55 сделок", []) == ["55"]


def test_a_name_is_held_in_any_inflection() -> None:
    given = GivenFigures()
    given.show({"data": {"campaigns": [{"name": "Гардеробные | новое имя"}, {"name": 'Ad "2"'}]}})
    assert all(given.holds(one) for one in ("Гардеробных", "гардеробные | новое", 'Ad "2"'))
    assert not any(given.holds(one) for one in ("Шкафы", "Нет такой", "!!!"))
