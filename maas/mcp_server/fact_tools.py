"""The tools of facts: what is true of a user, and what the user decides about it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from maas.client.calls import Operation
from maas.client.facts import read_facts
from maas.client.messages import isoformat
from maas.client.users import Users
from maas.mcp_server.context import McpContext, ReportProgress
from maas.mcp_server.schemas import (
    CorrectFactInput,
    CorrectFactOutput,
    DecideFactInput,
    DecideFactOutput,
    FactItem,
    FactsOutput,
    ListFactsInput,
    MergeNamesInput,
    MergeNamesOutput,
)


async def list_facts(context: McpContext, args: ListFactsInput, user: str, _: ReportProgress | None) -> FactsOutput:
    page = await context.client.run(_read_page(context.client.users, user, args))
    return FactsOutput(results=[FactItem.model_validate(row) for row in page["results"]], next=page["next"])


async def decide_fact(
    context: McpContext, args: DecideFactInput, user: str, _: ReportProgress | None
) -> DecideFactOutput:
    await context.client.decide_fact(args.fact_id, args.verdict, user_id=user)
    return DecideFactOutput(fact_id=args.fact_id, verdict=args.verdict)


async def correct_fact(
    context: McpContext, args: CorrectFactInput, user: str, _: ReportProgress | None
) -> CorrectFactOutput:
    new = await context.client.correct_fact(args.fact_id, args.fact, user_id=user)
    return CorrectFactOutput(fact_id=UUID(new["id"]), request_id=UUID(new["request_id"]))


async def merge_names(
    context: McpContext, args: MergeNamesInput, user: str, _: ReportProgress | None
) -> MergeNamesOutput:
    return MergeNamesOutput(facts=await context.client.merge_names(args.name, args.same_as, user_id=user))


def _read_page(users: Users, user: str, args: ListFactsInput) -> Operation[dict[str, Any]]:
    owner = yield from users.find(user)
    if owner is None:
        return {"results": [], "next": None}
    params = {"state": args.state, "about": args.about, "as_of": isoformat(args.as_of), "before": args.before}
    return (yield from read_facts(owner, args.limit, params))
