"""What Facebook, amoCRM and WhatsApp have of a business is brought into its tables; nothing there is changed.

Each service is read from where its last sync ended. A portion is stored together with that place, and a row that is
there already is changed or left alone: after a crash the next sync goes on, and two at a time make no doubles.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from uuid import UUID, uuid4

from maas.assistants.ads import queries
from maas.assistants.ads.account import CRM_TOKEN, DOMAIN_OF, Account, account_of, read_values
from maas.assistants.ads.ad_tree import tree_of
from maas.assistants.ads.clients.amocrm import CrmLead, token_ends_at
from maas.assistants.ads.clients.evolution import Chat, ChatMessage
from maas.assistants.ads.days import months_before
from maas.assistants.ads.period import FACEBOOK_MONTHS, Period
from maas.assistants.ads.tokens import look_after_token
from maas.assistants.ads.tools.lead_stage import keep_stages
from maas.assistants.ads.vendors import Vendors
from maas.tools.calls import ToolFailure
from maas.tools.tool import ToolContext
from shared.db import Database
from shared.group_commit import BAD_DATA
from shared.vendors import VendorError
from shared.vendors.service import Limits

FIRST_DAYS = 365  # of the first sync
FORM_DAYS = 90  # Facebook keeps leads by forms no longer
RESTATED_DAYS = 28  # Facebook changes figures for so long: by leads that come late, and by corrections
PORTION_DAYS = 30
CLOCKS_APART = timedelta(hours=1)  # of the CRM and of ours, at most
WON = 142  # the stage of sold leads, in all pipelines of amoCRM
PATIENT = Limits(read_s=60.0, total_s=900.0, attempts=10, first_pause_s=1.0, max_pause_s=300.0)
FORMS = "lead forms of Facebook"
NO_TOKEN = "its token is missing; maas ads connect stores it again"
Report = Callable[[str, int], None]  # told what was stored, and how many rows


@dataclass(frozen=True, slots=True)
class Connection:
    """What a sync reads: a service of a business. `named`: the ad account (act_...) of Facebook, else the business."""

    user_id: UUID
    user_account_id: UUID
    account: str
    service: str
    named: str


class Sync:
    """The sync of a connection. With `days`, figures and dialogues of so many days are read, known or not."""

    def __init__(
        self, db: Database, vendors: Vendors, connection: Connection, days: int | None, report: Report
    ) -> None:
        self._db = db
        self._vendors = vendors
        self._of = connection
        self._user_id = connection.user_id
        self._days = days
        self._report = report

    async def run(self) -> list[str]:
        """What could not be read to the end, and why; what was stored before stays."""
        parts: dict[str, tuple[tuple[str, Callable[[ToolContext], Awaitable[None]]], ...]] = {
            "Facebook": (("Facebook", self._facebook), (FORMS, self._forms)),
            "amoCRM": (("amoCRM", self._crm),),
            "WhatsApp": (("WhatsApp", self._whatsapp),),
        }
        values = await read_values(self._db, self._user_id, self._of.named)
        if values is None:  # removed meanwhile
            return []
        context = ToolContext(self._user_id, uuid4(), values=values, account_id=self._of.named)
        if not account_of(context).is_connected[DOMAIN_OF[self._of.service]]:
            return [f"{self._of.service}: {NO_TOKEN}"]
        failures = []
        for name, read in parts[self._of.service]:
            try:
                await read(context)
            except (ToolFailure, VendorError) as error:
                failures.append(f"{name}: {error.message}")
            except BAD_DATA as error:
                failures.append(f"{name}: what it sent cannot be stored: {type(error).__name__}")
        await self._find_sources(self._of.user_account_id)
        return failures

    async def _facebook(self, context: ToolContext) -> None:
        """The ads as they are now, and figures by day; a portion of days is noted once it is whole."""
        tree = tree_of(self._db, self._vendors, context)
        await look_after_token(self._db, self._vendors, context)
        adsets, ads = await tree.ads()
        self._report("ad sets", len(adsets))
        self._report("ads", len(ads))
        await self._db.rows(queries.ads_direct_ads, self._user_id, tree.account.id)
        zone, now = tree.account.timezone, await self._db.value(queries.ads_now)
        today = now.astimezone(zone).date()
        synced_to = await self._db.value(queries.ads_synced_to, self._user_id, tree.account.id)
        begin = self._first_day(synced_to, today)
        for first, last in portions(begin, today):
            counts = await tree.all_days(Period("custom", first, last, zone, today))
            complete = min(last, today - timedelta(days=1))
            ends = (complete, begin, last == today)
            await self._db.value(queries.ads_set_synced_to, self._user_id, tree.account.id, *ends)
            self._report("days of ad sets", counts[0])
            self._report("days of ads", counts[1])
        await self._db.value(queries.ads_synced, self._user_id, tree.account.id, "ads")

    async def _forms(self, context: ToolContext) -> None:
        """Leads by forms of the ads that brought some; the place is noted once all of these ads were read."""
        tree, account = tree_of(self._db, self._vendors, context), account_of(context)
        now = await self._db.value(queries.ads_now)
        oldest = now - timedelta(days=FORM_DAYS)
        for row in await self._db.rows(queries.ads_forms_to_read, self._user_id, tree.account.id, oldest):
            since = row["since"] if self._days is None else now - timedelta(days=min(self._days, FORM_DAYS))
            try:
                found = await tree.facebook.form_leads(row["fb_id"], since)
            except VendorError as error:
                if error.code != "not_found":  # of an ad that was deleted
                    raise
                continue
            if not found:
                continue
            leads = [asdict(one) | {"created_at": one.created_at.isoformat()} for one in found]
            async with self._db.transaction() as transaction:
                await transaction.value(queries.ads_link_form_leads, self._user_id, account.id, leads)
                await transaction.value(queries.ads_keep_form_leads, self._user_id, account.id, leads)
            self._report("leads by forms", len(leads))
        await self._db.value(queries.ads_set_forms_synced_to, self._user_id, tree.account.id, now)

    def _first_day(self, synced_to: date | None, today: date) -> date:
        """The first day to read: that of a first sync, or the first that may have been restated since the last one."""
        if synced_to is None or self._days is not None:
            first = today - timedelta(days=(self._days or FIRST_DAYS) - 1)
        else:
            first = synced_to - timedelta(days=RESTATED_DAYS - 1)
        earliest = months_before(today, FACEBOOK_MONTHS) + timedelta(days=1)
        return max(earliest, min(first, today))

    async def _crm(self, context: ToolContext) -> None:
        """Currency and stages, the leads that have changed, the oldest change first, and those that were deleted."""
        account, crm = account_of(context), self._vendors.crm(context)
        ends_at = token_ends_at(context.values[CRM_TOKEN].get_secret_value())
        await self._db.rows(queries.ads_keep_token_end, self._user_id, account.id, ends_at)
        await self._db.value(queries.ads_keep_crm_currency, self._user_id, account.id, await crm.currency())
        self._report("stages", await keep_stages(self._db, crm, account))
        synced_to = await self._db.value(queries.ads_crm_synced_to, self._user_id, account.id)
        async for page in crm.leads(synced_to):
            await self._keep_leads(account, page)
        read_at = account.synced_at["crm"]
        if deleted := await crm.deleted_leads(None if read_at is None else read_at - CLOCKS_APART):
            ids = [str(one) for one in deleted]
            count = await self._db.value(queries.ads_forget_crm_leads, self._user_id, account.id, ids)
            self._report("deleted leads", count or 0)
        await self._db.value(queries.ads_synced, self._user_id, account.id, "crm")

    async def _keep_leads(self, account: Account, page: Sequence[CrmLead]) -> None:
        leads = [
            {
                "crm_lead_id": str(one.crm_id),
                "name": one.name or None,
                "phone": one.phone,
                "other_phones": one.other_phones,
                "pipeline_id": str(one.pipeline_id),
                "stage_id": str(one.status_id),
                "revenue": str(one.price if one.status_id == WON else 0),
                "created_at": one.created_at.isoformat(),
                "utm_marks": one.utm_marks,
            }
            for one in page
        ]
        async with self._db.transaction() as transaction:
            await transaction.value(queries.ads_link_leads, self._user_id, account.id, leads)
            await transaction.value(queries.ads_keep_leads, self._user_id, account.id, leads)
            last = max(one.updated_at for one in page)
            await transaction.value(queries.ads_set_crm_synced_to, self._user_id, account.id, last)
        self._report("leads", len(leads))

    async def _whatsapp(self, context: ToolContext) -> None:
        """Dialogues with new messages, the last changed first; a dialogue's place is noted once it is stored whole."""
        account, whatsapp = account_of(context), self._vendors.whatsapp(context)
        await self._db.value(queries.ads_keep_whatsapp_state, self._user_id, account.id, await whatsapp.state())
        rows = await self._db.rows(queries.ads_chats_synced_to, self._user_id, account.id)
        synced = {} if self._days is not None else {row["jid"]: row["synced_to"] for row in rows}
        oldest = await self._db.value(queries.ads_now) - timedelta(days=self._days or FIRST_DAYS)
        for chat in await whatsapp.chats():
            since = synced.get(chat.jid) or oldest
            if chat.updated_at is None or chat.updated_at >= since:
                await self._keep_messages(account, chat, whatsapp.messages(chat.jid, since))
        ids = (self._user_id, account.id)
        await self._db.value(queries.ads_set_messages_from, *ids, oldest, self._days is not None)
        await self._db.value(queries.ads_synced, *ids, "whatsapp")

    async def _find_sources(self, account_id: UUID) -> None:
        """Which ad brought each lead that does not know it yet. Who wrote because of an ad is a lead, too."""
        ids = (self._user_id, account_id)
        await self._db.rows(queries.ads_keep_chat_leads, *ids)
        await self._db.rows(queries.ads_find_sources, *ids)
        if found := len(await self._db.rows(queries.ads_attribute_leads, *ids)):
            self._report("leads with a creative", found)

    async def _keep_messages(self, account: Account, chat: Chat, pages: AsyncIterator[list[ChatMessage]]) -> None:
        newest: datetime | None = None
        async for page in pages:
            messages = [
                {
                    "id": one.message_id,
                    "direction": "out" if one.is_outgoing else "in",
                    "text": one.text,
                    "sent_at": one.sent_at.isoformat(),
                }
                for one in page
            ]
            number = next((one.number for one in page if one.number), None)
            ad = next((one.ad_fb_id for one in reversed(page) if one.ad_fb_id), None)
            async with self._db.transaction() as transaction:
                known = (self._user_id, account.id, chat.jid)
                await transaction.value(queries.ads_keep_chat, *known, chat.name or None, number, ad)
                await transaction.value(queries.ads_keep_messages, *known, messages)
            newest = max([one.sent_at for one in page] + ([newest] if newest else []))
            self._report("messages", len(messages))
        if newest is not None:
            await self._db.rows(queries.ads_chat_synced, self._user_id, account.id, chat.jid, newest)


def portions(first: date, last: date) -> list[tuple[date, date]]:
    """The days from `first` to `last` in parts of at most PORTION_DAYS, the oldest first."""
    found = []
    while first <= last:
        end = min(first + timedelta(days=PORTION_DAYS - 1), last)
        found.append((first, end))
        first = end + timedelta(days=1)
    return found
