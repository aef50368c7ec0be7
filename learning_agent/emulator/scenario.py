"""Scenarios as their YAML files hold them: days, what is said on them, and what must be true afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from learning_agent.emulator.days import names_a_day
from learning_agent.emulator.errors import EmulatorError

FOLDER = Path(__file__).parent / "scenarios"
Kind = Literal[
    "facts", "changes", "names", "references", "dates", "orders", "absence", "upkeep", "consent", "failures", "person"
]
Texts = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolCall(_Part):
    """A call of a tool; arguments that are not named may have any value, texts need only be contained."""

    tool: str
    arguments: dict[str, Any] = {}


class Expectation(_Part):
    """One thing that must hold of an answer. `needs_model`: the built-in model, which quotes, is not held to it."""

    contains: Texts = []
    contains_any: Texts = []
    does_not_contain: Texts = []
    shown: Texts = []
    remembers: list[str] | str | None = None
    cites: list[str] | str | None = None
    judged: str | None = None
    called: ToolCall | None = None
    not_called: str | None = None
    waits_for_consent: str | None = None
    needs_model: bool = False

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.name.split(", ")) != 1 or not self.name:
            raise ValueError("an expectation names exactly one of: " + ", ".join(EXPECTATIONS))
        return self

    @property
    def name(self) -> str:
        """The one thing that is expected, such as `contains`."""
        return ", ".join(name for name in EXPECTATIONS if getattr(self, name))

    @property
    def turns(self) -> list[str]:
        """The names of turns that it refers to."""
        named = self.remembers or self.cites or []
        return [named] if isinstance(named, str) else named

    @property
    def texts(self) -> list[str]:
        """The texts in which a day may be named."""
        judged = [self.judged] if self.judged else []
        arguments = [
            value for value in (self.called.arguments.values() if self.called else ()) if isinstance(value, str)
        ]
        return [*self.contains, *self.contains_any, *self.does_not_contain, *self.shown, *judged, *arguments]


EXPECTATIONS = tuple(name for name in Expectation.model_fields if name != "needs_model")


class Person(_Part):
    """A person played by a model: what it wants to reach, and at most how many messages it sends."""

    goal: str
    turns: int = Field(4, ge=1, le=20)


class Step(_Part):
    """One thing that happens on a day: exactly one of the first seven fields."""

    user: str | None = None
    assistant: str | None = None
    ask: str | None = None
    person: Person | None = None
    decide: Literal["approve", "reject"] | None = None
    compact: bool | None = None
    retention: int | None = Field(None, ge=1)

    name: str | None = Field(None, alias="as")
    speaker: str | None = None
    conversation: str | None = None
    marks: bool = False
    expect: list[Expectation] = []

    @model_validator(mode="after")
    def _one(self) -> Self:
        named = [name for name in ACTS if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError("a step names exactly one of: " + ", ".join(ACTS))
        if self.expect and named[0] not in ("ask", "person", "decide"):
            raise ValueError(f"a step `{named[0]}` has no answer, so nothing can be expected of it")
        return self

    @property
    def act(self) -> str:
        """Which of the acts it is."""
        return next(name for name in ACTS if getattr(self, name) is not None)

    @property
    def texts(self) -> list[str]:
        """What is said and expected; a day may be named in it."""
        said = [text for text in (self.user, self.assistant, self.ask) if text]
        goal = [self.person.goal] if self.person else []
        return [*said, *goal, *(text for one in self.expect for text in one.texts)]


ACTS = ("user", "assistant", "ask", "person", "decide", "compact", "retention")
IMPORTED = ("user", "assistant")


class Day(_Part):
    """A day of the scenario's calendar, counted from 1."""

    day: int = Field(ge=1, le=3650)
    steps: list[Step] = Field(min_length=1)


class Scenario(_Part):
    """A talk over days. `builtin`: the built-in model, which quotes memory, can do it."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    title: str
    language: Literal["en", "ru"]
    kind: Kind
    builtin: bool
    assistant: str = "mentor"
    days: list[Day] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        numbers = [day.day for day in self.days]
        if numbers != sorted(set(numbers)):
            raise ValueError("days come in order, each once")
        known: set[str] = set()
        for _, step in self.steps():
            for one in (turn for expected in step.expect for turn in expected.turns):
                if one not in known:
                    raise ValueError(f"no earlier step is called {one!r} (`as: {one}`)")
            if step.name in known:
                raise ValueError(f"two steps are called {step.name!r}")
            known |= {step.name} if step.name else set()
        last = max((day.day for day, step in self.steps() if step.act not in IMPORTED), default=0)
        for day, step in self.steps():
            if day.day < last and step.act not in IMPORTED and any(map(names_a_day, step.texts)):
                raise ValueError(
                    f"day {day.day}: a stored text is not rewritten when days pass, so a day can be named only in what "
                    f"is imported (`user`, `assistant`) and on the last day"
                )
        if not any(step.expect for _, step in self.steps()):
            raise ValueError("nothing is expected")
        return self

    def steps(self) -> Iterator[tuple[Day, Step]]:
        """Every step with its day."""
        return ((day, step) for day in self.days for step in day.steps)


def read_scenarios(folder: Path = FOLDER) -> list[Scenario]:
    """All scenarios below a folder, or of one file, by name. Raises EmulatorError, which names file and place."""
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*.yaml"))
    if not paths:
        raise EmulatorError(f"{folder} holds no scenario (*.yaml)")
    found: dict[str, Scenario] = {}
    for path in paths:
        scenario = _read(path)
        if scenario.name in found:
            raise EmulatorError(f"{path}: another scenario is called {scenario.name!r}, too")
        found[scenario.name] = scenario
    return [found[name] for name in sorted(found)]


def choose(scenarios: list[Scenario], names: list[str], language: str | None = None) -> list[Scenario]:
    """Those that are named, by name or kind, else all; of one language, if given. Raises EmulatorError."""
    unknown = [name for name in names if not any(name in (one.name, one.kind) for one in scenarios)]
    if unknown:
        raise EmulatorError(f"there is no scenario {unknown[0]!r}; `list` shows their names")
    return [
        one
        for one in scenarios
        if (not names or one.name in names or one.kind in names) and language in (None, one.language)
    ]


def _read(path: Path) -> Scenario:
    try:
        return Scenario.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise EmulatorError(f"{path} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise EmulatorError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the scenario"
        raise EmulatorError(f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}") from error
