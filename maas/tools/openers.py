"""Openers: what the tools of a domain get for one run, such as an account and its token, and whether they can be used.

An opener is declared beside TOOLS: `OPENERS = {"shop": open_shop}`. Its mapping becomes `ToolContext.values` of the
domain's tools. Two members are for the runtime: `connected` and `has_data`, True if they are left out.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from traceback import extract_tb
from typing import Any

import structlog
from pydantic import SecretBytes, SecretStr

from maas import queries
from maas.engine.stages import Deps
from maas.runs.debug_info import debug_log
from maas.tools.calls import ToolFailure, refused
from maas.tools.tool import Need, ToolContext
from shared.db import Database
from shared.log import Secrets, is_secret_name, mask
from shared.text import shorten

OPEN_TIMEOUT_S = 5.0
MAX_VALUES_BYTES = 65_536
MAX_VALUES = 5_000  # members and elements, at every depth
MAX_CAUSE_CHARS = 300
_FLAGS = ("connected", "has_data")
_NO_SECRETS = Secrets(())
log = structlog.get_logger()

Opener = Callable[[Deps, ToolContext], Awaitable[Mapping[str, Any]]]
BoundOpener = Callable[[ToolContext], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class OpenedDomain:
    """A domain as its opener left it. `problem`: why no tool of it can be used, for the model; `say`, for the user.

    Without an opener nothing reports whether it is connected or has data; then it counts as both.
    `secrets` are the texts among `values` that nobody may read.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    is_connected: bool = True
    has_data: bool = True
    has_opener: bool = False
    secrets: Secrets = field(default=_NO_SECRETS, repr=False)
    problem: str = ""
    say: str = ""

    def refusal(self, needs: Need | None) -> dict[str, Any] | None:
        """The body of a call of a tool with these needs that cannot be made; None if it can."""
        if self.problem:
            return refused("failed", self.problem, **({"say": self.say} if self.say else {}))
        if needs == "connected" and not self.is_connected:
            return refused("not_connected", f"{self.name} is not connected: tell the user, answer without it")
        if needs == "data" and not self.has_data:
            return refused("no_data", f"{self.name} has no data yet: tell the user, answer without it")
        return None

    def fill(self, context: ToolContext) -> ToolContext:
        """`context` with the values of this domain; those that it has already go before."""
        return replace(context, values={**self.values, **context.values}) if self.values else context


class OpenDomains:
    """The domains of one run. Each is opened when it is first needed, and only once, even if that fails.

    `db` knows the account of the run; without it, `context` does.
    """

    def __init__(self, openers: Mapping[str, BoundOpener], context: ToolContext, db: Database | None = None) -> None:
        self._openers = openers
        self._context = context
        self._db = db
        self._opened: dict[str, OpenedDomain] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def open(self, name: str) -> OpenedDomain:
        """The domain. Without an opener it is connected and has data. Raises an error of the database."""
        if (opened := self._opened.get(name)) is not None:
            return opened
        if (opener := self._openers.get(name)) is None:
            return self._opened.setdefault(name, OpenedDomain(name))
        async with self._locks[name]:
            if name not in self._opened:
                self._opened[name] = await self._open(name, opener)
        return self._opened[name]

    async def _open(self, name: str, opener: BoundOpener) -> OpenedDomain:
        context = self._context
        if context.account_id is None and self._db is not None:
            account_id = await self._db.value(queries.run_account, context.run_id)
            context = self._context = replace(context, account_id=account_id)
        limit = asyncio.timeout(OPEN_TIMEOUT_S)
        try:
            async with limit:
                returned = await opener(context)
            opened = _read(name, returned)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            return await _failed(name, "its opener was cancelled")  # by something within it; the run goes on
        except ToolFailure as failure:
            return await _failed(name, mask(failure.message), str((failure.details or {}).get("say", "")))
        except Exception as error:
            # Without its message: that may quote a secret that no mask knows yet.
            last = extract_tb(error.__traceback__)[-1]
            where = f"{last.filename}:{last.lineno}"
            log.error("opener_crashed", domain=name, error=type(error).__name__, where=where)
            is_late = limit.expired()
            cause = f"it gave no values within {OPEN_TIMEOUT_S:g} s" if is_late else "its opener failed"
            return await _failed(name, cause)
        await debug_log().info(
            3, "opened", {"domain": name, "connected": opened.is_connected, "has_data": opened.has_data}
        )
        return opened


def bind_openers(openers: Mapping[str, Opener], deps: Deps) -> dict[str, BoundOpener]:
    """The openers, each with its dependencies."""
    return {name: partial(opener, deps) for name, opener in openers.items()}


async def _failed(name: str, cause: str, say: str = "") -> OpenedDomain:
    cause = shorten(cause.rstrip(". "), MAX_CAUSE_CHARS)
    log.warning("domain_open_failed", domain=name, cause=cause)
    await debug_log().error(3, "opened", "failed", {"domain": name}, cause)
    problem = f"{name} cannot be used now: {cause}. Answer without it and tell the user"
    return OpenedDomain(name, is_connected=False, has_data=False, has_opener=True, problem=problem, say=say)


def _read(name: str, returned: object) -> OpenedDomain:
    """Raises ToolFailure for what is no mapping, is too large, or has flags that are not booleans."""
    if not isinstance(returned, Mapping):
        raise ToolFailure(f"its opener returned {type(returned).__name__}, not a mapping")
    secrets = _secrets(returned)
    flags = {flag: returned.get(flag, True) for flag in _FLAGS}
    if not all(isinstance(flag, bool) for flag in flags.values()):
        raise ToolFailure(f"its opener must set {' and '.join(_FLAGS)} to True or False")
    values = {str(key): value for key, value in returned.items() if key not in _FLAGS}
    return OpenedDomain(name, values, flags["connected"], flags["has_data"], has_opener=True, secrets=Secrets(secrets))


def _secrets(values: Mapping[Any, Any]) -> set[str]:
    """The texts in `values` that are SecretStr or have the name of a secret. Raises ToolFailure if it is too large."""
    secrets: set[str] = set()
    size, count = 0, 0
    waiting: list[tuple[Any, bool]] = [(values, False)]
    while waiting:
        value, is_secret = waiting.pop()
        if isinstance(value, SecretStr | SecretBytes):
            value, is_secret = value.get_secret_value(), True
        if isinstance(value, str | bytes | bytearray):
            size += len(value)
            if is_secret and size <= MAX_VALUES_BYTES:
                secrets.add(value if isinstance(value, str) else value.decode(errors="replace"))
        elif isinstance(value, Mapping | list | tuple | set | frozenset):
            count += len(value)
            if count <= MAX_VALUES and isinstance(value, Mapping):
                waiting += [(key, False) for key in value]
                waiting += [(one, is_secret or is_secret_name(str(key))) for key, one in value.items()]
            elif count <= MAX_VALUES:
                waiting += [(one, is_secret) for one in value]
        if size > MAX_VALUES_BYTES or count > MAX_VALUES:
            limit = f"{MAX_VALUES_BYTES:,} characters or {MAX_VALUES:,} values"
            raise ToolFailure(f"its opener returned more than {limit}")
    return secrets
