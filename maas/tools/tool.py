"""Tools: what an assistant can call, declared once beside the function that does it, with a schema for models.

`decide` is the approval policy: whether a call runs at once, waits for its user's approval, or is refused.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any, Literal, Protocol, assert_never, get_args, get_type_hints
from uuid import UUID

from pydantic import BaseModel

from maas.prompt_rows import PromptLanguage
from maas.tools.schema import Schema, plain_schema, wrong_tool
from maas.tools.wording import Preview, Wording
from shared.errors import MaasError
from shared.models import Image, Reply, Request, ToolSpec

Effect = Literal["read", "write", "dangerous"]
Mode = Literal["auto", "plan", "ask"]
Decision = Literal["run", "ask", "refuse"]
Need = Literal["connected", "data"]

DEFAULT_TIMEOUT_S: dict[Effect, float] = {"read": 30.0, "write": 60.0, "dangerous": 60.0}
MAX_TIMEOUT_S = 600.0
SEPARATOR = "__"  # between a server and its tool
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MAX_DESCRIPTION_CHARS = 1000


class ToolModels(Protocol):
    """The models that a tool may use on behalf of one run."""

    async def ask(self, request: Request, model: str | None, timeout: float) -> Reply: ...

    async def draw(self, prompt: str, photo: Image | None, timeout: float) -> Image: ...

    async def prompt_language(self) -> PromptLanguage: ...


class NestedResult(Protocol):
    """The result of a call that a tool made, a `ToolResult`. `code` says why it gave no data; None for a success."""

    @property
    def tool(self) -> Tool | None: ...

    @property
    def body(self) -> Mapping[str, Any]: ...

    @property
    def code(self) -> str | None: ...

    def untimed(self) -> dict[str, Any]:
        """Return the body without latencies and ids of documents, as a model reads it."""
        ...


class OtherTools(Protocol):
    """The tools of a run that one of its tools may call: those that are open to the run, but for its own domain."""

    @property
    def tools(self) -> Toolset: ...

    async def call(self, name: str, arguments: str) -> NestedResult: ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The user and the run that a tool acts for. `values` are those of its domain's opener and of its assistant.

    `values`, which may hold access tokens, never appear in logs. `account_id` is for openers: the account that the
    request or its conversation names. A client wrote it, so an opener checks that it is the user's. `models` is None
    for a call by hand, outside of a run. `others` are the tools that this one may call, see
    maas.tools.nested_calls; None where it may call none.
    """

    user_id: UUID
    run_id: UUID
    conversation_id: UUID | None = None
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    account_id: str | None = None
    models: ToolModels | None = field(default=None, repr=False, compare=False)
    others: OtherTools | None = field(default=None, repr=False, compare=False)

    async def ask(self, request: Request, *, model: str | None = None, timeout: float = 60.0) -> Reply:
        """Ask the model of `request.role`, or `model` as `provider:model`, within `timeout` seconds.
        The call is one of this run: recorded and priced, within its budgets, behind the circuit breaker of the model,
        made once although a process crashes, not shown to followers, and says what day it is. Raises MaasError:
        ModelError if the model fails, `no_model` without one, `failed` once the user's daily budget is spent.
        """
        return await self._models().ask(request, model, timeout)

    async def draw(self, prompt: str, photo: Image | None = None, *, timeout: float = 120.0) -> Image:
        """Generate an image within `timeout` seconds; the call is recorded and priced. Raises MaasError as `ask`."""
        return await self._models().draw(prompt, photo, timeout)

    async def prompt_language(self) -> PromptLanguage:
        """The language of the prompts of the run's assistant. Raises MaasError('no_model') outside of a run."""
        return await self._models().prompt_language()

    def _models(self) -> ToolModels:
        if self.models is None:
            raise MaasError("no_model", "models are asked within runs only: ask the assistant that has this tool")
        return self.models


Handler = Callable[[Any, ToolContext], Awaitable[Any]]
Verify = Callable[[Any, ToolContext, Any], Awaitable[Any]]
Prepare = Callable[[Any, ToolContext], Awaitable[Mapping[str, Any]]]
Look = Callable[[Any, ToolContext], Awaitable[Preview]]


