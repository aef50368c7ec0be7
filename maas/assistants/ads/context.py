"""What the advertising assistants know before the first tool call: preferences, integrations, account, directions.

Each source is a tool without arguments that only reads; they are called concurrently, and one that fails is left out.
What is not set up yet is in `missing.py`; the user's notes and the summary of the dialogue are in the draft of every
assistant.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from maas.assistants.ads import queries
from maas.assistants.ads.account import DOMAINS, account_of, ad_account_of, open_ads
from maas.assistants.ads.clients.facebook import from_minor
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.engine.stages import Deps
from maas.tools.openers import Opener
from maas.tools.tool import Tool, ToolContext, tool
from shared.vendors import VendorError

DOMAIN = "account"
PROVIDERS = ("set_up", "user_specs", "brain_actions", "integrations", "ad_account_status", "directions")
MAX_SPECS, MAX_ACTIONS, MAX_DIRECTIONS = 50, 10, 50
STATUS_TTL = timedelta(seconds=300)


async def open_account(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    """The account and its tokens; these sources say themselves what is missing."""
    return {**await open_ads(deps, context), "connected": True, "has_data": True}


OPENERS: dict[str, Opener] = {DOMAIN: open_account}


def make_context_tools(deps: Deps, vendors: Vendors) -> list[Tool]:
    db = deps.db

    @tool(domain=DOMAIN, effect="read")
    async def user_specs(context: ToolContext) -> Any:
        """The preferences of the user."""
        rows = await db.rows(queries.user_specs, context.user_id, MAX_SPECS)
        return {row["key"]: row["value"] for row in rows}

    @tool(domain=DOMAIN, effect="read")
    async def brain_actions(context: ToolContext) -> Any:
        """What an autopilot did with the ads recently."""
        account = account_of(context)
        rows = await db.rows(queries.recent_brain_actions, context.user_id, account.id, MAX_ACTIONS)
        return [
            {
                "at": row["at"].astimezone(account.timezone).isoformat(timespec="minutes"),
                **{name: row[name] for name in ("action", "entity", "reason") if row[name] is not None},
            }
            for row in rows
        ]

    @tool(domain=DOMAIN, effect="read")
    async def integrations(context: ToolContext) -> Any:
        """Which services are connected, and which domains of tools can be used."""
        account = account_of(context)
        flags = account.integrations
        domains = [name for name in DOMAINS if account.is_connected[name] or account.has_data[name]]
        return flags | {"stack": sorted(name for name, is_on in flags.items() if is_on), "stackCapabilities": domains}

    @tool(domain=DOMAIN, effect="read")
    async def ad_account_status(context: ToolContext) -> Any:
        """Whether the ad account can run ads, as Facebook said within the last five minutes, or last said."""
        account = ad_account_of(context)
        shown: dict[str, Any] = {"name": account.name, "currency": account.currency, "timezone": account.timezone.key}
        row = await db.row(queries.ad_account_status, context.user_id, account.id, STATUS_TTL)
        assert row is not None
        if row["is_fresh"] or not account_of(context).is_connected["ads"]:
            return shown | _status(row)
        try:
            found = await vendors.facebook(context).account(account.fb_id)
        except VendorError:
            if row["checked_at"] is None:
                with vendor_errors():
                    raise
            return shown | _status(row)
        status = "ACTIVE" if found.can_run_ads else f"status {found.status}"
        stored = await db.row(queries.keep_ad_account_status, context.user_id, account.id, found.can_run_ads, status)
        return shown | _status(stored if stored is not None else row)

    @tool(domain=DOMAIN, effect="read")
    async def directions(context: ToolContext) -> Any:
        """The directions: id, status, daily budget, target cost per lead."""
        account = ad_account_of(context)
        rows = await db.rows(queries.directions_in_short, context.user_id, account.id, MAX_DIRECTIONS)
        return [
            {
                "id": str(row["id"]),
                "name": row["name"],
                "status": row["status"],
                "daily_budget": _money(row["daily_budget_minor"], account.currency),
                "target_cpl": _target(row["target_cpl"], row["target_cpl_currency"]),
            }
            for row in rows
        ]

    return [user_specs, brain_actions, integrations, ad_account_status, directions]


def _status(row: queries.AdAccountStatusRow | queries.KeepAdAccountStatusRow) -> dict[str, Any]:
    checked_at = row["checked_at"]
    at = None if checked_at is None else checked_at.isoformat(timespec="seconds")
    return {"can_run_ads": row["can_run_ads"], "status": row["status"], "checked_at": at}


def _money(minor: int | None, currency: str) -> str | None:
    return None if minor is None else f"{from_minor(minor, currency)} {currency}"


def _target(value: Decimal | None, currency: str | None) -> str | None:
    return None if value is None else f"{value} {currency}"
