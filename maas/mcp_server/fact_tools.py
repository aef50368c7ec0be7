"""The tools of facts: what is true of a user, and what the user decides about it."""

from __future__ import annotations

from typing import Any

from maas.client.calls import Operation
from maas.client.facts import read_facts
from maas.client.messages import isoformat
from maas.client.users import Users
from maas.mcp_server.context import McpContext, ReportProgress
from maas.mcp_server.schemas import DecideFactInput, DecideFactOutput, FactItem, FactsOutput, ListFactsInput


async def list_facts(context: McpContext, args: ListFactsInput, user: str, _: ReportProgress | None) -> FactsOutput:
    page = await context.client.run(_read_page(context.client.users, user, args))
    return FactsOutput(results=[FactItem.model_validate(row) for row in page["results"]], next=page["next"])


async def decide_fact(
    context: McpContext, args: DecideFactInput, user: str, _: ReportProgress | None
) -> DecideFactOutput:
    await context.client.decide_fact(args.fact_id, args.verdict, user_id=user)
    return DecideFactOutput(fact_id=args.fact_id, verdict=args.verdict)


def _read_page(users: Users, user: str, args: ListFactsInput) -> Operation[dict[str, Any]]:
    owner = yield from users.find(user)
    if owner is None:
        return {"results": [], "next": None}
    params = {"state": args.state, "about": args.about, "as_of": isoformat(args.as_of), "before": args.before}
    return (yield from read_facts(owner, args.limit, params))
