"""Scenarios: what a file may say, days written out, and the forty that the emulator comes with."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
import yaml

from learning_agent.emulator.checks import cited_numbers, holds_text
from learning_agent.emulator.days import Calendar
from learning_agent.emulator.errors import EmulatorError
from learning_agent.emulator.people import says_yes
from learning_agent.emulator.scenario import FOLDER, Kind, choose, read_scenarios

SCENARIO = {
    "name": "kettle",
    "title": "A kettle",
    "language": "en",
    "kind": "facts",
    "builtin": True,
    "days": [
        {"day": 1, "steps": [{"user": "The kettle is blue.", "as": "kettle"}]},
        {"day": 9, "steps": [{"ask": "Which colour has the kettle?", "expect": [{"contains": "blue"}]}]},
    ],
}
ALL = read_scenarios()


def written(folder: Path, **changes: object) -> Path:
    path = folder / "one.yaml"
    path.write_text(yaml.safe_dump(SCENARIO | changes))
    return path


def test_there_are_twenty_in_each_language_of_every_kind() -> None:
    assert Counter(one.language for one in ALL) == {"en": 20, "ru": 20}
    kinds = Counter((one.language, one.kind) for one in ALL)
    assert all({kind for own, kind in kinds if own == language} == set(get_args(Kind)) for language in ("en", "ru"))
    assert sum(one.builtin for one in ALL) >= 30
    assert all((one.language == "ru") == any("а" <= letter <= "я" for letter in one.title) for one in ALL)


def test_every_answer_is_held_to_something_that_no_person_has_to_judge() -> None:
    """Without a judge the built-in scenarios still say whether they hold."""
    for one in ALL:
        names = [expected.name for _, step in one.steps() for expected in step.expect]
        assert set(names) - {"judged"}, one.name


def test_a_file_of_each_is_named_as_its_scenario() -> None:
    assert {path.stem for path in FOLDER.rglob("*.yaml")} == {one.name for one in ALL}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"day": 1}, "day: Extra inputs"),
        ({"kind": "fact"}, "kind: Input should be"),
        ({"name": "The Kettle"}, "name: String should match"),
        ({"days": []}, "days: List should have at least 1"),
        ({"days": [SCENARIO["days"][1], SCENARIO["days"][0]]}, "days come in order"),  # type: ignore[index]
        ({"days": [SCENARIO["days"][0]]}, "nothing is expected"),  # type: ignore[index]
        ({"days": [{"day": 1, "steps": [{"ask": "?", "user": "!"}]}]}, "a step names exactly one of"),
        ({"days": [{"day": 1, "steps": [{"user": "!", "expect": [{"contains": "a"}]}]}]}, "has no answer"),
        ({"days": [{"day": 1, "steps": [{"ask": "?", "expect": [{}]}]}]}, "names exactly one of: contains"),
        (
            {"days": [{"day": 1, "steps": [{"ask": "?", "expect": [{"contains": "a", "shown": "b"}]}]}]},
            "names exactly one of: contains",
        ),
        (
            {"days": [{"day": 1, "steps": [{"ask": "?", "expect": [{"remembers": "pot"}]}]}]},
            "no earlier step is called 'pot'",
        ),
        (
            {
                "days": [
                    {"day": 1, "steps": [{"ask": "It boils on {day 4}."}]},
                    {"day": 3, "steps": [{"ask": "?", "expect": [{"contains": "a"}]}]},
                ]
            },
            "a stored text is not rewritten when days pass",
        ),
    ],
)
def test_a_wrong_file_is_named_with_its_place(tmp_path: Path, changes: dict[str, object], problem: str) -> None:
    path = written(tmp_path, **changes)
    with pytest.raises(EmulatorError) as raised:
        read_scenarios(path)
    assert str(path) in str(raised.value) and problem in str(raised.value)


def test_what_is_no_scenario_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("name: [")
    with pytest.raises(EmulatorError, match="is not YAML"):
        read_scenarios(tmp_path)
    with pytest.raises(EmulatorError, match="holds no scenario"):
        read_scenarios(tmp_path / "nothing")
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(SCENARIO))
    (tmp_path / "one.yaml").unlink()
    with pytest.raises(EmulatorError, match="another scenario is called 'kettle'"):
        read_scenarios(tmp_path)


def test_scenarios_are_chosen_by_name_and_kind() -> None:
    assert [one.name for one in choose(ALL, ["boat-name"])] == ["boat-name"]
    assert {one.kind for one in choose(ALL, ["dates"], "ru")} == {"dates"}
    assert len(choose(ALL, [], "en")) == 20
    with pytest.raises(EmulatorError, match="there is no scenario 'boats'"):
        choose(ALL, ["boats"])


def test_days_are_written_out_from_the_present_one() -> None:
    english = Calendar(date(2026, 11, 24), current=10, language="en")
    assert english.render("on {day 13}, a {weekday 13} ({iso 13})") == "on 27 November, a Friday (2026-11-27)"
    russian = Calendar(date(2026, 3, 1), current=2, language="ru")
    assert russian.render("{day 1}, {weekday 1}") == "28 февраля, суббота"
    now = datetime(2026, 11, 24, 8, tzinfo=UTC)
    assert english.moment(3, 1, now) == datetime(2026, 11, 17, 9, 1, tzinfo=UTC)
    assert english.moment(10, 1, now) < now - timedelta(minutes=59)  # nothing was said in the future


def test_texts_are_compared_as_people_read_them() -> None:
    assert holds_text("Она  живёт в\nПлёсе.", "живет в плесе")
    assert holds_text("It’s at Quay Street 7", "it's at quay street 7")
    assert not holds_text("Quay Street 17", "quay street 7")
    assert cited_numbers("She lives in Porto [2], near [14].") == {2, 14}
    assert says_yes("Yes.") and says_yes("**yes**") and not says_yes("No, yes would be wrong") and not says_yes("")
