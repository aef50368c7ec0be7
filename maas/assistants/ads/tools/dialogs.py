"""Dialogues of WhatsApp: lists, messages and their stored summaries. All are read from the tables, connected or not."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, StringConstraints

from maas.assistants.ads import queries
from maas.assistants.ads.account import account_of
from maas.assistants.ads.ad_tree import together
from maas.assistants.ads.period import PeriodArguments
from maas.assistants.ads.phones import mask_phone, mask_phones
from maas.assistants.ads.tools.arguments import ListArguments, Reference, entities, period_of
from maas.assistants.ads.tools.crm import TEMPERATURES
from maas.assistants.ads.tools.wordings import LIST_DIALOGS, SEARCH_DIALOGS, SHOW_DIALOG
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from shared.db import Database
from shared.text import as_uuid, shorten

DOMAIN = "whatsapp"
NO_DIALOG = "there is no such dialogue: take an id from getDialogs or getLeads"
PHONE_DIGITS = range(9, 16)
MAX_MESSAGE_CHARS = 500
MAX_SUMMARY_CHARS = 600
Temperature = Literal["hot", "warm", "cold"]


class DialogsArguments(ListArguments):
    temperature: Temperature | None = Field(default=None, description="Only such dialogues")


class DialogArguments(BaseModel):
    dialog_id: Reference = Field(description="The id of the dialogue or of its lead, or the phone number")


class MessagesArguments(DialogArguments):
    limit: int = Field(default=30, ge=1, le=100, description="How many messages")
    skip: int = Field(default=0, ge=0, le=100_000, description="How many of the newest messages to leave out")


class SearchArguments(BaseModel):
    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)] = Field(
        description="Words that the summaries are about"
    )
    temperature: Temperature | None = Field(default=None, description="Only such dialogues")
    limit: int = Field(default=10, ge=1, le=50, description="How many to list; the total number is returned, too")


def make_dialog_tools(deps: Deps) -> list[Tool]:
    """Three tools: dialogues, the messages of one, and a search in summaries."""
    db = deps.db

    @tool(name="getDialogs", domain=DOMAIN, effect="read", needs="data", wording=LIST_DIALOGS)
    async def get_dialogs(arguments: DialogsArguments, context: ToolContext) -> Any:
        """List dialogues with clients by their last message in a period (default: all time), the newest first."""
        account = account_of(context)
        period = await period_of(db, arguments, context, "all")
        owner, wanted = (account.user_id, account.id), arguments.temperature
        counts, rows = await together(
            db.row(queries.ads_count_dialogs, *owner, period.start, period.end, wanted),
            db.rows(queries.ads_dialogs, *owner, period.start, period.end, wanted, arguments.limit),
        )
        items = [dialog_of(row, account.timezone) for row in rows]
        data = {
            "period": period.shown(),
            **account.freshness("whatsapp"),
            **counts,
            "empty_in_period": counts["count"] == 0 < counts["count_all_time"],
            "temperatures": TEMPERATURES,
            "dialogs": items,
        }
        return ToolAnswer(data, entities(items))

    @tool(name="getDialogMessages", domain=DOMAIN, effect="read", needs="data", wording=SHOW_DIALOG)
    async def get_dialog_messages(arguments: MessagesArguments, context: ToolContext) -> Any:
        """Show messages of one dialogue in the order in which they were sent; by default the newest 30."""
        account = account_of(context)
        row = await find_dialog(db, context, arguments.dialog_id)
        found = await read_messages(db, context, row["jid"], arguments.limit, arguments.skip)
        dialog = dialog_of(row, account.timezone)
        data = {
            **account.freshness("whatsapp"),
            "dialog": dialog,
            "count": row["messages_in"] + row["messages_out"],
            "messages": found,
        }
        return ToolAnswer(data, entities([dialog]))

    @tool(name="searchDialogSummaries", domain=DOMAIN, effect="read", needs="data", wording=SEARCH_DIALOGS)
    async def search_dialog_summaries(arguments: SearchArguments, context: ToolContext) -> Any:
        """Find dialogues by words of their summaries, which analyzeDialog writes; of all time."""
        account = account_of(context)
        rows = await db.rows(
            queries.ads_search_summaries,
            account.user_id,
            account.id,
            arguments.query,
            arguments.temperature,
            arguments.limit,
        )
        items = [_summary(row, account.timezone) for row in rows]
        data = {
            "period": (await period_of(db, PeriodArguments(), context, "all")).shown(),
            **account.freshness("whatsapp"),
            "count": rows[0]["found"] if rows else 0,
            "summaries": items,
        }
        return ToolAnswer(data, entities(one for one in items if one["id"]))

    return [get_dialogs, get_dialog_messages, search_dialog_summaries]


async def find_dialog(db: Database, context: ToolContext, reference: str) -> queries.AdsDialogRow:
    """The dialogue of the account with this id, lead or phone number. Raises ToolFailure."""
    account = account_of(context)
    row = await db.row(queries.ads_dialog, account.user_id, account.id, as_uuid(reference), phone_of(reference))
    if row is None:
        raise ToolFailure(NO_DIALOG)
    return row


async def read_messages(
    db: Database, context: ToolContext, jid: str, limit: int, skip: int = 0
) -> list[dict[str, Any]]:
    """The newest messages but `skip`, the oldest of them first, without phone numbers."""
    account = account_of(context)
    rows = await db.rows(
        queries.ads_dialog_messages, account.user_id, account.id, jid, skip, limit, MAX_MESSAGE_CHARS + 1
    )
    return [
        {
            "from": "client" if row["direction"] == "in" else "business",
            "text": shorten(mask_phones(row["text"]) or "", MAX_MESSAGE_CHARS),
            "sent_at": _time(row["sent_at"], account.timezone),
        }
        for row in reversed(rows)
    ]


def phone_of(reference: str) -> str | None:
    """What is written like a phone number, as it is written; None for anything else."""
    if as_uuid(reference) is not None:
        return None
    digits = sum(one in "0123456789" for one in reference)
    is_number = all(one in "0123456789 +-().\u00a0" for one in reference)
    return reference if is_number and digits in PHONE_DIGITS else None


def dialog_of(row: queries.AdsDialogsRow | queries.AdsDialogRow, zone: ZoneInfo) -> dict[str, Any]:
    """What models see of a dialogue."""
    return {
        "id": str(row["id"]),
        "name": mask_phones(row["name"]),
        "phone": mask_phone(row["phone"]),
        "lead_id": str(row["lead_id"]) if row["lead_id"] else None,
        "temperature": row["temperature"],
        "messages_from_client": row["messages_in"],
        "messages_to_client": row["messages_out"],
        "last_message_at": _time(row["last_message_at"], zone),
        "is_summary_current": row["is_summary_current"],
    }


def _summary(row: queries.AdsSearchSummariesRow, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "id": str(row["id"]) if row["id"] else None,
        "name": mask_phones(row["name"]),
        "phone": mask_phone(row["phone"]),
        "lead_id": str(row["lead_id"]) if row["lead_id"] else None,
        "temperature": row["temperature"],
        "summary": shorten(mask_phones(row["summary"]) or "", MAX_SUMMARY_CHARS),
        "updated_at": _time(row["updated_at"], zone),
        "last_message_at": _time(row["last_message_at"], zone),
    }


def _time(value: datetime | None, zone: ZoneInfo) -> str | None:
    return None if value is None else value.astimezone(zone).isoformat(timespec="seconds")
