"""What is not set up yet of a user's business: the assistants know it, and say it when they are greeted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maas.assistants.ads import queries
from maas.assistants.ads.account import ACCOUNT, DOMAIN_OF, NO_ACCOUNT, Account, read_values
from maas.assistants.ads.connections import ENDS_SOON
from maas.engine.stages import Deps
from maas.tools.openers import Opener
from maas.tools.tool import Tool, ToolContext, tool

DOMAIN = "business"


async def open_set_up(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    """The account, if there is one."""
    values = await read_values(deps.db, context.user_id, context.account_id)
    return {**(values or {}), "connected": True, "has_data": True}


OPENERS: dict[str, Opener] = {DOMAIN: open_set_up}


def make_set_up_tool(deps: Deps) -> Tool:
    @tool(domain=DOMAIN, effect="read")
    async def set_up(context: ToolContext) -> Any:
        """What an operator has not set up yet, in words; the most important first."""
        account: Account | None = context.values.get(ACCOUNT)
        if account is None:
            return {"missing": [NO_ACCOUNT]}
        ad_account_id = account.ad_account.id if account.ad_account is not None else None
        decided = await deps.db.row(queries.ads_set_up, context.user_id, account.id, ad_account_id)
        assert decided is not None
        return {"missing": missing_of(account, decided)}

    return set_up


def missing_of(account: Account, decided: queries.AdsSetUpRow) -> list[str]:
    """What is not set up of a business: connections, first syncs, and what only a person decides."""
    names = {"Facebook": account.ad_account is not None, "amoCRM": account.crm_url is not None}
    names["WhatsApp"] = account.whatsapp_instance is not None
    missing = []
    for service, is_named in names.items():
        domain = DOMAIN_OF[service]
        if not is_named:
            missing.append(f"{service} is not connected: an operator runs maas ads connect")
        elif not account.is_connected[domain]:
            missing.append(f"the token of {service} is missing: an operator runs maas ads connect")
        else:
            missing += _problems(account, service)
    if decided["has_adsets"] and not decided["has_directions"]:
        missing.append("no direction is defined, so there are no targets: an operator runs maas ads directions")
    if decided["has_stages"] and not decided["has_qualifying"]:
        missing.append("no stage of the CRM is chosen, so only sold leads are qualified: maas ads stages")
    if account.needs_rate and account.usable_rate is None:
        paid, own = account.crm_currency, account.currency
        missing.append(f"leads pay in {paid} and ads cost {own}, so revenue and ROI are left out: maas ads rate")
    return missing


def _problems(account: Account, service: str) -> list[str]:
    """What is wrong with a connection that has its token: it ends, or nothing was read with it yet."""
    domain, problems = DOMAIN_OF[service], []
    ends_at = account.token_ends_at[domain]
    if ends_at is not None and ends_at - account.read_at < ENDS_SOON:
        ends = "ends" if ends_at > account.read_at else "ended"
        day = ends_at.astimezone(account.timezone).date()
        problems.append(f"the token of {service} {ends} on {day}: an operator renews it: maas ads connect")
    if account.synced_at[domain] is None:
        why = account.sync_errors.get(service)
        problems.append(f"{service} was never read to the end" + (f", the last error: {why}" if why else " yet"))
    return problems
