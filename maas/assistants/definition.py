"""An assistant as data: whose words it speaks, which tools it may call, in which mode, and how far it may go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maas.agents.executor import CALLS
from maas.agents.policy import Mode
from maas.agents.slots import Slot, declared
from maas.agents.tools import Toolset
from shared.errors import MaasError

Word = Annotated[str, Field(min_length=1, max_length=50)]


class Limits(BaseModel):
    """Of one answer: model calls, tool calls, and seconds in all; of one reply: tokens, and seconds an attempt.

    What is None is as the settings say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rounds: Annotated[int, Field(ge=1, le=50)] = 10
    calls: Annotated[int, Field(ge=1, le=200)] = CALLS
    seconds: Annotated[float, Field(gt=0, le=3600)] = 300.0
    tokens: Annotated[int | None, Field(ge=1)] = None
    attempt_seconds: Annotated[float | None, Field(gt=0, le=600)] = None


class Texts(BaseModel):
    """What users see, in the languages that we speak."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ru: Annotated[str, Field(min_length=1, max_length=300)]
    en: Annotated[str, Field(min_length=1, max_length=300)]


class SlotField(BaseModel):
    """A value to collect before `completion` may be called; no `allowed` values: free text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Word
    label: Word
    question: Texts
    required: bool = True
    allowed: tuple[Word, ...] = ()

    def slot(self, language: Literal["ru", "en"]) -> Slot:
        return Slot(self.name, self.label, getattr(self.question, language), self.required, self.allowed)


class Definition(BaseModel):
    """`role_prompt` is a row of system_prompts; `toolset` names tools, or domains for all that is in them.

    With `slots` it collects values; `completion` is the tool that works on all of them once the user has confirmed.
    `photo`: an image of a request belongs to what it collects.
    `memory`: light leaves models out of remembering, off leaves memory out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Word
    role_prompt: Word
    routing: Literal["single"] = "single"
    toolset: tuple[str, ...] = ()
    default_mode: Mode = "auto"
    limits: Limits = Limits()
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    slots: tuple[SlotField, ...] = ()
    completion: Word | None = None
    photo: bool = False
    memory: Literal["full", "light", "off"] = "full"
    language: Literal["auto", "ru", "en"] = "auto"

    @model_validator(mode="after")
    def _can_collect(self) -> Self:
        try:
            declared([one.slot("en") for one in self.slots])
        except MaasError as error:
            raise ValueError(f"slots: {error.message}") from error
        if bool(self.slots) != (self.completion is not None):
            raise ValueError("slots and completion belong together: name both or neither")
        return self

    def tools(self, known: Toolset) -> Toolset:
        """What it may call. Raises MaasError('bad_assistant') for a name that is neither a tool nor a domain."""
        if unknown := [name for name in self.toolset if not known.may_hold(name)]:
            has = ", ".join(sorted({one.name for one in known} | set(known.domains())))
            raise bad(
                self.name, f"there is no tool or domain {unknown[0]!r}; there are, with those of MAAS_TOOLS: {has}"
            )
        mine = Toolset(one for one in known if one.name in self.toolset or one.domain in self.toolset)
        if self.completion is not None and mine.get(self.completion) is None:
            raise bad(self.name, f"completion: {self.completion!r} is no tool of its toolset")
        return mine


def read_definition(name: str, role: str, fields: Mapping[str, Any]) -> Definition:
    """From a row of `assistants`. Raises MaasError('bad_assistant'), naming assistant and field."""
    try:
        return Definition.model_validate({"name": name, "role_prompt": role} | dict(fields))
    except ValidationError as error:
        raise bad(name, _message(error.errors(include_url=False))) from error


def bad(name: str, message: str) -> MaasError:
    return MaasError("bad_assistant", f"assistant {name!r}: {message}")


def _message(errors: Iterable[Any]) -> str:
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, one["loc"])), one["msg"].removeprefix("Value error, "))))
        for one in errors
    )
