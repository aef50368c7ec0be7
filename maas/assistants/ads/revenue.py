"""What leads paid, in the currency of the ad account: revenue and spend of different currencies are never added up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from maas.assistants.ads import queries
from maas.assistants.ads.account import Account
from maas.assistants.ads.metrics import qcpl
from maas.assistants.ads.period import Period
from shared.db import Database

UNREAD = (
    "leads of this period came before the first message that is stored, so qualified_leads_engaged counts too few and "
    "no QCPL is given: say so; an operator reads more messages: maas ads sync --days N"
)


@dataclass(frozen=True, slots=True)
class Revenue:
    """How revenue of the CRM becomes money of the ad account.

    `factor` is None where that is unknown: no lead has ever paid, or the currencies differ and no rate is set.
    `is_read`: the messages of all leads are stored, so it is known who wrote.
    """

    factor: Decimal | None
    note: str | None = None
    is_read: bool = True

    def qcpl(self, spend: Decimal, engaged: int) -> Decimal | None:
        """The cost of a lead that is qualified by deeds, None where it is unknown who is."""
        return qcpl(spend, engaged) if self.is_read else None

    def of(self, amount: Decimal | None) -> Decimal | None:
        """An amount of the CRM in the ad account's currency, None where that is unknown."""
        return None if self.factor is None else (amount or Decimal(0)) * self.factor

    def shown(self) -> dict[str, str]:
        """What a result says of it."""
        shown = {} if self.note is None else {"revenue_note": self.note}
        return shown if self.is_read else shown | {"engaged_note": UNREAD}


async def read_revenue(db: Database, account: Account, period: Period) -> Revenue:
    """How to count what the leads of an account that came in a period did and paid."""
    ends = (account.user_id, account.id, period.start, period.end)
    found = await _read_factor(db, account)
    return replace(found, is_read=not await db.value(queries.ads_has_unread_leads, *ends))


async def _read_factor(db: Database, account: Account) -> Revenue:
    if not await db.value(queries.ads_has_revenue, account.user_id, account.id):
        return Revenue(None, "no lead of this account has a revenue: ROI is unknown")
    own, paid = account.currency, account.crm_currency
    if not account.needs_rate:
        return Revenue(Decimal(1))
    if (rate := account.usable_rate) is None:
        return Revenue(
            None,
            f"leads pay in {paid} and ads cost {own}: without a rate revenue and ROI are left out; an operator sets "
            "it: maas ads rate",
        )
    return Revenue(rate.value, f"revenue is converted from {paid}: 1 {paid} = {rate.value:f} {own}, rate of {rate.day}")
