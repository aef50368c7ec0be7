"""An assistant as data: whose words it speaks, which tools it may call, in which mode, and how far it may go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from maas.agents.executor import CALLS
from maas.agents.policy import Mode
from maas.agents.tools import Toolset
from shared.errors import MaasError

Word = Annotated[str, Field(min_length=1, max_length=50)]


class Limits(BaseModel):
    """Of one answer: model calls, tool calls, and seconds in all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rounds: Annotated[int, Field(ge=1, le=50)] = 10
    calls: Annotated[int, Field(ge=1, le=200)] = CALLS
    seconds: Annotated[float, Field(gt=0, le=3600)] = 300.0


class Definition(BaseModel):
    """`role_prompt` is a row of system_prompts; `toolset` names tools, or domains for all that is in them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Word
    role_prompt: Word
    routing: Literal["single"] = "single"
    toolset: tuple[str, ...] = ()
    default_mode: Mode = "auto"
    limits: Limits = Limits()
    language: Literal["auto", "ru", "en"] = "auto"

    def tools(self, known: Toolset) -> Toolset:
        """What it may call. Raises MaasError('bad_assistant') for a name that is neither a tool nor a domain."""
        there = {one.name for one in known} | set(known.domains())
        if unknown := [name for name in self.toolset if name not in there]:
            has = ", ".join(sorted(there)) or "none; name toolsets in MAAS_TOOLS"
            raise bad(self.name, f"there is no tool or domain {unknown[0]!r}; there are: {has}")
        return Toolset(one for one in known if one.name in self.toolset or one.domain in self.toolset)


def read_definition(name: str, role: str, fields: Mapping[str, Any]) -> Definition:
    """From a row of `assistants`. Raises MaasError('bad_assistant'), naming assistant and field."""
    try:
        return Definition.model_validate({"name": name, "role_prompt": role} | dict(fields))
    except ValidationError as error:
        raise bad(name, _message(error.errors(include_url=False))) from error


def bad(name: str, message: str) -> MaasError:
    return MaasError("bad_assistant", f"assistant {name!r}: {message}")


def _message(errors: Iterable[Any]) -> str:
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors)
