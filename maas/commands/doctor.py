"""`maas doctor`: is everything as it should be, and if not, what to do."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os import environ
from typing import Annotated

import typer
import uvloop
from pydantic import SecretStr

from maas.agents.mcp.servers import Server, read_servers
from maas.agents.toolbox import Toolbox
from maas.agents.tools import Toolset
from maas.commands.keys import describe_access
from maas.commands.live import ask_models, price
from maas.commands.output import Table, note, say, show, styled
from maas.memory.vectors import HINT
from maas.pipeline.doorbell import Doorbell
from maas.pipeline.prompts import BUILT_IN
from shared import log
from shared.db import SQL, Database, open_database
from shared.dsn import Addresses, find_postgres
from shared.errors import MaasError
from shared.models.embedders import open_embedder
from shared.models.registry import open_images, open_model
from shared.setting_names import names_in_file, unknown_settings
from shared.settings import ROLES, Settings, attempt_setting, load_settings, variable_of

CHECKS = (
    "database", "migrations", "listen", "prompts", "models", "attempts", "pictures", "vectors", "orchestrators",
    "access",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one check found; advice is for what works and may be better."""

    is_well: bool
    text: str
    is_advice: bool = False


class Advice(MaasError):
    """What works and may be better; nothing is wrong."""


def doctor(
    dsn: Annotated[
        bool, typer.Option("--dsn", help="print the address of the database, with its password, and end")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="also ask every configured model once; its provider may charge for it")
    ] = False,
    is_whole: Annotated[bool, typer.Option("--all", help="list every setting, not only those that are set")] = False,
) -> None:
    """Check database, LISTEN, models and prompts: what is wrong and what to do, what is set, what is well."""
    settings = load_settings()
    log.configure("error", settings.log_format)
    servers = read_servers(settings.mcp_servers, environ)
    if dsn:
        with find_postgres(settings, note) as postgres:
            say(postgres.query)
        return
    found = [_Finding(False, f"settings: {text}") for text in unknown_settings()]
    try:
        with find_postgres(settings, note) as postgres:
            found += uvloop.run(_check_all(settings, postgres, servers, live))
    except MaasError as error:
        found.append(_Finding(False, f"database: {error.message}"))
    failed = [one for one in found if not one.is_well]
    _show(failed)
    _show_settings(settings, is_whole)
    _show([one for one in found if one.is_well])
    if failed:
        show(f"{len(failed)} of the checks failed")
        sys.exit(1)
    show("all is well")


async def _check_all(
    settings: Settings, postgres: Addresses, servers: Sequence[Server], is_live: bool
) -> list[_Finding]:
    found = []
    async with open_database(postgres.query, 2, "maas doctor") as db:
        checks = _Checks(settings, postgres, db)
        for name in CHECKS:
            try:
                found.append(_Finding(True, f"{name}: {await getattr(checks, name)()}"))
            except Advice as advice:
                found.append(_Finding(True, f"{name}: {advice.message}", is_advice=True))
            except MaasError as error:
                found.append(_Finding(False, f"{name}: {error.message}"))
        if is_live:
            found += await _ask_all(settings, db)
    return found + await _reach_all(servers)


async def _reach_all(servers: Sequence[Server]) -> list[_Finding]:
    """For each server of tools: how many it has, or why it cannot be reached."""
    toolbox = Toolbox(Toolset([]), servers)
    try:
        await toolbox.reach(server.name for server in servers)
        return [
            _Finding(True, f"mcp {name}: {len(toolbox.tools().of(name))} tools")
            if cause is None
            else _Finding(False, f"mcp {name}: not reachable: {cause}")
            for name, cause in toolbox.causes().items()
        ]
    finally:
        await toolbox.close()


async def _ask_all(settings: Settings, db: Database) -> list[_Finding]:
    found = []
    async for one in ask_models(settings):
        took = f"{one.ms:.0f} ms"
        if one.cause is None:
            spent = f"{took}, {one.usage.tokens_in} tokens in, {one.usage.tokens_out} out, {await price(db, one)}"
            found.append(_Finding(True, f"{one.name}: {spent}"))
        else:
            found.append(_Finding(False, f"{one.name}: {one.cause} ({took})"))
    return found