class NoArguments(BaseModel):
    """The arguments of a tool that takes none."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `timeout` is in seconds; `reason` tells a person what an approval lets happen.

    `parameters` is the schema that models see. A tool without `arguments` gets the plain JSON that the schema allows.
    `needs`: the tool can be used only if its domain's opener reports that the domain is connected, or has stored data.
    `is_meta` marks tools that only list tools or pass calls on. The executor does not count them, time them or ask for
    approval of them; it does all that with each call that they pass on.
    `verify` gets the arguments, the context and the data that a write returned; it looks what became of the write and
    returns that as JSON without times, the `verification` of the result. Only foreign tools that write have none: see
    maas.assistants.registry.load_tools.
    `prepare` completes the arguments of a dangerous call before its user is asked: what it returns is what is shown,
    approved and executed. It changes nothing outside. `prepare_edit` does so for arguments that a person has edited; by
    default `prepare` does.
    `wording` describes a call to people. `preview` looks what it would do before its user is asked: its object by
    name, old and new values. It changes nothing; where it fails, the arguments alone are shown.
    `event` is the type of an event of a plugin, which ends the answer of a dialogue with the `attachment_id` of the
    result.
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
    is_meta: bool = False
    needs: Need | None = None
    verify: Verify | None = field(default=None, repr=False, compare=False)
    prepare: Prepare | None = field(default=None, repr=False, compare=False)
    prepare_edit: Prepare | None = field(default=None, repr=False, compare=False)
    wording: Wording = field(default=Wording(), repr=False, compare=False)
    preview: Look | None = field(default=None, repr=False, compare=False)
    event: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise wrong_tool(f"{self.name!r}: a tool's name is 1 to 64 Latin letters, digits, _ and -, no digit first")
        if not self.domain.strip():
            raise wrong_tool(f"{self.name}: name its domain")
        if not 0 < len(self.description.strip()) <= _MAX_DESCRIPTION_CHARS:
            limit = _MAX_DESCRIPTION_CHARS
            raise wrong_tool(f"{self.name}: describe it in 1 to {limit} characters; models choose by that")
        if self.effect not in get_args(Effect):
            raise wrong_tool(f"{self.name}: its effect is one of {', '.join(get_args(Effect))}, not {self.effect!r}")
        if self.needs not in (None, *get_args(Need)):
            raise wrong_tool(f"{self.name}: it needs {' or '.join(get_args(Need))}, or None, not {self.needs!r}")
        if self.prepare is not None and self.effect != "dangerous":
            raise wrong_tool(f"{self.name}: only a dangerous tool prepares its calls; others are not always shown")
        object.__setattr__(self, "reason", self.reason or (self.wording.reason.en if self.wording.reason else ""))
        if not 0 < self.timeout <= MAX_TIMEOUT_S:
            raise wrong_tool(f"{self.name}: its timeout is more than 0 and at most {MAX_TIMEOUT_S:.0f} seconds")
        try:
            schema = plain_schema(self.parameters) if self.parameters else schema_of(self.arguments or NoArguments)
            object.__setattr__(self, "parameters", schema)
        except ValueError as error:  # of pydantic: a type that no schema can show
            raise wrong_tool(f"{self.name}: {error}") from error

    @property
    def spec(self) -> ToolSpec:
        """The declaration that a model gets."""
        return ToolSpec(self.name, self.description, self.parameters)

    @property
    def is_looked_up(self) -> bool:
        """Whether it looks up the arguments of a call before its user decides on it."""
        return self.prepare is not None or self.preview is not None

    @property
    def version(self) -> str:
        """A hash of name, schema and effect. An approval holds for one version only."""
        text = json.dumps([self.name, self.parameters, self.effect], sort_keys=True, ensure_ascii=False)
        return sha256(text.encode()).hexdigest()[:16]


def tool(
    *,
    domain: str,
    effect: Effect,
    timeout: float | None = None,
    idempotent: bool = False,
    name: str | None = None,
    reason: str = "",
    needs: Need | None = None,
    verify: Verify | None = None,
    prepare: Prepare | None = None,
    prepare_edit: Prepare | None = None,
    wording: Wording | None = None,
    preview: Look | None = None,
    event: str | None = None,
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Make a Tool of an async function; its docstring is the description.

    The function takes a pydantic model, a ToolContext, both or neither. Raises MaasError('wrong_tool').
    """

    def declare(function: Callable[..., Awaitable[Any]]) -> Tool:
        tool_name = name or function.__name__
        parameters, model = _parameters(function, tool_name)

        async def handle(arguments: Any, context: ToolContext) -> Any:
            values = {"arguments": arguments, "context": context}
            return await function(**{parameter: values[kind] for parameter, kind in parameters.items()})

        description = inspect.cleandoc(function.__doc__ or "")
        timeout_s = DEFAULT_TIMEOUT_S.get(effect, MAX_TIMEOUT_S) if timeout is None else timeout
        return Tool(
            tool_name,
            domain,
            description,
            effect,
            handle,
            model,
            {},
            timeout_s,
            idempotent,
            reason,
            needs=needs,
            verify=verify,
            prepare=prepare,
            prepare_edit=prepare_edit,
            wording=wording or Wording(),
            preview=preview,
            event=event,
        )

    return declare


