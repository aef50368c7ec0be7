"""What `maas doctor` says of the accounts: which connections lack a token, and which were not synced within a day."""

from __future__ import annotations

import asyncpg

from maas import queries as core
from maas.assistants.ads import queries
from maas.assistants.ads.account import STALE_AFTER
from maas.assistants.ads.settings import AdsSettings
from maas.settings import Settings
from shared.db import Database
from shared.errors import Advice

MAX_USERS = 3  # that are named


async def check_accounts(settings: Settings, db: Database) -> str:
    """Count connections by service, without asking the services; raises Advice if one lacks a token or is stale."""
    own = settings.of(AdsSettings)
    has_whatsapp = own.evolution_base_url is not None and own.evolution_api_key is not None
    is_there = await db.value(core.schema_is_there)
    try:
        rows = await db.rows(queries.ads_connections, has_whatsapp, STALE_AFTER) if is_there else []
    except asyncpg.InsufficientPrivilegeError:
        return "shown to the logins of orchestrators and of the owner alone"
    if not rows:
        return "no account (maas ads account add)"
    parts = []
    for row in rows:
        part = f"{row['service']} {row['connections']}"
        if row["without_token"]:
            part += f", {row['without_token']} without a token"
        if row["stale"]:
            part += f", {row['stale']} not synced within a day"
        parts.append(part)
    text = "; ".join(parts)
    if users := sorted({str(user) for row in rows for user in row["users"]}):
        named = ", ".join(users[:MAX_USERS]) + (f" and {len(users) - MAX_USERS} more" if len(users) > MAX_USERS else "")
        remedy = "maas ads account add stores a token, maas ads sync --user U reads what is missing"
        raise Advice("not_fresh", f"{text}; {remedy}; users: {named}")
    return text


CHECKS = {"ad accounts": check_accounts}