@dataclass(frozen=True, slots=True)
class _Checks:
    """Each returns what it found. Raises MaasError that says what to do."""

    settings: Settings
    postgres: Addresses
    db: Database

    async def database(self) -> str:
        await self.db.check_pooler()
        row = await self.db.row("server_version")
        assert row is not None
        if row["number"] < 150000:
            raise MaasError("postgres_too_old", f"Postgres {row['version']} is too old; 15 or newer is needed")
        extensions = ", ".join(one["extname"] for one in await self.db.rows("extensions")) or "none"
        return f"Postgres {row['version']}, extensions in use: {extensions}"

    async def migrations(self) -> str:
        from shared.migrate import pending  # slow to load, and every process loads the commands

        if missing := pending(self.postgres.query, SQL / "migrations"):
            raise MaasError("no_schema", f"{len(missing)} migrations are pending; run `maas migrate`")
        return "up to date"

    async def listen(self) -> str:
        bell = await Doorbell.open(self.postgres.listen, "maas doctor listener")
        try:
            if not await bell.can_hear(self.db):
                raise MaasError("deaf", "LISTEN hears nothing: set LISTEN_DATABASE_URL to a direct connection")
        finally:
            await bell.close()
        return "a notification arrives"

    async def prompts(self) -> str:
        if not await self.db.value("schema_is_there"):
            raise MaasError("no_schema", "there are none yet; run `maas migrate`")
        rows = {row["role_name"]: row["version"] for row in await self.db.rows("prompts", [*BUILT_IN, "Mentor"])}
        if "Mentor" not in rows:
            raise MaasError("missing_role", "system_prompts has no active row Mentor; run `maas migrate`")
        return ", ".join(f"{role} v{version}" for role, version in sorted(rows.items()))

    async def models(self) -> str:
        for role in ROLES:
            model = open_model(self.settings.role_model(role), self.settings)
            await model.close()
        return ", ".join(f"{role} {self.settings.role_model(role)}" for role in ROLES)

    async def pictures(self) -> str:
        async with open_images(self.settings) as images:
            if images is None:
                return "nobody draws; MAAS_IMAGE_MODEL names who does"
            found = (images.model, images.fallback)
            return ", then ".join(f"{model.provider}:{model.name}" for model in found if model)

    async def vectors(self) -> str:
        if (embedder := open_embedder(self.settings)) is None:
            return "off; MAAS_EMBEDDING_MODEL switches them on"
        await embedder.close()
        model = f"{embedder.provider}:{embedder.name}"
        if not await self.db.value("vectors_are_there"):
            raise MaasError("no_vectors", f"{model} is of no use without pgvector: {HINT}")
        row = await self.db.row("fill", model)
        return f"{model}, {row['turns'] if row else 0} turns embedded"

    async def attempts(self) -> str:
        """Raises Advice where the answers of late say that a whole one takes longer than it may."""
        settings = self.settings
        seconds, most = settings.role_attempt_timeout("FinalResponder"), settings.max_tokens
        rows = await self.db.rows("answer_speeds") if await self.db.value("schema_is_there") else []
        for row in rows:
            needed = most / row["speed"]
            if needed > seconds:
                model = f"{row['provider']}:{row['model']}"
                raise Advice(
                    "short_attempts", f"{model} writes {row['speed']:.0f} tokens a second, so an "
                    f"answer of {most} tokens takes {needed:.0f} s and is cut off after {seconds:g} s; set "
                    f"{attempt_setting('FinalResponder')} to {math.ceil(needed * 1.3)} or lower MAAS_MAX_TOKENS",
                )  # fmt: skip
        return f"an answer may take {seconds:g} s"

    async def access(self) -> str:
        return await describe_access(self.db, self.settings)

    async def orchestrators(self) -> str:
        rows = await self.db.rows("living_engines") if await self.db.value("schema_is_there") else []
        if not rows:
            raise MaasError("no_orchestrator", "none is running, so requests wait; start one with `make run`")
        return f"{len(rows)} running: " + ", ".join(f"{row['host']}/{row['pid']}" for row in rows)


def _show(found: Sequence[_Finding]) -> None:
    for one in found:
        mark = styled("ok   ", "green") if one.is_well else styled("wrong", "red")
        mark = styled("note ", "yellow") if one.is_advice else mark
        show(mark + styled(f" {one.text}"))
    if found:
        show()


def _show_settings(settings: Settings, is_whole: bool) -> None:
    table = Table()
    for name in ("setting", "value", "from"):
        table.add_column(name, overflow="fold")
    from_file = names_in_file()
    for name in Settings.model_fields:
        variable = variable_of(name)
        value = getattr(settings, name)
        shown = (
            ("set, hidden" if value else "") if isinstance(value, SecretStr) or value is None else log.mask(str(value))
        )
        source = "environment" if environ.get(variable) else ".env" if variable in from_file else "default"
        if is_whole or source != "default":
            table.add_row(variable, shown, source)
    if table.row_count:
        show(table)
    else:
        show("nothing is set, so every setting is its default")
    if not is_whole:
        show("(maas doctor --all lists every setting)")
    show()
