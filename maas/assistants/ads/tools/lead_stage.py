"""The move of a lead to another stage of the CRM's funnel; it is seen there again before it is called done."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from maas.assistants.ads import queries
from maas.assistants.ads.account import Account, account_of
from maas.assistants.ads.clients.amocrm import AmoCrmClient
from maas.assistants.ads.phones import mask_phones
from maas.assistants.ads.tools.arguments import Reference
from maas.assistants.ads.tools.wordings import MOVE_LEAD, STAGE
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Change, Preview
from shared.db import Database
from shared.text import as_uuid

DOMAIN = "crm"
MAX_STAGES = 20
NO_LEAD = "there is no such lead: take an id from getLeads"
NOT_IN_CRM = "this lead is not in the CRM, so it has no stage there"


class LeadArguments(BaseModel):
    lead_id: Reference = Field(description="The id of the lead, from getLeads")


class StageArguments(LeadArguments):
    stage_id: Reference = Field(description="The id of the stage, from getFunnelStats, or its name")
    pipeline_id: Reference | None = Field(
        default=None, description="The pipeline of the stage; needed only where several have such a stage"
    )


def make_stage_tools(deps: Deps, vendors: Vendors) -> list[Tool]:
    db = deps.db

    async def verify_stage(_: Any, context: ToolContext, data: Any) -> Any:
        """The stage that the CRM has the lead in now."""
        with vendor_errors():
            lead = await vendors.crm(context).lead(int(data["crm_id"]))
        if lead is None:
            return {"verified": False, "reason": "the CRM no longer has this lead"}
        is_there = (str(lead.status_id), str(lead.pipeline_id)) == (data["stage_id"], data["pipeline_id"])
        return {"verified": is_there, "stage_id": str(lead.status_id), "pipeline_id": str(lead.pipeline_id)}

    async def preview_stage(arguments: StageArguments, context: ToolContext) -> Preview:
        account, reference = account_of(context), arguments.lead_id
        lead = await db.row(queries.ads_lead, account.user_id, account.id, reference, as_uuid(reference))
        if lead is None:
            raise ToolFailure(NO_LEAD)
        stage = await _find_stage(db, vendors.crm(context), account, arguments, lead["pipeline_id"])
        name = mask_phones(lead["name"]) or str(lead["id"])
        return Preview(name, (Change(STAGE, lead["stage"], stage["name"]),))

    @tool(
        name="updateLeadStage",
        domain=DOMAIN,
        effect="write",
        needs="connected",
        verify=verify_stage,
        wording=MOVE_LEAD,
        preview=preview_stage,
    )
    async def update_lead_stage(arguments: StageArguments, context: ToolContext) -> Any:
        """Move a lead to another stage of the CRM's funnel."""
        account, crm = account_of(context), vendors.crm(context)
        reference = arguments.lead_id
        lead = await db.row(queries.ads_lead, account.user_id, account.id, reference, as_uuid(reference))
        if lead is None:
            raise ToolFailure(NO_LEAD)
        if not (crm_id := lead["crm_lead_id"] or "").isdecimal():
            raise ToolFailure(NOT_IN_CRM)
        stage = await _find_stage(db, crm, account, arguments, lead["pipeline_id"])
        with vendor_errors():
            await crm.set_stage(int(crm_id), int(stage["stage_id"]), int(stage["pipeline_id"]))
        await db.rows(queries.ads_set_lead_stage, account.user_id, lead["id"], stage["pipeline_id"], stage["stage_id"])
        name = mask_phones(lead["name"]) or str(lead["id"])
        data = {
            "id": str(lead["id"]),
            "name": name,
            "crm_id": crm_id,
            "stage_id": stage["stage_id"],
            "stage": stage["name"],
            "pipeline_id": stage["pipeline_id"],
            "pipeline": stage["pipeline_name"],
            "stage_before": lead["stage"],
            "stage_id_before": lead["stage_id"],
        }
        return ToolAnswer(data, {name: data["id"]})

    return [update_lead_stage]


async def _find_stage(
    db: Database, crm: AmoCrmClient, account: Account, arguments: StageArguments, pipeline_id: str | None
) -> queries.AdsStagesRow:
    """The stage that is meant, in the lead's own pipeline if others have such a stage, too. Raises ToolFailure."""
    if not (found := await _stages(db, account, arguments)):
        await keep_stages(db, crm, account)
        found = await _stages(db, account, arguments)
    own = [one for one in found if one["pipeline_id"] == pipeline_id]
    if len(own) == 1 or len(found) == 1:
        return (own or found)[0]
    if found:
        named = ", ".join(f"{one['pipeline_id']} ({one['pipeline_name']})" for one in found[:MAX_STAGES])
        raise ToolFailure(f"several pipelines have this stage: send pipeline_id, one of {named}")
    rows = await db.rows(queries.ads_stages, account.user_id, account.id)
    named = ", ".join(f"{one['stage_id']} ({one['name']})" for one in rows[:MAX_STAGES])
    raise ToolFailure(f"there is no such stage; the stages are {named or 'unknown'}")


async def keep_stages(db: Database, crm: AmoCrmClient, account: Account) -> int:
    """Read the stages of the CRM and keep them; how many there are. Raises ToolFailure."""
    with vendor_errors():
        stages = await crm.stages()
    kept = [
        {
            "pipeline_id": str(one.pipeline_id),
            "stage_id": str(one.stage_id),
            "pipeline_name": one.pipeline_name,
            "name": one.name,
            "place": place,
        }
        for place, one in enumerate(stages)
    ]
    await db.rows(queries.ads_keep_stages, account.user_id, account.id, kept)
    return len(kept)


async def _stages(db: Database, account: Account, arguments: StageArguments) -> list[queries.AdsStagesRow]:
    """The known stages with this id or name."""
    wanted = arguments.stage_id.strip().casefold()
    rows = await db.rows(queries.ads_stages, account.user_id, account.id)
    return [
        one
        for one in rows
        if one["stage_id"].isdecimal()
        and wanted in (one["stage_id"], one["name"].casefold())
        and arguments.pipeline_id in (None, one["pipeline_id"])
    ]
