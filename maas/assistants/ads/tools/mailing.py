"""A mass mailing over WhatsApp: a row is written before each message, so no recipient gets it twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from maas.assistants.ads import queries
from maas.assistants.ads.account import account_of
from maas.assistants.ads.clients.evolution import EvolutionClient
from maas.assistants.ads.phones import mask_phone, mask_phones
from maas.assistants.ads.tools.arguments import Reference
from maas.assistants.ads.tools.dialogs import DOMAIN, phone_of
from maas.assistants.ads.tools.wordings import SEND_BULK
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer, ToolDoubt, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Preview
from shared.db import Database
from shared.text import as_uuid
from shared.vendors import VendorError

MAX_RECIPIENTS = 50
MAX_TEXT_CHARS = 4096
MAILING_TIMEOUT_S = 300.0
OF_ONE_RECIPIENT = ("not_found", "invalid")  # errors that say nothing about the next recipient


class MailingArguments(BaseModel):
    recipients: list[Reference] = Field(
        min_length=1,
        max_length=MAX_RECIPIENTS,
        description="Ids from getDialogs or getLeads, or phone numbers of the account's leads",
    )
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT_CHARS)] = Field(
        description="The text that each of them gets"
    )


@dataclass(frozen=True, slots=True)
class Recipient:
    """Whom a message goes to. `number`: digits of a phone number, or the jid of a chat that tells none.

    `id` is that of the dialogue, else of the lead.
    """

    id: UUID
    number: str
    name: str | None

    @property
    def label(self) -> str:
        """Which person it is, also where several have the name."""
        shown = self.shown()
        return " ".join(one for one in (shown["name"], shown["phone"]) if one) or str(self.id)

    def shown(self) -> dict[str, Any]:
        return {"name": mask_phones(self.name), "phone": None if "@" in self.number else mask_phone(self.number)}


@dataclass(slots=True)
class Mailing:
    """What has become of each recipient. `stopped`: why the rest got nothing."""

    sent: list[Recipient] = field(default_factory=list)
    failed: list[tuple[Recipient, str]] = field(default_factory=list)
    unknown: list[Recipient] = field(default_factory=list)
    not_sent: list[Recipient] = field(default_factory=list)
    stopped: str | None = None

    def shown(self) -> dict[str, Any]:
        return {
            "sent": len(self.sent),
            "recipients": [one.shown() for one in self.sent],
            "failed": [one.shown() | {"problem": problem} for one, problem in self.failed],
            "not_sent": [one.shown() for one in self.not_sent],
            "stopped": self.stopped,
        }


def make_mailing_tools(deps: Deps, vendors: Vendors) -> list[Tool]:
    """One tool."""
    db = deps.db

    async def verify_mailing(_: Any, context: ToolContext, data: Any) -> Any:
        """What was noted of each recipient of this run."""
        states = [row["state"] for row in await db.rows(queries.ads_sends, context.user_id, context.run_id)]
        counts = {state: states.count(state) for state in ("sent", "failed", "sending")}
        return {"verified": (counts["sent"], counts["sending"]) == (data["sent"], 0), **counts}

    async def prepare_mailing(arguments: MailingArguments, context: ToolContext) -> dict[str, Any]:
        """Each person once, by an id: a telephone number is shown to nobody."""
        recipients = await _find_recipients(db, context, arguments.recipients)
        await _check_connection(vendors.whatsapp(context))
        return {"recipients": [str(one.id) for one in recipients], "text": arguments.text}

    async def preview_mailing(arguments: MailingArguments, context: ToolContext) -> Preview:
        recipients = await _find_recipients(db, context, arguments.recipients)
        return Preview(", ".join(one.label for one in recipients))

    @tool(
        name="sendBulkMessage",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        timeout=MAILING_TIMEOUT_S,
        wording=SEND_BULK,
        verify=verify_mailing,
        prepare=prepare_mailing,
        preview=preview_mailing,
    )
    async def send_bulk_message(arguments: MailingArguments, context: ToolContext) -> Any:
        """Send one text over WhatsApp to 1 to 50 people of this account: its dialogues and leads."""
        whatsapp = vendors.whatsapp(context)
        recipients = await _find_recipients(db, context, arguments.recipients)
        await _check_connection(whatsapp)
        mailing = await _send(db, whatsapp, context, recipients, arguments.text)
        if mailing.unknown:
            raise ToolDoubt(_doubt(mailing))
        if not mailing.sent:
            raise ToolFailure(f"nothing was sent: {mailing.stopped or mailing.failed[0][1]}")
        return ToolAnswer(mailing.shown() | {"asked": len(recipients)})

    return [send_bulk_message]


async def _check_connection(whatsapp: EvolutionClient) -> None:
    """Raises ToolFailure while no telephone is connected."""
    with vendor_errors():
        state = await whatsapp.state()
    if state != "open":
        raise ToolFailure(f"nothing was sent: the connection of WhatsApp is {state}; connect the phone again")


async def _find_recipients(db: Database, context: ToolContext, references: list[str]) -> list[Recipient]:
    """Each person once, in the order asked for. Raises ToolFailure if one is nobody of the account."""
    account = account_of(context)
    ids, phones = [as_uuid(one) for one in references], [phone_of(one) for one in references]
    rows = await db.rows(queries.ads_recipients, account.user_id, account.id, ids, phones)
    found: dict[str, Recipient] = {}
    for place, row in enumerate(rows, 1):
        jid, number = row["jid"], row["phone_digits"]
        if jid is not None:
            number = row["number"] or jid
        recipient_id = row["chat_id"] or row["lead_id"]
        if number is None or recipient_id is None:
            is_known = recipient_id is not None
            problem = "has no phone number" if is_known else "is neither a dialogue nor a lead of this account"
            raise ToolFailure(f"nothing was sent: recipient {place} {problem}")
        found.setdefault(number, Recipient(recipient_id, number, row["name"]))
    return list(found.values())


async def _send(
    db: Database, whatsapp: EvolutionClient, context: ToolContext, recipients: list[Recipient], text: str
) -> Mailing:
    """Send to one after another, and stop where the service itself fails. Raises ToolFailure outside of a run."""
    mailing = Mailing()
    ids = context.user_id, context.run_id
    for place, one in enumerate(recipients):
        if not await db.value(queries.ads_begin_send, *ids, one.number):
            await _note_begun(db, context, one, mailing)
            continue
        try:
            message_id = await whatsapp.send_text(one.number, text)
        except VendorError as error:
            problem = mask_phones(error.message) or ""
            if error.is_outcome_unknown:
                mailing.unknown.append(one)
            else:
                mailing.failed.append((one, problem))
                await db.rows(queries.ads_end_send, *ids, one.number, "failed", None, problem)
            if error.code not in OF_ONE_RECIPIENT:
                mailing.stopped, mailing.not_sent = problem, recipients[place + 1 :]
                break
        else:
            mailing.sent.append(one)
            await db.rows(queries.ads_end_send, *ids, one.number, "sent", message_id, None)
    return mailing


async def _note_begun(db: Database, context: ToolContext, one: Recipient, mailing: Mailing) -> None:
    """Put a recipient where an earlier try of this run left him. Raises ToolFailure if the run does not exist."""
    rows = await db.rows(queries.ads_sends, context.user_id, context.run_id)
    row = next((row for row in rows if row["number"] == one.number), None)
    if row is None:
        raise ToolFailure("mailings are sent within runs only: ask the assistant for it")
    if row["state"] == "sent":
        mailing.sent.append(one)
    elif row["state"] == "failed":
        mailing.failed.append((one, row["problem"] or "failed before"))
    else:
        mailing.unknown.append(one)


def _doubt(mailing: Mailing) -> str:
    """What an operator or a user needs to find out by hand."""
    people = ", ".join(one.label for one in mailing.unknown)
    return (
        f"sent to {len(mailing.sent)}; unknown whether it arrived at {people}; not sent to {len(mailing.not_sent)}; "
        f"failed for {len(mailing.failed)}. Look in WhatsApp before anything is sent again"
    )
