"""A marketer with an account, the advertising assistants, stand-ins of their services, and a model that is scripted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack
from tests.standins.running import Running, standin

TOKEN, CRM_TOKEN, WHATSAPP_KEY = "EAABmarketertoken0123456789", "eyJmarketertoken0123456789", "evolutionkey0123456789"
PHONE = "+77011234567"
SPEAKERS = {
    "ads": "аналитик рекламы в Facebook",
    "creative": "аналитик рекламных креативов",
    "crm": "аналитик лидов и воронки",
    "whatsapp": "аналитик переписок",
    "assistant": "собираешь ответ маркетологу",
}
ANALYST = "оцениваешь рекламный креатив"  # stands in what analyses creatives
CHOOSING = "pass questions on"  # stands in what the classifier's model is sent
DAY = {"spend": "20.00", "impressions": 4000, "clicks": 80, "leads": 10}
FACEBOOK: dict[str, Any] = {
    "tokens": {TOKEN: ["act_1"]},
    "today": "2026-11-20",
    "accounts": {
        "act_1": {"name": "Кухни", "currency": "USD", "timezone_name": "Asia/Almaty", "account_status": 1},
        "act_9": {"name": "Чужой", "currency": "USD", "timezone_name": "UTC", "account_status": 1},
    },
    "campaigns": {
        "101": {"account_id": "act_1", "name": "Заявки", "status": "ACTIVE", "objective": "OUTCOME_LEADS"},
        "901": {"account_id": "act_9", "name": "Чужая", "status": "ACTIVE"},
    },
    "adsets": {
        "111": {"campaign_id": "101", "name": "Алматы", "status": "ACTIVE", "daily_budget": 5000},
        "911": {"campaign_id": "901", "name": "Чужой", "status": "ACTIVE", "daily_budget": 5000},
    },
    "creatives": {"71": {"account_id": "act_1"}, "72": {"account_id": "act_1"}},
    "ads": {"121": {"adset_id": "111", "name": "Видео", "status": "ACTIVE", "creative_id": "71"}},
    "days": {"121": {"2026-11-18": DAY}},
}


JID, OTHER_JID = "77011234567@s.whatsapp.net", "77019876543@s.whatsapp.net"
EVOLUTION: dict[str, Any] = {
    "api_key": WHATSAPP_KEY,
    "instances": {"main": {"state": "open", "chats": {}, "messages": {}, "without_whatsapp": ["77010000000"]}},
}


class Marketer:
    """One user with one business. `models.rounds` and `models.replies` go by the names of SPEAKERS, or `responder`."""

    def __init__(self, stack: Stack, models: ModelServer, facebook: Running, whatsapp: Running) -> None:
        self.stack = stack
        self.models = models
        self.facebook = facebook
        self.whatsapp = whatsapp
        self.user = uuid4()
        models.speakers = (CHOOSING, *SPEAKERS.values())
        for speaker in SPEAKERS.values():
            models.replies[speaker] = "Готово."
        self.account = self.add("user_accounts", name="Кухни", is_default=True)
        self.ad_account = self.add(
            "ad_accounts",
            user_account_id=self.account,
            fb_id="act_1",
            name="Кухни",
            currency="USD",
            timezone="Asia/Almaty",
        )
        self.stack.rows("select maas_set_secret(%s, 'facebook_1', %s, 'test')", self.user, TOKEN)

    def settings(self) -> dict[str, str]:
        """Environment of an orchestrator."""
        return self.models.settings() | {
            "META_ORCHESTRATOR_MODEL": "openai:responder",
            "DOMAIN_AGENT_MODEL": "openai:responder",
            "MAAS_ADS_SYNC_INTERVAL": "0",
            "FB_BASE_URL": self.facebook.url,
            "FB_API_VERSION": "v24.0",
            "EVOLUTION_BASE_URL": self.whatsapp.url,
            "EVOLUTION_API_KEY": WHATSAPP_KEY,
        }

    def add(self, table: str, **values: Any) -> UUID:
        """Insert a row of the user; returns its id."""
        row = {"user_id": self.user} | values
        names, places = ", ".join(row), ", ".join(["%s"] * len(row))
        (stored,) = self.stack.rows(f"insert into {table} ({names}) values ({places}) returning *", *row.values())
        return UUID(str(stored.get("id", UUID(int=0))))

    def direction(self, **more: Any) -> UUID:
        values = {"name": "Кухни", "fb_adset_id": "111", "target_cpl": 4, "target_cpl_currency": "USD"} | more
        return self.add("directions", user_account_id=self.account, ad_account_id=self.ad_account, **values)

    def creative(self, title: str = "Лето", fb_creative_id: str = "71", **more: Any) -> UUID:
        return self.add(
            "user_creatives",
            user_account_id=self.account,
            ad_account_id=self.ad_account,
            title=title,
            media_type="video",
            fb_creative_id=fb_creative_id,
            **more,
        )

    def connect_whatsapp(self) -> None:
        self.add("whatsapp_integration", user_account_id=self.account, instance="main")

    def message(self, text: str, jid: str = JID, direction: str = "in", minutes_ago: float = 5) -> UUID:
        """Store a message; returns the id of its dialogue."""
        self.stack.rows(
            "insert into whatsapp_messages (user_id, user_account_id, id, chat_jid, direction, text, sent_at) "
            "values (%s, %s, %s, %s, %s, %s, now() - make_interval(secs => %s))",
            self.user,
            self.account,
            str(uuid4()),
            jid,
            direction,
            text,
            60 * minutes_ago,
        )
        query = "select id from whatsapp_chats where user_account_id = %s and jid = %s"
        return UUID(str(self.stack.rows(query, self.account, jid)[0]["id"]))

    def sent(self) -> list[dict[str, Any]]:
        """The texts that the Evolution API was asked to send."""
        return self.whatsapp.journal("POST", "/message/sendText/")

    def decide(self, decision: str = "approve") -> dict[str, Any]:
        """Decide the one pending action; its state after its run."""
        (action,) = self.pending()
        self.stack.rows("select * from maas_decide_action(%s, %s, %s, 'sql')", action["id"], self.user, decision)
        query = "select * from v_actions where id = %s and status <> 'executing' and status <> 'approved'"
        return dict(poll(lambda: self.stack.rows(query, action["id"]), 40, "the action is over")[0])

    def ask(
        self,
        query: str,
        assistant: str = "ads",
        conversation: UUID | None = None,
        mode: str | None = None,
        user: UUID | None = None,
        **metadata: Any,
    ) -> dict[str, Any]:
        """The finished run of a question."""
        (row,) = self.stack.rows(
            "insert into pipeline_runs (user_id, user_query, assistant, conversation_id, mode, metadata) "
            "values (%s, %s, %s, %s, %s, %s) returning id",
            user or self.user,
            query,
            assistant,
            conversation,
            mode,
            json.dumps(metadata),
        )
        return self.finish(row["id"])

    def finish(self, run_id: UUID) -> dict[str, Any]:
        query = "select * from pipeline_runs where id = %s and queue_state = 2"
        return dict(poll(lambda: self.stack.rows(query, run_id), 40, "the run is over")[0])

    def results(self, run: dict[str, Any]) -> dict[str, str | None]:
        """The error code of each tool call of a run, by tool; None for a success."""
        query = "select payload from run_events where run_id = %s and type = 'tool_result' order by n"
        return {row["payload"]["tool"]: row["payload"]["error_code"] for row in self.stack.rows(query, run["id"])}

    def pending(self) -> list[dict[str, Any]]:
        return self.stack.rows(
            "select id, tool, arguments, status from v_actions where user_id = %s and status = 'pending'", self.user
        )

    def writes(self) -> list[dict[str, Any]]:
        """What Facebook was asked to change."""
        return self.facebook.journal("POST")


def execute(*calls: tuple[str, dict[str, Any]], question: str = "?") -> tuple[str, str]:
    """A call of executeTools."""
    tools = [{"name": name, "args": args} for name, args in calls]
    return "executeTools", json.dumps({"tools": tools, "user_question": question}, ensure_ascii=False)


@contextmanager
def marketer(database: str, folder: Path, fixture: dict[str, Any] | None = None) -> Iterator[Marketer]:
    """A marketer without processes; start an orchestrator with `settings()`."""
    with ExitStack() as opened:
        http = opened.enter_context(HTTPServer(threaded=True))
        models = ModelServer(http)
        opened.callback(models.close)
        facebook = opened.enter_context(standin("facebook", fixture or FACEBOOK))
        whatsapp = opened.enter_context(standin("evolution", EVOLUTION))
        stack = opened.enter_context(Stack(database, folder))
        yield Marketer(stack, models, facebook, whatsapp)
