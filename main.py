"""The orchestrator process and the `maas` command. Composition root: settings -> pool -> workers -> orchestrator."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import structlog
import uvloop

from maas.agents.mcp.servers import read_servers
from maas.agents.runtime import Runtime
from maas.agents.toolbox import Toolbox
from maas.assistants.registry import keep_tools, load_tools, register
from maas.memory.counting import count_terms
from maas.memory.filler import Filler
from maas.memory.retention import keep_for
from maas.memory.vectors import open_questions
from maas.pipeline.events import EventLog
from maas.pipeline.isolation import Isolation
from maas.pipeline.orchestrator import Orchestrator
from maas.pipeline.replay import Replay
from maas.pipeline.replay import replay as replay_stages
from maas.pipeline.stages import Chore, Deps, Stage
from maas.pipeline.states import STAGES
from shared import log, tracing
from shared.db import Database, open_database, when_there
from shared.dsn import Addresses, find_postgres
from shared.errors import MaasError
from shared.models.embedders import open_embedder
from shared.models.registry import NamedModels, open_images, open_model
from shared.models.types import Embedder, Model
from shared.parent import end_with_parent
from shared.process import close_to_others
from shared.setting_names import unknown_settings
from shared.settings import ROLES, Settings, load_settings
from shared.visible import visible
from workers import analyzer, archivist, assembler, compactor, draft_builder, final_responder

if TYPE_CHECKING:
    from typer import Typer

WORKERS: dict[str, Stage] = {
    "analyzer": analyzer.run,
    "draft_builder": draft_builder.run,
    "assembler": assembler.run,
    "final_responder": final_responder.run,
    "archivist": archivist.run,
}


def choose_stages(names: tuple[str, ...]) -> dict[str, Stage]:
    """The named stages, all when none is named. Raises MaasError('bad_setting')."""
    if unknown := [name for name in names if name not in WORKERS]:
        raise MaasError("bad_setting", f"there is no stage {unknown[0]!r}; stages are {', '.join(STAGES)}")
    return {name: WORKERS[name] for name in STAGES if not names or name in names}


def choose_chores(deps: Deps, stages: Mapping[str, Stage], embedder: Embedder | None) -> dict[str, Chore]:
    """The background tasks: words are counted, vectors filled in; who archives merges what has grown old."""
    chores: dict[str, Chore] = {"count_terms": partial(count_terms, deps.db)}
    if archivist.NAME in stages and deps.settings.compact_every:
        chores[compactor.NAME] = partial(compactor.work, deps)
    if (days := deps.settings.retention_days) is not None:
        chores["retention"] = partial(keep_for, deps.db, days)
    if embedder is not None:
        chores["embed"] = Filler(deps.db, embedder, deps.settings).run
    return chores


@asynccontextmanager
async def open_models(settings: Settings, choose: Callable[[str], str | None]) -> AsyncIterator[dict[str, Model]]:
    """The model of each role that `choose` names one for. Raises MaasError for one that cannot be opened."""
    async with AsyncExitStack() as stack:
        models = {role: open_model(spec, settings) for role in ROLES if (spec := choose(role))}
        for model in models.values():
            stack.push_async_callback(model.close)
        yield models


@asynccontextmanager
async def open_deps(
    db: Database, settings: Settings, embedder: Embedder | None
) -> AsyncIterator[Deps]:  # fmt: skip
    """What stages may use, over an open database; closes the embedder, too. Raises MaasError."""
    async with (
        open_questions(db, embedder, settings.embedding_timeout) as questions,
        open_models(settings, settings.role_model) as models,
        open_models(settings, settings.role_fallback) as fallbacks,
        open_images(settings) as images,
        aclosing(NamedModels(settings)) as named,
    ):
        rules = open_model("extractive:builtin", settings)
        yield Deps(db, settings, models, rules, questions, fallbacks, EventLog(db), images=images, named=named)


def with_tools(deps: Deps) -> tuple[Deps, Toolbox]:
    """The same for assistants that act, and their tools; those of servers once they are gone to. Raises MaasError."""
    settings = deps.settings
    toolbox = Toolbox(load_tools(settings.tools, deps), read_servers(settings.mcp_servers, os.environ))
    return replace(deps, dialogues=Runtime(toolbox)), toolbox


@asynccontextmanager
async def open_tools(db: Database, settings: Settings) -> AsyncIterator[Toolbox]:
    """All tools that are configured, for who calls one by hand."""
    async with open_deps(db, settings, None) as deps:
        _, toolbox = with_tools(deps)
        try:
            yield toolbox
        finally:
            await toolbox.close()


async def replay(db: Database, settings: Settings, run_id: UUID, stage: str | None, model: str | None) -> list[Replay]:
    """Stages of a finished run once more, `model` in the place of the configured ones."""
    async with AsyncExitStack() as stack:
        deps, _ = with_tools(await stack.enter_async_context(open_deps(db, settings, open_embedder(settings))))
        other = open_model(model, settings) if model is not None else None
        if other is not None:
            stack.push_async_callback(other.close)
        return await replay_stages(deps, WORKERS, run_id, stage, other)


async def compact(
    db: Database, settings: Settings, user_id: UUID | None, on_progress: Callable[[int, int], None]
) -> int:  # fmt: skip
    """Merge all that is due now; how many records were made."""
    async with open_deps(db, settings, None) as deps:
        return await compactor.compact_all(deps, user_id, on_progress=on_progress)


def isolate(settings: Settings, postgres: Addresses) -> Isolation:
    """What starts this program again for suspects, over the same database and with the same stages."""
    stages = ["--stages", ",".join(settings.stages)] if settings.stages else []
    addresses = {"DATABASE_URL": postgres.query, "LISTEN_DATABASE_URL": postgres.listen}
    return Isolation([sys.executable, __file__, "--alone", *stages], addresses)


async def orchestrate(settings: Settings, postgres: Addresses, is_alone: bool) -> None:
    """Answer requests until SIGTERM or SIGINT; waits for Postgres. Raises MaasError for what is wrong at the start."""
    stages = choose_stages(settings.stages)
    with tracing.exporting(settings.otlp_endpoint, "maas-orchestrator"):
        opening = asyncio.create_task(when_there(partial(open_orchestrator, settings, postgres, stages, is_alone)))
        on_signals(opening.cancel)
        try:
            orchestrator, stack = await opening
        except asyncio.CancelledError:
            return
        async with stack:
            on_signals(orchestrator.stop)
            await orchestrator.run()


def on_signals(act: Callable[[], object]) -> None:
    """Do this at SIGTERM and SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, act)


