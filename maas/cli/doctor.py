"""`maas doctor`: checks of an installation, with a remedy for each problem, a call of each model, and its settings."""

from __future__ import annotations

import math
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import environ
from typing import Annotated

import typer
import uvloop

from maas import queries
from maas.agents.runtime import Toolbox
from maas.assistants.registry import load_servers
from maas.builtin_model import PROVIDERS
from maas.cli.call_ledger import describe_calls
from maas.cli.keys import describe_access
from maas.cli.migrate import describe_schema
from maas.cli.model_probes import describe_price, probe_models
from maas.cli.settings_table import show_settings
from maas.engine.listener import NotifyListener
from maas.memory.embeddings import PGVECTOR_HINT
from maas.model_registry import LOCAL_MODEL_HINT, lacks_default_embedder, open_embedder, open_images, open_model
from maas.plugins import active, installed, load_parts, sql_folders
from maas.prompting.prompts import BUILT_IN_ROLES, read_prompts
from maas.settings import Settings, load_settings
from maas.settings.models import ROLES, attempt_setting
from maas.settings.variables import unknown_settings
from maas.terminal.output import note, show, styled, write
from maas.tools.mcp_client.servers import McpServer
from maas.tools.tool import Toolset
from maas.user_secrets import UserSecrets
from shared import log
from shared.db import Database, open_database
from shared.errors import Advice, MaasError
from shared.migrate import pending
from shared.postgres import PostgresUrls, find_postgres
from shared.query import SQL

