"""What `maas doctor` says of the accounts: which connections lack a token or lose it soon, are old, or failed."""

from __future__ import annotations

import asyncpg

from maas import queries as core
from maas.assistants.ads import queries
from maas.assistants.ads.connections import ENDS_SOON, STALE_AFTER
from maas.assistants.ads.settings import AdsSettings
from maas.settings import Settings
from shared.db import Database
from shared.errors import Advice

MAX_USERS = 3  # that are named


async def check_accounts(settings: Settings, db: Database) -> str:
    """Count connections by service, without asking the services; raises Advice if one needs a look."""
    own = settings.of(AdsSettings)
    has_whatsapp = own.evolution_base_url is not None and own.evolution_api_key is not None
    is_there = await db.value(core.schema_is_there)
    try:
        rows = await db.rows(queries.ads_connections, has_whatsapp, STALE_AFTER, ENDS_SOON) if is_there else []
    except asyncpg.InsufficientPrivilegeError:
        return "shown to the logins of orchestrators and of the owner alone"
    if not rows:
        return "no account (maas ads connect)"
    parts = []
    for row in rows:
        part = f"{row['service']} {row['connections']}"
        if row["without_token"]:
            part += f", {row['without_token']} without a token"
        if row["ending"] and row["ends_at"] is not None:
            part += f", {row['ending']} whose token ends soon, the first on {row['ends_at'].date()}"
        if row["stale"]:
            part += f", {row['stale']} not synced within a day"
        if row["failing"]:
            part += f", {row['failing']} with a last sync that failed ({row['error']})"
        parts.append(part)
    text = "; ".join(parts)
    if users := sorted({str(user) for row in rows for user in row["users"]}):
        named = ", ".join(users[:MAX_USERS]) + (f" and {len(users) - MAX_USERS} more" if len(users) > MAX_USERS else "")
        remedy = "maas ads syncs shows all, maas ads connect stores a token"
        raise Advice("not_fresh", f"{text}; {remedy}; users: {named}")
    return text


CHECKS = {"ad accounts": check_accounts}
