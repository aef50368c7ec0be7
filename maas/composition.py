"""The composition root of everything that runs stages or tools: settings -> pool -> workers -> orchestrator.

Only `main.py` imports this module; the `maas` commands receive it as `maas.terminal.invocation.Composition`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from uuid import UUID

import structlog
import uvloop

from maas import queries
from maas.agents.runtime import Runtime, Toolbox
from maas.assistants.registry import built_in, load_openers, load_servers, load_tools, register, sync_tools
from maas.builtin_model import PROVIDERS, BuiltinModel
from maas.conversations.actions import keep_expiring
from maas.engine.events import EventLog
from maas.engine.orchestrator import Orchestrator
from maas.engine.spending import keep_summing
from maas.engine.stages import Deps, RoleModels, Stage
from maas.engine.states import STAGES
from maas.engine.supervision import BackgroundTask, Quarantine
from maas.facts.rebuild import FactRebuild
from maas.knowledge.embedding import keep_chunks_embedded
from maas.memory.embeddings import EmbeddingBackfill, open_query_embedder
from maas.memory.erase import keep_erasing, keep_purging
from maas.memory.term_counts import keep_terms_counted
from maas.model_registry import ModelCache, open_embedder, open_images, open_model
from maas.plugins import load_parts
from maas.runs.replay import Replay
from maas.runs.replay import replay as replay_stages
from maas.runs.schedules import keep_scheduling
from maas.runs.trials import with_trials
from maas.settings import Settings, load_settings
from maas.settings.models import ROLES
from maas.settings.variables import unknown_settings
from maas.tools.openers import bind_openers
from maas.user_secrets import UserSecrets
from maas.webhooks import keep_sending
from shared import log, tracing
from shared.db import Database, open_database, wait_for_postgres
from shared.errors import MaasError
from shared.models import Embedder, Model
from shared.postgres import PostgresUrls, find_postgres
from shared.process import close_to_others, end_with_parent
from shared.query import SQL
from workers import analyzer, archivist, assembler, compactor, draft_builder, final_responder

GARBAGE_THRESHOLD = 10_000  # new containers between two collections; Python's own is 700
PROGRAM = SQL.parent / "main.py"
WORKERS: dict[str, Stage] = {
    "analyzer": with_trials("analyzer", analyzer.run),
    "draft_builder": with_trials("draft_builder", draft_builder.run),
    "assembler": with_trials("assembler", assembler.run),
    "final_responder": final_responder.run,
    "archivist": archivist.run,
}


def choose_stages(names: tuple[str, ...]) -> dict[str, Stage]:
    """The named stages in the order of a run; all of them if `names` is empty. Raises MaasError('bad_setting')."""
    if unknown := [name for name in names if name not in WORKERS]:
        raise MaasError("bad_setting", f"there is no stage {unknown[0]!r}; stages are {', '.join(STAGES)}")
    return {name: WORKERS[name] for name in STAGES if not names or name in names}


def choose_background_tasks(
    deps: Deps, stages: Mapping[str, Stage], embedder: Embedder | None
) -> dict[str, BackgroundTask]:
    """Background tasks of an orchestrator with these stages, by name; compaction runs where the archivist does."""
    tasks: dict[str, BackgroundTask] = {
        "count_terms": partial(keep_terms_counted, deps.db),
        "expire_actions": partial(keep_expiring, deps.db),
        "erase": partial(keep_erasing, deps.db),
        "sums": partial(keep_summing, deps.db),
        "schedules": partial(keep_scheduling, deps.db),
        "webhooks": partial(keep_sending, deps.db, deps.settings.webhooks),
    }
    if archivist.NAME in stages and deps.settings.engine.compact_every:
        tasks[compactor.NAME] = partial(compactor.keep_compacting, deps)
    if (days := deps.settings.engine.retention_days) is not None:
        tasks["retention"] = partial(keep_purging, deps.db, days)
    if embedder is not None:
        tasks["embed"] = EmbeddingBackfill(deps.db, embedder, deps.settings.models).run
        tasks["embed_chunks"] = partial(keep_chunks_embedded, deps.db, embedder)
    for of_plugin in load_parts("tasks"):
        tasks |= of_plugin(deps)
    return tasks


def open_models(cache: ModelCache, choose: Callable[[str], str | None]) -> dict[str, Model]:
    """Open the `provider:model` that `choose` returns for each role; roles without one are left out.

    Raises MaasError for a model that cannot be opened.
    """
    return {role: cache.get(spec, role) for role in ROLES if (spec := choose(role))}


@asynccontextmanager
async def open_deps(db: Database, settings: Settings, embedder: Embedder | None) -> AsyncIterator[Deps]:
    """Open the dependencies of stages over an open database; close the embedder, too, at the end. Raises MaasError."""
    async with (
        open_query_embedder(db, embedder, settings.embeddings.embedding_timeout) as questions,
        open_images(settings) as images,
        aclosing(ModelCache(settings, PROVIDERS)) as named,
    ):
        models, fallbacks = (
            open_models(named, choose) for choose in (settings.models.role_model, settings.models.role_fallback)
        )
        yield Deps(db, settings, RoleModels(models, BuiltinModel(), fallbacks, named, images), questions, EventLog(db))


def add_tools(deps: Deps) -> tuple[Deps, Toolbox]:
    """Add the tool runtime to `deps`. MCP servers are connected on first use. Raises MaasError."""
    settings = deps.settings
    tools = load_tools(settings.assistants.tools, deps)
    openers = bind_openers(load_openers(settings.assistants.tools, tools), deps)
    servers = load_servers(settings, os.environ)
    toolbox = Toolbox(tools, servers, openers, UserSecrets(deps.db))
    return replace(deps, runtime=Runtime(toolbox)), toolbox


@asynccontextmanager
async def open_tools(db: Database, settings: Settings) -> AsyncIterator[Toolbox]:
    """Open all configured tools, for `maas tool`."""
    async with open_deps(db, settings, None) as deps:
        _, toolbox = add_tools(deps)
        try:
            yield toolbox
        finally:
            await toolbox.close()


async def replay(db: Database, settings: Settings, run_id: UUID, stage: str | None, model: str | None) -> list[Replay]:
    """Execute stages of a finished run again, all of them or `stage`, with `model` instead of the configured models."""
    async with AsyncExitStack() as stack:
        deps, _ = add_tools(await stack.enter_async_context(open_deps(db, settings, open_embedder(settings))))
        override = open_model(model, settings, PROVIDERS) if model is not None else None
        if override is not None:
            stack.push_async_callback(override.close)
        return await replay_stages(deps, WORKERS, run_id, stage, override)


async def compact(
    db: Database, settings: Settings, user_id: UUID | None, on_progress: Callable[[int, int], None]
) -> int:
    """Merge all summaries that are due now, of one user or of all; return how many were created."""
    async with open_deps(db, settings, None) as deps:
        return await compactor.compact_all(deps, user_id, on_progress=on_progress)


@asynccontextmanager
async def open_fact_rebuild(
    db: Database, settings: Settings, user_id: UUID, model: str | None
) -> AsyncIterator[FactRebuild]:
    """Read what is in memory of a user; `model` finds the facts, or the Archivist's where MAAS_FACTS is `model`."""
    async with open_deps(db, settings, None) as deps, AsyncExitStack() as stack:
        finder: Model = deps.models["Archivist"] if settings.answers.facts == "model" else deps.models.builtin
        if model is not None:
            finder = open_model(model, settings, PROVIDERS)
            stack.push_async_callback(finder.close)
        yield await FactRebuild.open(deps.with_models({"Archivist": finder}), user_id)


