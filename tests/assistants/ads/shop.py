"""A user who advertises: an account with its rows, its tools called through the executor, and what vendors have."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.rows import DictRow

from maas.agents.approvals import approved_fingerprints
from maas.assistants.ads.toolset import OPENERS, make_tools
from maas.assistants.ads.vendors import Vendors
from maas.engine.stages import Deps
from maas.tools.calls import ToolResult
from maas.tools.executor import Executor
from maas.tools.openers import OpenDomains, bind_openers
from maas.tools.permissions import Permissions
from maas.tools.tool import Mode, ToolContext, Toolset
from shared.models import ToolCall
from tests.standins.running import Running

Connection = psycopg.Connection[DictRow]
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TOKEN, CRM_TOKEN = "EAABfacebooktoken0123456789", "eyJamocrmtoken0123456789"


def day(spend: str, impressions: int, clicks: int, leads: int) -> dict[str, Any]:
    return {"spend": spend, "impressions": impressions, "clicks": clicks, "leads": leads}


FACEBOOK: dict[str, Any] = {
    "tokens": {TOKEN: ["act_1", "act_2", "act_3", "act_9"]},
    "today": "2026-11-20",
    "max_page": 2,
    "accounts": {
        f"act_{number}": {"name": name, "currency": currency, "timezone_name": zone, "account_status": 1}
        for number, name, currency, zone in (
            (1, "Окна", "USD", "Asia/Almaty"),
            (2, "Йены", "JPY", "Asia/Tokyo"),
            (3, "Тенге", "KZT", "Asia/Almaty"),
            (9, "Чужой", "USD", "UTC"),
        )
    },
    "campaigns": {
        "101": {"account_id": "act_1", "name": "Заявки", "status": "ACTIVE", "objective": "OUTCOME_LEADS"},
        "102": {"account_id": "act_1", "name": "Охват", "status": "PAUSED", "daily_budget": 9000},
        "103": {"account_id": "act_1", "name": "Заявки", "status": "ACTIVE"},
        "201": {"account_id": "act_2", "name": "Йены", "status": "ACTIVE"},
        "301": {"account_id": "act_3", "name": "Тенге", "status": "ACTIVE"},
        "901": {"account_id": "act_9", "name": "Чужая", "status": "ACTIVE"},
    },
    "adsets": {
        "111": {"campaign_id": "101", "name": "Алматы", "status": "ACTIVE", "daily_budget": 5000},
        "112": {"campaign_id": "101", "name": "Астана", "status": "ACTIVE", "daily_budget": 3000},
        "113": {"campaign_id": "103", "name": "Шымкент", "status": "ACTIVE", "daily_budget": 2000},
        "211": {"campaign_id": "201", "name": "Токио", "status": "ACTIVE", "daily_budget": 5000},
        "311": {"campaign_id": "301", "name": "Караганда", "status": "ACTIVE", "daily_budget": 500000},
        "911": {"campaign_id": "901", "name": "Чужой", "status": "ACTIVE", "daily_budget": 5000},
    },
    "creatives": {"71": {"account_id": "act_1"}, "72": {"account_id": "act_1"}},
    "ads": {
        "121": {"adset_id": "111", "name": "Видео", "status": "ACTIVE", "creative_id": "71"},
        "122": {"adset_id": "112", "name": "Фото", "status": "ACTIVE", "creative_id": "72"},
        "123": {"adset_id": "113", "name": "Без креатива", "status": "ACTIVE"},
    },
    "days": {
        "121": {"2026-11-18": day("20.00", 4000, 80, 10), "2026-11-20": day("10.00", 1000, 10, 0)},
        "122": {"2026-11-19": day("30.00", 3000, 60, 15), "2026-10-01": day("30.00", 3000, 60, 15)},
        "123": {"2026-11-19": day("5.00", 500, 5, 0)},
    },
}
AMOCRM: dict[str, Any] = {
    "tokens": [CRM_TOKEN],
    "leads": {
        "5001": {"name": "Окно", "price": 0, "status_id": 11, "pipeline_id": 1, "created_at": 1, "updated_at": 1},
    },
    "contacts": {},
    "pipelines": {
        "1": {
            "name": "Продажи",
            "sort": 1,
            "statuses": {
                "11": {"name": "Новый", "sort": 10},
                "12": {"name": "Замер", "sort": 20},
                "142": {"name": "Успех", "sort": 100},
            },
        },
        "2": {
            "name": "Повторные",
            "sort": 2,
            "statuses": {
                "21": {"name": "Новый", "sort": 10},
                "142": {"name": "Успех", "sort": 100},
            },
        },
    },
}


class Shop:
    """A user with an account, its tools, and rows to read."""

    def __init__(self, connection: Connection, deps: Deps, vendors: Vendors, crm: Running) -> None:
        self.user = uuid4()
        self.deps = deps
        self.vendors = vendors
        self._connection = connection
        self._crm_url = crm.url
        self.tools = Toolset(make_tools(deps, vendors))
        self.account = self.add("user_accounts", name="Окна", is_default=True)
        self.ad_account: UUID | None = None

    def add(self, table: str, **values: Any) -> UUID:
        """Insert a row of the user; returns its id, if it has one."""
        row = {"user_id": self.user} | values
        names = sql.SQL(", ").join(map(sql.Identifier, row))
        places = sql.SQL(", ").join(sql.Placeholder() * len(row))
        query = sql.SQL("insert into {} ({}) values ({}) returning *").format(sql.Identifier(table), names, places)
        stored = self._connection.execute(query, list(row.values())).fetchone()
        assert stored is not None
        return UUID(str(stored.get("id") or UUID(int=0))) if isinstance(stored.get("id"), UUID) else UUID(int=0)

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        return list(self._connection.execute(query.encode(), values).fetchall())

    def connect(self, number: int = 1, currency: str = "USD", zone: str = "Asia/Almaty", token: str = TOKEN) -> None:
        """Add an ad account and its token."""
        self.ad_account = self.add(
            "ad_accounts",
            user_account_id=self.account,
            fb_id=f"act_{number}",
            name="Окна",
            currency=currency,
            timezone=zone,
        )
        if token:
            self._set_secret(f"facebook_{number}", token)

    def connect_crm(self) -> None:
        self.add("crm_integration", user_account_id=self.account, base_url=self._crm_url)
        self._set_secret(f"amocrm_{self.account.hex}", CRM_TOKEN)

    def forget_token(self, fb_id: str) -> None:
        name = f"facebook_{fb_id.removeprefix('act_')}"
        self._connection.execute("delete from user_secrets where user_id = %s and name = %s", (self.user, name))

    def set_token(self, fb_id: str, token: str) -> None:
        self._set_secret(f"facebook_{fb_id.removeprefix('act_')}", token)

    def _set_secret(self, name: str, value: str) -> None:
        self._connection.execute("select maas_set_secret(%s, %s, %s, 'test')", (self.user, name, value))

    def direction(self, name: str = "Окна", fb_adset_id: str | None = "111", **more: Any) -> UUID:
        target = {"target_cpl": 4, "target_cpl_currency": "USD"} | more
        return self.add(
            "directions",
            user_account_id=self.account,
            ad_account_id=self.ad_account,
            name=name,
            fb_adset_id=fb_adset_id,
            **target,
        )

    def creative(self, title: str, fb_creative_id: str | None = None, direction: UUID | None = None) -> UUID:
        return self.add(
            "user_creatives",
            user_account_id=self.account,
            ad_account_id=self.ad_account,
            title=title,
            media_type="video",
            fb_creative_id=fb_creative_id,
            direction_id=direction,
        )

    def lead(self, days_ago: float = 1, **values: Any) -> UUID:
        return self.add("leads", user_account_id=self.account, created_at=NOW - timedelta(days=days_ago), **values)

    def message(self, lead: UUID, direction: str = "in", hours_ago: float = 1) -> None:
        self._connection.execute(
            "insert into whatsapp_messages (user_id, user_account_id, id, chat_jid, lead_id, direction, text, sent_at) "
            "values (%s, %s, %s, %s, %s, %s, 'Здравствуйте', %s)",
            (
                self.user,
                self.account,
                str(uuid4()),
                f"{lead.int % 10**11}@s.whatsapp.net",
                lead,
                direction,
                NOW - timedelta(hours=hours_ago),
            ),
        )

    async def call(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        approved: bool = True,
        mode: Mode = "auto",
        account: str | None = None,
        user: UUID | None = None,
    ) -> dict[str, Any]:
        """The body that a model reads."""
        context = ToolContext(user or self.user, uuid4(), account_id=account)
        call = ToolCall("1", name, json.dumps(arguments or {}))
        tool = self.tools.get(name)
        assert tool is not None
        allowed = frozenset(one.name for one in self.tools)
        fingerprints = approved_fingerprints(tool, call) if approved else frozenset[str]()

        async def count() -> int:
            return 1

        async def record(_: ToolResult) -> None:
            pass

        domains = OpenDomains(bind_openers(OPENERS, self.deps), context)
        executor = Executor(
            self.tools, Permissions(allowed, mode, 30, fingerprints), context, count, record, domains=domains
        )
        (result,) = await executor.run([call])
        body: dict[str, Any] = json.loads(result.text())
        return body

    async def data(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        body = await self.call(name, arguments, **options)
        assert body["success"], body
        data: dict[str, Any] = body["data"]
        for entity_id in (body.get("_entityMap") or {}).values():
            assert f'"{entity_id}"' in json.dumps(data), entity_id
        return data