OLDEST_POSTGRES = 150000
MAX_NAMED_LOGINS = 5
LEFT_OUT_DAYS = 7  # in which a model may have left out days
TIMEOUT_MARGIN = 1.3


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check; `is_advice`: it works and could be improved."""

    is_ok: bool
    text: str
    is_advice: bool = False


def doctor(
    dsn: Annotated[
        bool, typer.Option("--dsn", help="print the address of the database, with its password, and exit")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="also call every configured model; its provider may charge for it")
    ] = False,
    all_settings: Annotated[
        bool, typer.Option("--all", help="print every setting, not only those that are set")
    ] = False,
) -> None:
    """Print failed checks, settings and passed checks; exit status 1 if a check fails. Raises MaasError."""
    settings = load_settings()
    log.configure("error", settings.diagnostics.log_format)
    servers = load_servers(settings, environ)
    if dsn:
        with find_postgres(settings.database, note) as postgres:
            write(postgres.query)
        return
    results = [CheckResult(False, f"settings: {text}") for text in unknown_settings()]
    try:
        with find_postgres(settings.database, note) as postgres:
            results += uvloop.run(_check_all(settings, postgres, servers, live))
    except MaasError as error:
        results.append(CheckResult(False, f"database: {error.message}"))
    failed = [result for result in results if not result.is_ok]
    _show(failed)
    show_settings(settings, all_settings)
    _show([result for result in results if result.is_ok])
    if failed:
        show(f"checks failed: {len(failed)}")
        sys.exit(1)
    show("all checks passed")


async def _check_all(
    settings: Settings, postgres: PostgresUrls, servers: Sequence[McpServer], is_live: bool
) -> list[CheckResult]:
    results = []
    async with open_database(postgres.query, 2, "maas doctor") as db:
        checks = _Checks(settings, postgres, db)
        found: dict[str, Callable[[], Awaitable[str]]] = {name: partial(one, checks) for name, one in CHECKS.items()}
        found |= {name: partial(one, settings, db) for own in load_parts("checks") for name, one in own.items()}
        for name, check in found.items():
            try:
                results.append(CheckResult(True, f"{name}: {await check()}"))
            except Advice as advice:
                results.append(CheckResult(True, f"{name}: {advice.message}", is_advice=True))
            except MaasError as error:
                results.append(CheckResult(False, f"{name}: {error.message}"))
                if name == "database":  # all others need it, and wait for a minute where a commit hangs
                    return results
        if is_live:
            results += await _check_models(settings, db)
        return results + await _check_servers(servers, UserSecrets(db))


async def _check_servers(servers: Sequence[McpServer], secrets: UserSecrets) -> list[CheckResult]:
    """Connect to each MCP server: the number of its tools, or why it cannot be reached."""
    toolbox = Toolbox(Toolset([]), servers, secrets=secrets)
    try:
        await toolbox.reach(server.name for server in servers)
        return [
            CheckResult(True, f"mcp {name}: {len(toolbox.tools().of(name))} tools")
            if cause is None
            else CheckResult(False, f"mcp {name}: not reachable: {cause}")
            for name, cause in toolbox.causes().items()
        ]
    finally:
        await toolbox.close()


async def _check_models(settings: Settings, db: Database) -> list[CheckResult]:
    results = []
    async for probe in probe_models(settings):
        duration = f"{probe.ms:.0f} ms"
        if probe.cause is None:
            used = f"{probe.usage.tokens_in} tokens in, {probe.usage.tokens_out} out, {await describe_price(db, probe)}"
            results.append(
                CheckResult(True, ", ".join(filter(None, (f"{probe.name}: {duration}, {used}", probe.traits))))
            )
            if probe.advice:
                results.append(CheckResult(True, f"{probe.spec}: {probe.advice}", is_advice=True))
        else:
            results.append(CheckResult(False, f"{probe.name}: {probe.cause} ({duration})"))
    return results


@dataclass(frozen=True, slots=True)
class _Checks:
    """Each check returns what it found, or raises MaasError with a message that says what to do."""

    settings: Settings
    postgres: PostgresUrls
    db: Database

    async def database(self) -> str:
        await self.db.check_pooler()
        row = await self.db.row(queries.server_version)
        assert row is not None
        if row["number"] < OLDEST_POSTGRES:
            raise MaasError("postgres_too_old", f"Postgres {row['version']} is too old; 15 or newer is needed")
        await self.db.check_commits()
        extensions = ", ".join(extension["extname"] for extension in await self.db.rows(queries.extensions)) or "none"
        return f"Postgres {row['version']}, extensions in use: {extensions}"

    async def migrations(self) -> str:
        if missing := pending(self.postgres.query, SQL, sql_folders()):
            raise MaasError("no_schema", f"{len(missing)} migrations are pending; run `maas migrate`")
        return "up to date"

    async def schema(self) -> str:
        """Raises Advice if others have added to our tables, or if only the owner could tell."""
        if not await self.db.value(queries.schema_is_there):
            raise MaasError("no_schema", "there is none yet; run `maas migrate`")
        return describe_schema(self.postgres.query)

    async def listen(self) -> str:
        listener = await NotifyListener.open(self.postgres.listen, "maas doctor listener")
        try:
            if not await listener.is_listening(self.db):
                raise MaasError(
                    "listen_unavailable",
                    "LISTEN receives no notification: set LISTEN_DATABASE_URL to a direct connection",
                )
        finally:
            await listener.close()
        return "notifications arrive"

    async def prompts(self) -> str:
        if not await self.db.value(queries.schema_is_there):
            raise MaasError("no_schema", "there are none yet; run `maas migrate`")
        try:
            read = await read_prompts(
                self.db, *BUILT_IN_ROLES, "Mentor", language=self.settings.answers.prompt_language
            )
        except MaasError as error:
            raise MaasError(error.code, f"{error.message}, or run `maas migrate`") from error
        return ", ".join(f"{one.role} v{one.version}" for _, one in sorted(read.items()))

    async def assistants(self) -> str:
        """Raises Advice if a built-in assistant is not configured."""
        if not await self.db.value(queries.schema_is_there):
            raise MaasError("no_schema", "there are none yet; run `maas migrate`")
        active = ", ".join(row["name"] for row in await self.db.rows(queries.assistant_definitions)) or "none"
        if rows := await self.db.rows(queries.inactive_assistants, None):
            inactive = "; ".join(f"{row['name']}: {row['inactive_reason']}" for row in rows)
            raise Advice("not_configured", f"{active}; not active: {inactive}")
        return active

    async def plugins(self) -> str:
        on = [plugin.name for plugin in active()]
        off = [name for name in installed() if name not in on]
        return f"on: {', '.join(on) or 'none'}" + (f"; off: {', '.join(off)}" if off else "")

    async def models(self) -> str:
        for role in ROLES:
            model = open_model(self.settings.models.role_model(role), self.settings, PROVIDERS, role)
            await model.close()
        await self._check_prices({self.settings.models.role_model(role) for role in ROLES})
        models = ", ".join(f"{role} {self.settings.models.role_model(role)}" for role in ROLES)
        return f"{models}; profile {self.settings.profile}"

    async def _check_prices(self, models: set[str]) -> None:
        """Raises Advice if there is a budget in dollars and one of these models has no price: it would count as 0."""
        if self.settings.budgets.user_daily_dollars is None or not await self.db.value(queries.schema_is_there):
            return
        for model in sorted(models):
            provider, _, name = model.partition(":")
            if await self.db.value(queries.price, provider.strip(), name.strip(), 0, 0, 0) is None:
                message = f"{model} has no price, so its calls count as 0 for MAAS_USER_DAILY_DOLLARS"
                raise Advice("no_price", f"{message}; insert one into model_prices")

    async def model_calls(self) -> str:
        """Raises Advice if a model fails often in a role."""
        if not await self.db.value(queries.schema_is_there):
            raise MaasError("no_schema", "the database is not ready; run `maas migrate`")
        text, advice = await describe_calls(self.db, self.settings)
        if advice is not None:
            raise Advice("calls_fail", advice)
        return text

    async def attempt_timeout(self) -> str:
        """Raises Advice if a model is so slow, by its latest answers, that a long one would be cut off."""
        settings = self.settings
        timeout, max_tokens = settings.models.role_attempt_timeout("FinalResponder"), settings.answers.max_tokens
        rows = await self.db.rows(queries.answer_speeds) if await self.db.value(queries.schema_is_there) else []
        for row in rows:
            needed = max_tokens / row["speed"]
            if needed > timeout:
                model = f"{row['provider']}:{row['model']}"
                raise Advice(
                    "short_attempts",
                    f"{model} writes {row['speed']:.0f} tokens a second, so an "
                    f"answer of {max_tokens} tokens takes {needed:.0f} s and is cut off after {timeout:g} s; set "
                    f"{attempt_setting('FinalResponder')} to {math.ceil(needed * TIMEOUT_MARGIN)} or lower "
                    "MAAS_MAX_TOKENS",
                )
        return f"{timeout:g} s for an answer"

    async def image_model(self) -> str:
        async with open_images(self.settings) as images:
            if images is None:
                return "not configured (set MAAS_IMAGE_MODEL)"
            models = (images.model, images.fallback)
            return ", then ".join(f"{model.provider}:{model.name}" for model in models if model)

    async def embedding_model(self) -> str:
        if (embedder := open_embedder(self.settings)) is None:
            if lacks_default_embedder(self.settings):
                raise Advice("missing_package", f"search is by words: {LOCAL_MODEL_HINT}")
            return "none, search is by words"
        await embedder.close()
        model = f"{embedder.provider}:{embedder.name}"
        if not await self.db.value(queries.vectors_are_there):
            if self.settings.embeddings.has_default_embedding_model:
                raise Advice("no_vectors", f"search is by words: {PGVECTOR_HINT}")
            raise MaasError("no_vectors", f"{model} cannot be used without pgvector: {PGVECTOR_HINT}")
        row = await self.db.row(queries.fill, model)
        backlog = await self.db.row(queries.embedding_backlog)
        text = f"{model}, {row['turns'] if row else 0} messages embedded"
        if backlog is None or backlog["model"] != model or not backlog["waiting"]:
            return text
        return f"{text}, {'about ' if backlog['is_estimate'] else ''}{backlog['waiting']} wait"

    async def orchestrators(self) -> str:
        rows = await self.db.rows(queries.living_engines) if await self.db.value(queries.schema_is_there) else []
        if not rows:
            raise MaasError("no_orchestrator", "none is running, so requests wait; start one with `make run`")
        return f"{len(rows)} running: " + ", ".join(f"{row['host']}/{row['pid']}" for row in rows)

    async def compaction(self) -> str:
        """Raises Advice if a model leaves out days of the summaries that it merges."""
        rows = (
            await self.db.rows(queries.left_out_days, LEFT_OUT_DAYS)
            if await self.db.value(queries.schema_is_there)
            else []
        )
        named = [f"{row['model']} left out {row['left_out']} of {row['days']} days" for row in rows if row["left_out"]]
        if named:
            raise Advice(
                "days_left_out",
                f"{', '.join(named)} within {LEFT_OUT_DAYS} days; their text was made by rules, and v_left_out_days "
                "names them: try a larger model (MAAS_ARCHIVIST_MODEL) or another prompt Compactor",
            )
        return f"{sum(row['days'] for row in rows)} days merged by models within {LEFT_OUT_DAYS} days, none left out"

    async def access(self) -> str:
        return await describe_access(self.db, self.settings)

    async def strangers(self) -> str:
        """Raises Advice if logins without rights on our schema may connect to the database."""
        if not await self.db.value(queries.schema_is_there):
            raise MaasError("no_schema", "the database is not ready; run `maas migrate`")
        rows = await self.db.rows(queries.strangers)
        if rows:
            names = ", ".join(row["login"] for row in rows[:MAX_NAMED_LOGINS])
            raise Advice(
                "strangers",
                f"{len(rows)} other logins may connect ({names}) and LISTEN to the ids of runs: "
                f"revoke connect on database {rows[0]['database']} from public, then grant it to the logins of MaaS",
            )
        return "no other login may connect to the database"


CHECKS: dict[str, Callable[[_Checks], Awaitable[str]]] = {
    "database": _Checks.database,
    "migrations": _Checks.migrations,
    "schema": _Checks.schema,
    "listen": _Checks.listen,
    "prompts": _Checks.prompts,
    "assistants": _Checks.assistants,
    "plugins": _Checks.plugins,
    "models": _Checks.models,
    "model calls": _Checks.model_calls,
    "attempt timeout": _Checks.attempt_timeout,
    "image model": _Checks.image_model,
    "embedding model": _Checks.embedding_model,
    "orchestrators": _Checks.orchestrators,
    "compaction": _Checks.compaction,
    "access": _Checks.access,
    "strangers": _Checks.strangers,
}


def _show(results: Sequence[CheckResult]) -> None:
    for result in results:
        mark = styled("ok   ", "green") if result.is_ok else styled("wrong", "red")
        mark = styled("note ", "yellow") if result.is_advice else mark
        show(mark + styled(f" {result.text}"))
    if results:
        show()