def isolate(settings: Settings, postgres: PostgresUrls) -> Quarantine:
    """The command that executes quarantined runs: this program over the same database and with the same stages."""
    stages = ["--stages", ",".join(settings.engine.stages)] if settings.engine.stages else []
    addresses = {"DATABASE_URL": postgres.query, "LISTEN_DATABASE_URL": postgres.listen}
    return Quarantine([sys.executable, str(PROGRAM), "--alone", *stages], addresses)


async def orchestrate(settings: Settings, postgres: PostgresUrls, is_alone: bool) -> None:
    """Process runs until SIGTERM or SIGINT; wait for Postgres at the start. Raises MaasError for a wrong setting."""
    stages = choose_stages(settings.engine.stages)
    with tracing.exporting(settings.diagnostics.export("maas-orchestrator")):
        opening = asyncio.create_task(
            wait_for_postgres(partial(open_orchestrator, settings, postgres, stages, is_alone))
        )
        on_signals(opening.cancel)
        try:
            orchestrator, stack = await opening
        except asyncio.CancelledError:
            return
        async with stack:
            on_signals(orchestrator.stop)
            _collect_garbage_seldom()
            await orchestrator.run()


def _collect_garbage_seldom() -> None:
    """Leave what was loaded at the start out of garbage collection, and collect new objects in larger portions."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)


def on_signals(act: Callable[[], object]) -> None:
    """Call `act` on SIGTERM and SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, act)


async def open_orchestrator(
    settings: Settings, postgres: PostgresUrls, stages: Mapping[str, Stage], is_alone: bool
) -> tuple[Orchestrator, AsyncExitStack]:
    """An orchestrator that is ready to run, and the stack that closes its resources. Raises MaasError."""
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(
            open_database(
                postgres.query,
                settings.database.pool_size,
                "maas orchestrator",
                min_size=settings.database.pool_size,
                statement_timeout=settings.database.statement_timeout,
            )
        )
        await db.check_pooler()
        if not await db.value(queries.schema_is_there):
            raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate`")
        embedder = open_embedder(settings)
        deps, toolbox = add_tools(await stack.enter_async_context(open_deps(db, settings, embedder)))
        stack.push_async_callback(toolbox.close)
        if final_responder.NAME in stages:
            await register(deps, toolbox.tools(), built_in(settings))
        tasks = {} if is_alone else choose_background_tasks(deps, stages, embedder if deps.query_embedder else None)
        if final_responder.NAME in stages and not is_alone:
            tasks["keep_tools"] = partial(sync_tools, db, toolbox)
            toolbox.start()
        isolation = None if is_alone else isolate(settings, postgres)
        return Orchestrator(deps, stages, postgres.listen, isolation, tasks), stack.pop_all()


def run_orchestrator(stages: str | None, is_alone: bool) -> None:
    """Run the orchestrator process until it is stopped.

    `stages` overrides MAAS_STAGES. With `is_alone` it executes quarantined runs only, and ends when there are none.
    Raises MaasError.
    """
    settings = load_settings(**({"stages": stages} if stages is not None else {}))
    log.configure(settings.diagnostics.log_level, settings.diagnostics.log_format)
    end_with_parent()
    close_to_others()
    logger = structlog.get_logger()
    for text in unknown_settings():
        logger.warning("unknown_setting", hint=text)
    with find_postgres(settings.database, lambda note: logger.info("postgres", note=note)) as postgres:
        uvloop.run(orchestrate(settings, postgres, is_alone))
