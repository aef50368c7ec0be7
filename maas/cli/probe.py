"""One short call of every configured model, for `maas doctor --live`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import asyncpg

from maas.builtin_model import PROVIDERS
from shared.db import Database
from shared.errors import MaasError
from shared.models.embedders import open_embedder
from shared.models.registry import open_model
from shared.models.retry import once
from shared.models.types import Message, Request, Usage
from shared.settings import ROLES, Settings

PROMPT = "Reply with one word: yes."
REQUEST = Request(
    "FinalResponder", (Message("user", PROMPT),), max_tokens=200, inputs={"user_query": PROMPT, "memory": []}
)
REMEDIES = {
    "unauthorized": "correct its key",
    "unknown_model": "correct its name",
    "bad_request": "correct its name or its settings",
    "unreachable": "check its base URL and the network of this machine",
    "timeout": "check its base URL and the network of this machine",
    "rate_limited": "check the limits and the credit of its account",
}


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One call: `name` for people, `spec` as provider:model, duration, usage; `cause` is None if it succeeded."""

    name: str
    spec: str
    ms: float
    usage: Usage
    cause: str | None = None


async def probe_models(settings: Settings) -> AsyncIterator[ProbeResult]:
    """Call each model of a role once, then the embedding model; no call is repeated."""
    roles: dict[str, list[str]] = {}
    for role in ROLES:
        roles.setdefault(settings.role_model(role), []).append(role)
    for spec, names in roles.items():
        yield await _probe(f"{spec} ({', '.join(names)})", spec, partial(_complete, spec, settings))
    if settings.embedding_model is not None:
        spec = settings.embedding_model.partition("@")[0]
        yield await _probe(f"{settings.embedding_model} (vectors)", spec, partial(_embed, settings))


async def describe_price(db: Database, probe: ProbeResult) -> str:
    """The price of a call in dollars, or `price unknown`."""
    provider, _, model = probe.spec.partition(":")
    usage = probe.usage
    try:
        micros = await db.value(
            "price", provider.strip(), model.strip(), usage.tokens_in, usage.tokens_cached, usage.tokens_out
        )
    except asyncpg.UndefinedFunctionError:
        micros = None  # migrations are pending, as another check says
    return "price unknown" if micros is None else f"${micros / 1e6:.6f}"


async def _probe(name: str, spec: str, call: Callable[[], Awaitable[Usage]]) -> ProbeResult:
    began = time.monotonic()
    usage, cause = Usage(), None
    try:
        usage = await call()
    except MaasError as error:
        remedy = REMEDIES.get(error.code)
        cause = f"{error.message}; {remedy}" if remedy else error.message
    return ProbeResult(name, spec, (time.monotonic() - began) * 1000, usage, cause)


async def _complete(spec: str, settings: Settings) -> Usage:
    model = open_model(spec, settings, PROVIDERS)
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
        embeddings = await once(embedder, partial(embedder.embed, [PROMPT], "document"), settings.attempt_timeout)
    finally:
        await embedder.close()
    return Usage(embeddings.tokens)
