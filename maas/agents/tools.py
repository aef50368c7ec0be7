"""Tools: what an assistant can call, declared once beside the function that does it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, get_args, get_type_hints
from uuid import UUID

from pydantic import BaseModel

from maas.agents.policy import Effect
from maas.agents.schemas import plain, wrong
from shared.models.types import ToolSpec

SECONDS: dict[Effect, float] = {"read": 30.0, "write": 60.0, "dangerous": 60.0}
LONGEST = 600.0
SEPARATOR = "__"  # between a server and its tool
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_DESCRIPTION_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Context:
    """For whom a tool acts; `values` holds what its assistant adds, tokens of access too, and is never shown."""

    user_id: UUID
    run_id: UUID
    conversation_id: UUID | None = None
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)


Handler = Callable[[Any, Context], Awaitable[Any]]


class NoArguments(BaseModel):
    """Of a tool that takes none."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool; `timeout` in seconds, `reason` says to a person what an approval lets happen.

    `parameters` is the schema that models see; without `arguments` the handler gets plain JSON that keeps to it.
    `is_meta` marks the catalogue and its router: they change nothing themselves, so they are neither counted nor asked
    for nor timed; each call that they pass on is.
    Raises MaasError('wrong_tool') for a declaration that no model could call.
    """

    name: str
    domain: str
    description: str
    effect: Effect
    handler: Handler = field(repr=False, compare=False)
    arguments: type[BaseModel] | None = NoArguments
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout: float = 30.0
    is_idempotent: bool = False
    reason: str = ""
    via: str = "local"
    is_meta: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise wrong(f"{self.name!r}: a tool's name is 1 to 64 Latin letters, digits, _ and -, no digit first")
        if not self.domain.strip():
            raise wrong(f"{self.name}: name its domain")
        if not 0 < len(self.description.strip()) <= _DESCRIPTION_CHARS:
            raise wrong(f"{self.name}: describe it in 1 to {_DESCRIPTION_CHARS} characters; models choose by that")
        if self.effect not in get_args(Effect):
            raise wrong(f"{self.name}: its effect is one of {', '.join(get_args(Effect))}, not {self.effect!r}")
        if not 0 < self.timeout <= LONGEST:
            raise wrong(f"{self.name}: its timeout is more than 0 and at most {LONGEST:.0f} seconds")
        try:
            schema = self.parameters or (self.arguments or NoArguments).model_json_schema()
            object.__setattr__(self, "parameters", plain(schema))
        except ValueError as error:  # of pydantic: a type that no schema can show
            raise wrong(f"{self.name}: {error}") from error

    @property
    def spec(self) -> ToolSpec:
        """What a model is told."""
        return ToolSpec(self.name, self.description, self.parameters)

    @property
    def version(self) -> str:
        """Changes with name, schema or effect: what was approved before is then no longer what would run."""
        what = json.dumps([self.name, self.parameters, self.effect], sort_keys=True, ensure_ascii=False)
        return sha256(what.encode()).hexdigest()[:16]


def tool(
    *,
    domain: str,
    effect: Effect,
    timeout: float | None = None,
    idempotent: bool = False,
    name: str | None = None,
    reason: str = "",
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Make a Tool of an async function; its docstring is the description.

    The function takes a pydantic model, a Context, both or neither. Raises MaasError('wrong_tool').
    """

    def declare(function: Callable[..., Awaitable[Any]]) -> Tool:
        called = name or function.__name__
        takes, model = _parameters(function, called)

        async def handle(arguments: Any, context: Context) -> Any:
            given = {"arguments": arguments, "context": context}
            return await function(**{parameter: given[what] for parameter, what in takes.items()})

        description = inspect.cleandoc(function.__doc__ or "")
        seconds = SECONDS.get(effect, LONGEST) if timeout is None else timeout
        return Tool(called, domain, description, effect, handle, model, {}, seconds, idempotent, reason)

    return declare


def _parameters(function: Callable[..., Any], name: str) -> tuple[dict[str, str], type[BaseModel]]:
    """Which parameter takes what, and the model of the arguments."""
    if not inspect.iscoroutinefunction(function):
        raise wrong(f"{name}: must be an async function")
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise wrong(f"{name}: {error}; declare its model at the top of the module") from error
    takes: dict[str, str] = {}
    model: type[BaseModel] = NoArguments
    for parameter in inspect.signature(function).parameters:
        hint = hints.get(parameter)
        if hint is Context:
            takes[parameter] = "context"
        elif isinstance(hint, type) and issubclass(hint, BaseModel):
            takes[parameter], model = "arguments", hint
        else:
            raise wrong(f"{name}: {parameter} must be a pydantic model or a Context")
    if len(set(takes.values())) != len(takes):
        raise wrong(f"{name}: takes at most one pydantic model and one Context")
    return takes, model


class Toolset:
    """Tools by their names, in the order given; those of `remote` domains come and go.

    Raises MaasError('wrong_tool') when two have one name.
    """

    def __init__(self, tools: Iterable[Tool], remote: Iterable[str] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._remote = tuple(remote)
        for one in tools:
            if (other := self._tools.setdefault(one.name, one)) is not one:
                raise wrong(f"two tools are named {one.name!r}, in {other.domain} and in {one.domain}: rename one")

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def domains(self) -> tuple[str, ...]:
        """In the order of their first tools; remote ones without any are the last."""
        return tuple(dict.fromkeys((*(one.domain for one in self), *self._remote)))

    def may_hold(self, name: str) -> bool:
        """Whether it is a tool, a domain, or what a remote domain that is silent now may call a tool."""
        return name in self._tools or name in self.domains() or name.partition(SEPARATOR)[0] in self._remote

    def of(self, domain: str) -> tuple[Tool, ...]:
        return tuple(one for one in self if one.domain == domain)