@cache
def schema_of(arguments: type[BaseModel]) -> Schema:
    """Return the schema that models see of a tool with these arguments. Raises ValueError."""
    return plain_schema(arguments.model_json_schema())


def _parameters(function: Callable[..., Any], name: str) -> tuple[dict[str, str], type[BaseModel]]:
    """Map each parameter to `arguments` or `context`, and return the model of the arguments."""
    if not inspect.iscoroutinefunction(function):
        raise wrong_tool(f"{name}: must be an async function")
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise wrong_tool(f"{name}: {error}; declare its model at the top of the module") from error
    kinds: dict[str, str] = {}
    model: type[BaseModel] = NoArguments
    for parameter in inspect.signature(function).parameters:
        hint = hints.get(parameter)
        if hint is ToolContext:
            kinds[parameter] = "context"
        elif isinstance(hint, type) and issubclass(hint, BaseModel):
            kinds[parameter], model = "arguments", hint
        else:
            raise wrong_tool(f"{name}: {parameter} must be a pydantic model or a ToolContext")
    if len(set(kinds.values())) != len(kinds):
        raise wrong_tool(f"{name}: takes at most one pydantic model and one ToolContext")
    return kinds, model


def decide(effect: Effect, mode: Mode, is_allowed: bool) -> Decision:
    """Decide on a call with this effect. A dangerous call needs approval in every mode."""
    if not is_allowed:
        return "refuse"
    if effect == "dangerous" or mode == "ask":
        return "ask"
    match mode:
        case "auto":
            return "run"
        case "plan":
            return "ask" if effect == "write" else "run"
        case _:
            assert_never(mode)


class Toolset:
    """Tools by name, in the order of `tools`. The tools of `remote` domains appear and disappear while a process runs.

    `expected` are the names of such tools that do not begin with their domain.

    Raises MaasError('wrong_tool') when two tools have one name.
    """

    def __init__(self, tools: Iterable[Tool], remote: Iterable[str] = (), expected: Iterable[str] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._remote = tuple(remote)
        self._expected = frozenset(expected)
        for one in tools:
            if (other := self._tools.setdefault(one.name, one)) is not one:
                raise wrong_tool(f"two tools are named {one.name!r}, in {other.domain} and in {one.domain}: rename one")

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def names(self) -> Set[str]:
        return self._tools.keys()

    def domains(self) -> tuple[str, ...]:
        """The domains in the order of their first tools, then the remote ones that have no tools now."""
        return tuple(dict.fromkeys((*(one.domain for one in self), *self._remote)))

    def may_hold(self, name: str) -> bool:
        """Whether `name` is a tool, a domain, or a possible tool of a remote domain that is not connected."""
        is_expected = name in self._expected or name.partition(SEPARATOR)[0] in self._remote
        return is_expected or name in self._tools or name in self.domains()

    def is_remote(self, domain: str) -> bool:
        """Whether a server of this name is configured, connected or not."""
        return domain in self._remote

    def of(self, domain: str) -> tuple[Tool, ...]:
        return tuple(one for one in self if one.domain == domain)
