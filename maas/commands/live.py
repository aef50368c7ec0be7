"""What `maas doctor --live` asks: every configured model, once and shortly."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import asyncpg

from shared.db import Database
from shared.errors import MaasError
from shared.models.embedders import open_embedder
from shared.models.policy import once
from shared.models.registry import open_model
from shared.models.types import Message, Request, Usage
from shared.settings import ROLES, Settings

WORDS = "Reply with one word: yes."
REQUEST = Request(
    "FinalResponder", (Message("user", WORDS),), max_tokens=200, inputs={"user_query": WORDS, "memory": []}
)
HINTS = {
    "unauthorized": "correct its key",
    "unknown_model": "correct its name",
    "bad_request": "correct its name or its settings",
    "unreachable": "check its base URL, and whether this machine reaches it",
    "timeout": "check its base URL, and whether this machine reaches it",
    "rate_limited": "look at the limits and the credit of its account",
}


@dataclass(frozen=True, slots=True)
class Found:
    """How one call went: `cause` of a failure, otherwise None; `spec` is its provider:model."""

    name: str
    spec: str
    ms: float
    usage: Usage
    cause: str | None = None


async def ask_models(settings: Settings) -> AsyncIterator[Found]:
    """One call of each model that a role has, and one of the embedder; none is repeated."""
    roles: dict[str, list[str]] = {}
    for role in ROLES:
        roles.setdefault(settings.role_model(role), []).append(role)
    for spec, named in roles.items():
        yield await _find(f"{spec} ({', '.join(named)})", spec, partial(_ask, spec, settings))
    if settings.embedding_model is not None:
        spec = settings.embedding_model.partition("@")[0]
        yield await _find(f"{settings.embedding_model} (vectors)", spec, partial(_embed, settings))


async def price(db: Database, found: Found) -> str:
    """What a call cost, in words."""
    provider, _, model = found.spec.partition(":")
    used = found.usage
    try:
        micros = await db.value(
            "price", provider.strip(), model.strip(), used.tokens_in, used.tokens_cached, used.tokens_out
        )
    except asyncpg.UndefinedFunctionError:
        micros = None  # migrations are pending, as another check says
    return "price unknown" if micros is None else f"${micros / 1e6:.6f}"


async def _find(name: str, spec: str, call: Callable[[], Awaitable[Usage]]) -> Found:
    began = time.monotonic()
    usage, cause = Usage(), None
    try:
        usage = await call()
    except MaasError as error:
        hint = HINTS.get(error.code)
        cause = f"{error.message}; {hint}" if hint else error.message
    return Found(name, spec, (time.monotonic() - began) * 1000, usage, cause)


async def _ask(spec: str, settings: Settings) -> Usage:
    model = open_model(spec, settings)
    try:
        reply = await once(model, partial(model.complete, REQUEST), settings.attempt_timeout)
    finally:
        await model.close()
    if reply.finish not in ("stop", "length"):
        raise MaasError("malformed", f"{spec} sent no answer (finish: {reply.finish})")
    return reply.usage


async def _embed(settings: Settings) -> Usage:
    embedder = open_embedder(settings)
    assert embedder is not None
    try:
        call = partial(embedder.embed, [WORDS], "document")
        found = await once(embedder, call, settings.attempt_timeout)
    finally:
        await embedder.close()
    return Usage(found.tokens)
