"""The targets of a direction: what a lead may cost, and what figures are compared to it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypedDict

from maas.assistants.ads.metrics import Tier, compare_to_target, rounded, tier


class Targeted(TypedDict):
    """The columns of a direction's targets."""

    target_cpl: Decimal | None
    target_qcpl: Decimal | None
    target_cpl_currency: str | None


def versus_target(value: Decimal | None, target: Decimal | None, of: str | None, currency: str) -> dict[str, Any]:
    """A value in `currency` compared to its target, which is in the currency `of`; another one is not compared."""
    if target is None or of is None:
        return {"target_cpl": None, "vs_target_percent": None}
    shown = {"target_cpl": rounded(target), "target_currency": of, "vs_target_percent": None}
    if of != currency:
        return shown | {"not_compared": f"the target is in {of}, the figures are in {currency}"}
    return shown | {"vs_target_percent": rounded(compare_to_target(value, target))}


def versus_targets(cpl: Decimal | None, qcpl: Decimal | None, row: Targeted, currency: str) -> dict[str, Any]:
    """Both costs in `currency`, each compared to its own target; targets in another currency are not compared."""
    target, of = row["target_qcpl"], row["target_cpl_currency"]
    is_compared = target is not None and of == currency
    compared = compare_to_target(qcpl, target) if is_compared else None
    shown = versus_target(cpl, row["target_cpl"], of, currency)
    return shown | {"target_qcpl": rounded(target), "qcpl_vs_target_percent": rounded(compared), "target_currency": of}


def judge(roi: Decimal | None, qcpl: Decimal | None, cpl: Decimal | None, row: Targeted, currency: str) -> Tier:
    """The tier by ROI and by QCPL, or by CPL where there is a target for that alone."""
    if row["target_cpl_currency"] != currency:
        return tier(roi, None, None)
    if row["target_qcpl"] is not None:
        return tier(roi, qcpl, row["target_qcpl"])
    return tier(roi, cpl, row["target_cpl"], "cpl")