async def open_orchestrator(
    settings: Settings, postgres: Addresses, stages: Mapping[str, Stage], is_alone: bool
) -> tuple[Orchestrator, AsyncExitStack]:
    """An orchestrator that is ready to run, and what must be closed after it. Raises MaasError."""
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(
            open_database(
                postgres.query,
                settings.pool_size,
                "maas orchestrator",
                least=settings.pool_size,
                statement_timeout=settings.statement_timeout,
            )
        )
        await db.check_pooler()
        if not await db.value("schema_is_there"):
            raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate`")
        embedder = open_embedder(settings)
        deps, toolbox = with_tools(await stack.enter_async_context(open_deps(db, settings, embedder)))
        stack.push_async_callback(toolbox.close)
        if final_responder.NAME in stages:
            await register(deps, toolbox.tools())
        chores = {} if is_alone else choose_chores(deps, stages, embedder if deps.questions else None)
        if final_responder.NAME in stages and not is_alone:
            chores["keep_tools"] = partial(keep_tools, db, toolbox)
            toolbox.start()
        isolation = None if is_alone else isolate(settings, postgres)
        return Orchestrator(deps, stages, postgres.listen, isolation, chores), stack.pop_all()


def run_orchestrator(stages: str | None, is_alone: bool) -> None:
    """Run the orchestrator process; `is_alone`: only for runs that must be executed alone, and not longer."""
    settings = load_settings(**({"stages": stages} if stages is not None else {}))
    log.configure(settings.log_level, settings.log_format)
    end_with_parent()
    close_to_others()
    logger = structlog.get_logger()
    for text in unknown_settings():
        logger.warning("unknown_setting", hint=text)
    with find_postgres(settings, lambda note: logger.info("postgres", note=note)) as postgres:
        uvloop.run(orchestrate(settings, postgres, is_alone))


def commands() -> Typer:
    """The `maas` command; loaded here, since an orchestrator starts sooner without."""
    from maas.commands.app import build_cli

    return build_cli(run_orchestrator, compact, replay, open_tools)


def cli() -> None:
    commands()()


def main() -> None:
    parser = argparse.ArgumentParser(description="One orchestrator process; `maas up` starts one.")
    parser.add_argument("--stages", help="run these stages only, separated by commas")
    parser.add_argument("--alone", action="store_true", help="execute suspects one by one, then end")
    asked = parser.parse_args()
    try:
        run_orchestrator(asked.stages, asked.alone)
    except MaasError as error:
        sys.exit(f"maas: {visible(error.message)}")


if __name__ == "__main__":
    main()
