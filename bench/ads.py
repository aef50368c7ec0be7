"""What the advertising tools cost over a business with many leads, and how fast a sync brings them.

`python -m bench.ads [--quick] --out FILE.json` fills a database with one large account among small ones, calls each
tool that reads leads or dialogues, and syncs leads from a stand-in of amoCRM.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer
import uvloop

from bench.command import prepare_output, run_command
from bench.report import Figure, hold_gates, machine, percentiles, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from maas.assistants.ads.toolset import OPENERS, make_tools
from maas.builtin_model import BuiltinModel
from maas.engine.stages import Deps, RoleModels
from maas.settings import Settings, load_settings
from maas.tools.calls import ToolResult
from maas.tools.executor import Executor
from maas.tools.openers import OpenDomains, bind_openers
from maas.tools.permissions import Permissions
from maas.tools.tool import ToolContext, Toolset
from shared.db import Database, connect, open_database
from shared.errors import MaasError
from shared.models import ToolCall
from tests.standins.running import standin

LEADS, QUICK_LEADS = 100_000, 5_000
MESSAGES_A_LEAD = 10
CALLS, QUICK_CALLS = 60, 10
LIMIT_MS = 300.0
SYNCED, QUICK_SYNCED = 10_000, 1_000
SYNC_LIMIT_S = 60.0
TOKEN = "eyJbenchtoken0123456789"
USER, ACCOUNT, AD_ACCOUNT = (UUID(int=number + 1) for number in range(3))
FILL: Sequence[str] = (
    "set session_replication_role = replica",  # the triggers of messages are measured by the sync
    """insert into user_accounts (id, user_id, name, is_default) values ($ACCOUNT, $USER, 'Shop', true)""",
    """insert into ad_accounts (id, user_id, user_account_id, fb_id, name, currency, timezone)
    values ($AD_ACCOUNT, $USER, $ACCOUNT, 'act_1', 'Shop', 'USD', 'Asia/Almaty')""",
    """insert into user_creatives (id, user_id, user_account_id, ad_account_id, title, media_type)
    select ('00000000-0000-0000-0001-' || lpad(n::text, 12, '0'))::uuid, $USER, $ACCOUNT, $AD_ACCOUNT,
      'Video ' || n, 'video' from generate_series(1, 50) n""",
    """insert into creative_metrics_history (user_id, creative_id, day, spend, impressions, clicks, leads)
    select user_id, id, current_date - n, 20, 4000, 80, 10 from user_creatives cross join generate_series(0, 364) n""",
    """insert into leads (user_id, user_account_id, source_creative_id, phone, name, crm_lead_id, stage_id, pipeline_id,
      created_at, is_qualified, messages_in, revenue, last_message_at)
    select $USER, $ACCOUNT, ('00000000-0000-0000-0001-' || lpad((1 + n % 50)::text, 12, '0'))::uuid,
      '7701' || (1000000 + n), 'Lead ' || n, n::text, (10 + n % 5)::text, '1', now() - n * interval '5 min',
      n % 13 = 0, n % 7, case when n % 29 = 0 then 400 else 0 end, now() - n * interval '4 min'
    from generate_series(1, $LEADS) n""",
    """insert into whatsapp_messages (user_id, user_account_id, id, chat_jid, lead_id, direction, text, sent_at)
    select l.user_id, l.user_account_id, l.crm_lead_id || '-' || n, l.phone || '@s.whatsapp.net', null,
      case when n % 2 = 0 then 'in' else 'out' end, 'How much is it, and when can you come?',
      l.created_at + n * interval '1 min'
    from leads l cross join generate_series(1, $MESSAGES) n""",
    """insert into whatsapp_chats (
      user_id, user_account_id, jid, number, lead_id, messages_in, messages_out, last_message_at)
    select user_id, user_account_id, phone || '@s.whatsapp.net', phone_digits, id, 5, 5, created_at + interval '10 min'
    from leads""",
    """insert into dialog_summaries (user_id, user_account_id, chat_jid, summary, temperature)
    select user_id, user_account_id, jid, 'Asked for the price of a kitchen ' || right(jid, 20), 'warm'
    from whatsapp_chats where messages_in > 0 and random() < 0.2""",
    """insert into crm_stages (user_id, user_account_id, pipeline_id, stage_id, pipeline_name, name, place)
    select $USER, $ACCOUNT, '1', (10 + n)::text, 'Sales', 'Stage ' || n, n from generate_series(0, 4) n""",
    "analyze",
)
QUESTIONS: dict[str, dict[str, Any]] = {
    "getSalesQuality": {"period": "last_30d"},
    "getFunnelStats": {"period": "all"},
    "getLeads": {"period": "last_90d", "temperature": "hot"},
    "getLeadDetails": {"lead_id": "5"},
    "getROIReport": {"period": "all"},
    "getCreatives": {"period": "last_90d"},
    "getTopCreatives": {"limit": 5},
    "getDialogs": {"period": "last_30d", "temperature": "warm"},
    "getDialogMessages": {"dialog_id": "77011000005"},
    "searchDialogSummaries": {"query": "price of a kitchen 1000123"},
}


def ads(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="a small business, within a minute")] = False,
) -> None:
    """Measure the advertising tools."""
    settings = load_settings()
    prepare_output(out)
    leads, calls, synced = (QUICK_LEADS, QUICK_CALLS, QUICK_SYNCED) if quick else (LEADS, CALLS, SYNCED)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn:
        about = machine(server_version(sandbox.server_dsn))
        figures = uvloop.run(measure_tools(dsn, settings, leads, calls))
        figures["sync"] = measure_sync(dsn, synced)
    title = f"{leads:,} leads, {leads * MESSAGES_A_LEAD:,} messages, on {{cores}} cores, Postgres {{postgres}}"
    print_figures(title.format(**about), figures, quick=quick)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "figures": cases})
    hold_gates(figures, quick=quick)


async def measure_tools(dsn: str, settings: Settings, leads: int, calls: int) -> dict[str, list[Figure]]:
    """Milliseconds of a call of each tool, from its arguments to its result."""
    connection = await connect(dsn)
    for statement in FILL:
        for name, value in (
            ("$ACCOUNT", f"'{ACCOUNT}'"),
            ("$AD_ACCOUNT", f"'{AD_ACCOUNT}'"),
            ("$USER", f"'{USER}'"),
            ("$LEADS", str(leads)),
            ("$MESSAGES", str(MESSAGES_A_LEAD)),
        ):
            statement = statement.replace(name, value)
        await connection.execute(statement)
    await connection.close()
    figures: dict[str, list[Figure]] = {}
    async with open_database(dsn, 4, "bench") as db:
        deps = Deps(db, settings, RoleModels({}, BuiltinModel()))
        tools = Toolset(make_tools(deps))
        for name, arguments in QUESTIONS.items():
            took = [await call(db, deps, tools, name, arguments) for _ in range(calls + 6)][6:]
            figures[name] = percentiles("a call", took, (50, 95), LIMIT_MS)
    return figures


async def call(db: Database, deps: Deps, tools: Toolset, name: str, arguments: dict[str, Any]) -> float:
    """Milliseconds of one call as a run makes it. Raises MaasError if it fails."""

    async def count() -> int:
        return 1

    async def record(_: ToolResult) -> None:
        pass

    context = ToolContext(USER, uuid4())
    allowed = Permissions(frozenset({name}), "auto", 30, frozenset())
    domains = OpenDomains(bind_openers(OPENERS, deps), context)
    began = time.perf_counter()
    executor = Executor(tools, allowed, context, count, record, domains=domains)
    (result,) = await executor.run([ToolCall("1", name, json.dumps(arguments))])
    took = 1000 * (time.perf_counter() - began)
    if not result.is_success:
        raise MaasError("bench_failed", f"{name}: {result.text()[:500]}")
    return took


def measure_sync(dsn: str, count: int) -> list[Figure]:
    """Seconds of `maas ads sync` for an account whose CRM has `count` leads, and of one more that finds nothing new."""
    leads = {
        str(number): {
            "name": f"Lead {number}",
            "price": 0,
            "status_id": 11,
            "pipeline_id": 1,
            "contact_id": number,
            "created_at": number,
            "updated_at": number,
        }
        for number in range(1, count + 1)
    }
    contacts = {str(number): {"name": "Client", "phone": f"+7702{number:07}"} for number in range(1, count + 1)}
    statuses = {"11": {"name": "New", "sort": 1}}
    pipelines = {"1": {"name": "Sales", "sort": 1, "statuses": statuses}}
    user = str(uuid4())
    state = {"tokens": [TOKEN], "pipelines": pipelines, "leads": leads, "contacts": contacts}
    with standin("amocrm", state) as crm:
        maas(
            dsn, "ads", "account", "add", "--user", user, "--name", "Synced", "--crm", crm.url, "--crm-token-env", "CRM"
        )
        first, second = (maas(dsn, "ads", "sync", "--user", user) for _ in range(2))
    return [
        Figure(f"{count:,} leads", "s", first, limit=SYNC_LIMIT_S),
        Figure("leads a second", "1/s", count / first),
        Figure("nothing new", "s", second),
    ]


def maas(dsn: str, *words: str) -> float:
    """Seconds that a command takes. Raises MaasError if it fails."""
    variables = os.environ | {"DATABASE_URL": dsn, "CRM": TOKEN}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", "from main import cli; cli()", *words],
        env=variables,
        text=True,
        check=False,
        capture_output=True,
        cwd=Path(__file__).parents[1],
    )
    if done.returncode:
        raise MaasError("bench_failed", done.stderr[-500:])
    return time.perf_counter() - began


if __name__ == "__main__":
    run_command(ads)
