"""Calls of the configured models, for `maas doctor --live`: how long they take, what they cost, what is wrong."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

import asyncpg

from maas import queries
from maas.builtin_model import PROVIDERS
from maas.model_registry import lacks_default_embedder, open_embedder, open_model
from maas.settings import Settings
from maas.settings.embeddings import NO_EMBEDDING_MODEL
from maas.settings.models import ROLES
from maas.settings.profiles import is_at_home
from shared.db import Database
from shared.errors import MaasError
from shared.models import Message, Request, Usage
from shared.models.remedies import cause_of
from shared.models.retry import once

PROBE_TEXT = "Reply with one word: yes."
PROBE_REQUEST = Request(
    "FinalResponder", (Message("user", PROBE_TEXT),), max_tokens=200, inputs={"user_query": PROBE_TEXT, "memory": []}
)
HOME_TIMEOUT_S = 300.0
REMEDIES = {
    "unauthorized": "correct its key",
    "unknown_model": "correct its name",
    "bad_request": "correct its name or its settings",
    "unreachable": "check its base URL and the network of this machine",
    "timeout": "check its base URL and the network of this machine",
    "rate_limited": "check the limits and credit of its account",
}


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One call: `name` for people, `spec` as provider:model, duration, usage; `cause` is None if it succeeded.

    `traits` and `advice` are what else was found out about a server at home.
    """

    name: str
    spec: str
    ms: float
    usage: Usage
    cause: str | None = None
    traits: str = ""
    advice: str = ""


async def probe_models(settings: Settings) -> AsyncIterator[ProbeResult]:
    """Call each model of a role once, one at home three times more, then the embedding model; no call is repeated."""
    roles: dict[str, list[str]] = {}
    for role in ROLES:
        roles.setdefault(settings.models.role_model(role), []).append(role)
    for spec, names in roles.items():
        is_local = is_at_home(spec, settings.providers.openai_base_url)
        result = await _probe(f"{spec} ({', '.join(names)})", spec, is_local, partial(_complete, spec, settings))
        yield await _with_traits(result, settings) if is_local and result.cause is None else result
    if settings.embeddings.embedding_model != NO_EMBEDDING_MODEL and not lacks_default_embedder(settings):
        spec = settings.embeddings.embedding_model.partition("@")[0]
        yield await _probe(f"{settings.embeddings.embedding_model} (vectors)", spec, False, partial(_embed, settings))


async def describe_price(db: Database, probe: ProbeResult) -> str:
    """The price of a call in dollars, or `price unknown`."""
    provider, _, model = probe.spec.partition(":")
    usage = probe.usage
    try:
        micros = await db.value(
            queries.price, provider.strip(), model.strip(), usage.tokens_in, usage.tokens_cached, usage.tokens_out
        )
    except asyncpg.UndefinedFunctionError:
        micros = None  # migrations are pending, as another check says
    return "price unknown" if micros is None else f"${micros / 1e6:.6f}"


async def _probe(name: str, spec: str, is_local: bool, call: Callable[[], Awaitable[Usage]]) -> ProbeResult:
    began = time.monotonic()
    usage, cause = Usage(), None
    try:
        usage = await call()
    except MaasError as error:
        is_explained = is_local and cause_of(error.code, error.message) is not None
        remedy = None if is_explained else REMEDIES.get(error.code)
        cause = f"{error.message}; {remedy}" if remedy else error.message
    return ProbeResult(name, spec, (time.monotonic() - began) * 1000, usage, cause)


async def _with_traits(result: ProbeResult, settings: Settings) -> ProbeResult:
    """Try the server at home of a model that has answered."""
    from maas.cli.server_probes import advise, try_server  # slow to load
    from shared.models.local_model import LocalModel

    model = open_model(result.spec, settings, PROVIDERS)
    assert isinstance(model, LocalModel)
    try:
        traits = await try_server(model)
    except MaasError as error:
        return replace(result, cause=error.message)
    finally:
        await model.close()
    return replace(result, traits=traits.describe(), advice="; ".join(advise(traits, settings)))


async def _complete(spec: str, settings: Settings) -> Usage:
    model = open_model(spec, settings, PROVIDERS)
    try:
        is_local = is_at_home(spec, settings.providers.openai_base_url)
        is_unlimited = is_local and not settings.models.has_own_attempt_timeout("")
        limit = HOME_TIMEOUT_S if is_unlimited else settings.models.attempt_timeout  # it may have to load the model
        reply = await once(model, partial(model.complete, PROBE_REQUEST), limit)
    finally:
        await model.close()
    if reply.finish not in ("stop", "length"):
        raise MaasError("malformed", f"{spec} sent no answer (finish: {reply.finish})")
    return reply.usage


async def _embed(settings: Settings) -> Usage:
    embedder = open_embedder(settings)
    assert embedder is not None
    try:
        embeddings = await once(
            embedder, partial(embedder.embed, [PROBE_TEXT], "document"), settings.models.attempt_timeout
        )
    finally:
        await embedder.close()
    return Usage(embeddings.tokens)
