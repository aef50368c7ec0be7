"""docs/ads.md lists the tools of advertising as they are declared; `RECORD=1 pytest FILE` writes the list anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from maas.assistants.ads.account import DOMAINS
from maas.assistants.ads.toolset import make_tools
from maas.engine.stages import Deps
from maas.settings import Settings, load_settings
from maas.tools.tool import Tool
from tests.stack import ROOT

PAGE = ROOT / "docs" / "ads.md"
BEGIN, END = "<!-- tools: written by tests/assistants/ads/test_tools_page.py -->\n", "<!-- /tools -->"
DANGEROUS = {
    "pauseCampaign",
    "pauseAdSet",
    "pauseDirection",
    "updateBudget",
    "updateDirectionBudget",
    "launchCreative",
    "pauseCreative",
    "startCreativeTest",
    "sendBulkMessage",
}
WRITES = {
    "resumeCampaign",
    "resumeAdSet",
    "resumeDirection",
    "updateDirectionTargetCPL",
    "triggerCreativeAnalysis",
    "stopCreativeTest",
    "updateLeadStage",
}
READS = {
    "ads": {"getCampaigns", "getCampaignDetails", "getAdSets", "getSpendReport", "getROIReport", "getDirections",
            "getDirectionDetails", "getDirectionMetrics"},
    "creative": {"getCreatives", "getCreativeDetails", "getCreativeMetrics", "getCreativeAnalysis", "getTopCreatives",
                 "getWorstCreatives", "compareCreatives", "getCreativeScores", "getCreativeTests",
                 "getCreativeTranscript"},
    "crm": {"getLeads", "getLeadDetails", "getFunnelStats", "getSalesQuality"},
    "whatsapp": {"getDialogs", "getDialogMessages", "analyzeDialog", "searchDialogSummaries"},
}  # fmt: skip
COUNTS = {"ads": 17, "creative": 15, "crm": 5, "whatsapp": 5}


@dataclass
class NoDatabase:
    settings: Settings
    db: Any = None


def declared() -> list[Tool]:
    tools = make_tools(cast(Deps, NoDatabase(load_settings())))
    return [one for one in tools if one.domain in DOMAINS]


def rows(tools: list[Tool]) -> Iterator[str]:
    yield "| tool | domain | effect | what it does |"
    yield "| -- | -- | -- | -- |"
    for one in tools:
        yield f"| `{one.name}` | {one.domain} | {one.effect} | {' '.join(one.description.split())} |"


def test_the_page_lists_the_tools() -> None:
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page = before + BEGIN + "\n" + "\n".join(rows(declared())) + "\n\n" + END + after
    if os.environ.get("RECORD"):
        PAGE.write_text(page)
    assert page == PAGE.read_text()


def test_names_effects_and_domains() -> None:
    tools = declared()
    assert {name: sum(one.domain == name for one in tools) for name in DOMAINS} == COUNTS
    assert {one.name for one in tools if one.effect == "dangerous"} == DANGEROUS
    assert {one.name for one in tools if one.effect == "write"} == WRITES
    for domain, names in READS.items():
        assert {one.name for one in tools if one.effect == "read" and one.domain == domain} == names


def test_each_dangerous_tool_says_what_will_happen() -> None:
    reasons = [one.reason for one in declared() if one.effect == "dangerous"]
    assert len(set(reasons)) == len(DANGEROUS) and all(len(reason) > 15 for reason in reasons)


def test_each_change_is_described_in_both_languages_and_names_its_object() -> None:
    """Those that wait in the modes `plan` and `ask` alone, too."""
    for one in declared():
        if one.effect != "read":
            assert one.wording.title is not None and one.wording.reason is not None, one.name
            assert one.preview is not None, one.name


def test_each_tool_is_a_schema() -> None:
    for one in declared():
        assert one.parameters["type"] == "object" and set(one.parameters) >= {"properties", "required"}, one.name
        assert one.timeout in (30, 60) or one.name in ("analyzeDialog", "sendBulkMessage"), one.name
