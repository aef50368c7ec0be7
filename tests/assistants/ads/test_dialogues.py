"""docs/ads.md holds a dialogue of each advertising assistant as it runs now; `RECORD=1 pytest FILE` writes it anew.

What a dialogue shows is counted from rows that this file adds, on the stand-ins; only the models' words are scripted.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.assistants.ads.marketer import CHOOSING, SPEAKERS, Marketer, execute, marketer
from tests.fault.test_actions import finish
from tests.flow.test_dialogues_page import Recorder
from tests.stack import ROOT

PAGE = ROOT / "docs" / "ads.md"
BEGIN, END = "<!-- dialogues: written by tests/assistants/ads/test_dialogues.py -->\n\n", "\n<!-- /dialogues -->"
CONFIRM = [("confirm_pending", "{}")]
CONTEXT = {"set_up", "integrations", "user_specs", "brain_actions", "directions", "ad_account_status"}
SHOWN = ("leads", "qualified_leads_crm", "crm_qualification_rate", "qualified_leads_engaged", "verification")
ASKED = {CHOOSING: "the classifier", **{words: f"agent {name}" for name, words in SPEAKERS.items()}}
LEADS, QUALIFIED = 12, 5


class Dialogue:
    """A conversation of the marketer, written down."""

    def __init__(self, business: Marketer, assistant: str, title: str) -> None:
        self.business, self.assistant, self.conversation = business, assistant, uuid4()
        self.recorder = Recorder(title)
        self.recorder.lines[0] = f"### {title}"

    def say(self, message: str, words: dict[str, str], rounds: dict[str, list[list[tuple[str, str]]]]) -> None:
        """Say something; `words` and `rounds` of calls are those of each speaker."""
        models, recorder = self.business.models, self.recorder
        models.requests.clear()
        models.rounds.clear()
        models.rounds.update(rounds)
        models.replies.update(words)
        recorder.add("user:", message)
        run = self.business.ask(message, self.assistant, self.conversation)
        for speaker, name in ASKED.items():
            if asked := models.said_to(speaker):
                recorder.add("<-", f"{name} x {len(asked)}")
        self.note_calls(run)
        recorder.add("assistant:", run["final_answer"])
        for action in self.actions():
            if action["action_run_id"]:
                self.note_calls(finish(self.business.stack, action["action_run_id"]))
        for action in self.actions():
            recorder.add("=", f"action {action['tool']}: {action['status']}")

    def actions(self) -> list[dict[str, Any]]:
        query = "select tool, status, action_run_id from v_actions where conversation_id = %s order by created_at"
        return self.business.stack.rows(query, self.conversation)

    def note_calls(self, run: dict[str, Any]) -> None:
        """Add the calls of a run that a model chose; those of the context are the same for every question."""
        query = "select tool, arguments, result from tool_executions where run_id = %s order by tool"
        for row in self.business.stack.rows(query, run["id"]):
            if row["tool"] not in CONTEXT:
                given = {name: value for name, value in row["arguments"].items() if value is not None}
                self.recorder.add("!", f"{row['tool']} {json.dumps(given, ensure_ascii=False)}")
                self.recorder.add("  ", json.dumps(figures(row["result"]), ensure_ascii=False))


def figures(result: dict[str, Any]) -> dict[str, Any]:
    """What is shown of a result: its sums, or some of its values."""
    data = result | result.get("data", {})
    return dict(data["total"]) if "total" in data else {name: data[name] for name in SHOWN if name in data}


def prepare(business: Marketer) -> None:
    creative = business.creative()
    business.direction()
    for number in range(LEADS):
        business.add(
            "leads",
            user_account_id=business.account,
            is_qualified=number < QUALIFIED,
            name=f"Лид {number}",
            source_creative_id=creative,
            created_at="2026-11-18T10:00:00+00:00",
            reached_key_stage=number < QUALIFIED,
            revenue=60 if number < 2 else 0,
            phone=f"+770112345{number:02}",
        )


def meta_dialogue(business: Marketer) -> str:
    dialogue = Dialogue(business, "ads", "`ads`: figures, then a change that waits for a yes")
    domains = [("getAvailableDomains", "")], [("getDomainTools", '{"domain": "crm"}')]
    calls = [("getSalesQuality", {"period": "all"}), ("getROIReport", {"period": "all"})]
    dialogue.say(
        "Сколько квалифицированных лидов и во что они обошлись?",
        {
            SPEAKERS["crm"]: "Квалифицированных лидов 5 из 12.",
            SPEAKERS["ads"]: "Потрачено 20 USD, один квалифицированный лид стоил 4 USD.",
            "responder": "За всё время: 5 квалифицированных лидов из 12 (41,67 %), по 4 USD за каждого. "
            "Это ровно цель; бюджет можно немного поднять.",
        },
        {"responder": [*domains, [execute(*calls, question="Сколько и почём?")]]},
    )
    budget = {"adset_id": "111", "daily_budget": 70}
    dialogue.say(
        "Подними бюджет группы Алматы до 70 долларов.",
        {"responder": "Изменить дневной бюджет группы «Алматы» с 50 на 70 USD? Нужно ваше согласие."},
        {"responder": [[("executeTool", json.dumps({"tool_name": "updateBudget", "arguments": budget}))]]},
    )
    assert business.writes() == []
    dialogue.say("да", {"responder": "Меняю."}, {"responder": [CONFIRM]})
    (write,) = business.writes()
    dialogue.recorder.add("=", f"Facebook was asked once: {write['path']} daily_budget {write['body']['daily_budget']}")
    return dialogue.recorder.page()


def classified_dialogue(business: Marketer) -> str:
    dialogue = Dialogue(business, "ads_v1", "`ads_v1`: words decide, and one model call where they do not")
    dialogue.say(
        "Покажи расходы за всё время",
        {SPEAKERS["ads"]: "За всё время потрачено 20 USD, 10 лидов."},
        {SPEAKERS["ads"]: [[("getSpendReport", '{"period": "all"}')]]},
    )
    dialogue.say(
        "Почему реклама даёт плохих лидов?",
        {
            CHOOSING: json.dumps({"agents": ["ads", "crm"]}),
            SPEAKERS["ads"]: "Лид в рекламе стоит 2 USD, это дёшево.",
            SPEAKERS["crm"]: "Квалифицированы 5 из 12.",
            SPEAKERS["assistant"]: "Лиды дешёвые, но квалифицированы меньше половины: 5 из 12.",
        },
        {
            SPEAKERS["ads"]: [[("getCampaigns", '{"period": "all"}')]],
            SPEAKERS["crm"]: [[("getSalesQuality", '{"period": "all"}')]],
        },
    )
    return dialogue.recorder.page()


def test_the_page_shows_what_happens(database: str, tmp_path: Path) -> None:
    with marketer(database, tmp_path) as business:
        prepare(business)
        business.stack.start_orchestrator(**business.settings())
        dialogues = f"{meta_dialogue(business)}\n{classified_dialogue(business)}"
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    recorded, found, after = rest.partition(END)
    assert found, "the page has both marks"
    if os.environ.get("RECORD"):
        PAGE.write_text(f"{before}{BEGIN}{dialogues}{END}{after}")
        recorded = dialogues
    assert recorded == dialogues
