"""`make demo-ads`: an invented business in a database of its own, and the advertising tools at work on it.

With a model's key (OPENAI_API_KEY, or MAAS_MODEL and its key) it ends in a chat; without one it says what a model adds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid5
from zoneinfo import ZoneInfo

from tests.demo.business import (
    CRM_TOKEN,
    CURRENCY,
    FB_ACCOUNT,
    INSTANCE,
    NAMESPACE,
    TOKEN,
    USER,
    WHATSAPP_KEY,
    ZONE,
    Business,
    invent,
)
from tests.programs import ROOT
from tests.standins.running import standin

MAAS = [sys.executable, "-c", "from main import cli; cli()"]
CALLS = (
    ("How good are the leads?", "getSalesQuality", {"period": "last_30d"}),
    ("What does each creative bring?", "getROIReport", {"period": "all"}),
    ("Which creatives are the best?", "getTopCreatives", {"limit": 3}),
    ("Where do leads stand in the funnel?", "getFunnelStats", {"period": "last_90d"}),
    ("How are the directions doing?", "getDirections", {"period": "last_7d"}),
)
KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY")
MAX_RESULT_CHARS = 1500
NAME = "Мебель Алматы"
NO_MODEL = """
No model is configured, so this is where the demo ends. With a key, such as OPENAI_API_KEY=..., `make demo-ads` goes on
in a chat with the assistant `ads`: it chooses these tools by itself, puts their results into words in Russian, compares
them with the targets, recommends what to do, and asks before anything is changed."""


class Demo:
    """The commands of MaaS on a database of the demo."""

    def __init__(self, folder: Path, services: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = {**os.environ, "MAAS_DATA_DIR": str(folder / "data"), **services}
        self.environment.pop("DATABASE_URL", None)

    def run(self, *words: str, is_quiet: bool = True, **environment: str) -> str:
        """Run a command to its end; its output. Raises SystemExit with what it said."""
        done = subprocess.run(
            [*MAAS, *words],
            cwd=ROOT,
            env=self.environment | environment,
            text=True,
            check=False,
            capture_output=True,
        )
        if done.returncode:
            raise SystemExit(f"maas {' '.join(words)}: {done.stderr or done.stdout}")
        return done.stdout

    def load(self, table: str, rows: list[dict[str, Any]]) -> None:
        file = self.folder / f"{table}.ndjson"
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        self.run("load", str(file), "--table", table, "--user", str(USER))


def say(text: str = "") -> None:
    print(text, flush=True)


def main() -> None:
    today = datetime.now(ZoneInfo(ZONE)).date()
    user_account, ad_account = uuid5(NAMESPACE, "user account"), uuid5(NAMESPACE, "ad account")
    business = invent(today, user_account, ad_account)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="maas-demo-")))
        folder.chmod(0o755)  # Postgres may run as another user
        say("Starting stand-ins of Facebook, amoCRM and the Evolution API")
        facebook = stack.enter_context(standin("facebook", business.facebook))
        amocrm = stack.enter_context(standin("amocrm", business.amocrm))
        evolution = stack.enter_context(standin("evolution", {"api_key": WHATSAPP_KEY, "instances": {INSTANCE: {}}}))
        services = {
            "FB_BASE_URL": facebook.url,
            "FB_API_VERSION": "v24.0",
            "EVOLUTION_BASE_URL": evolution.url,
            "EVOLUTION_API_KEY": WHATSAPP_KEY,
        }
        demo = Demo(folder, services)
        say("Making a database of the demo")
        demo.run("migrate")
        add_account(demo, amocrm.url, str(user_account), str(ad_account))
        load(demo, business)
        sync(demo)
        show_tools(demo)
        chat(demo)


def add_account(demo: Demo, crm_url: str, user_account: str, ad_account: str) -> None:
    demo.load("user_accounts", [{"id": user_account, "name": NAME, "is_default": True}])
    row = {"id": ad_account, "user_account_id": user_account, "fb_id": FB_ACCOUNT, "name": NAME}
    demo.load("ad_accounts", [row | {"currency": CURRENCY, "timezone": ZONE}])
    words = ("ads", "account", "add", "--user", str(USER), "--name", NAME)
    connections = ("--fb", FB_ACCOUNT, "--token-env", "DEMO_FB", "--crm", crm_url, "--crm-token-env", "DEMO_CRM")
    demo.run(*words, *connections, "--whatsapp", INSTANCE, DEMO_FB=TOKEN, DEMO_CRM=CRM_TOKEN)


def load(demo: Demo, business: Business) -> None:
    for table, rows in business.tables.items():
        demo.load(table, rows)
        say(f"  {len(rows):>6,} rows of {table}")


def sync(demo: Demo) -> None:
    say(f"\nWhat do the services hold?\n$ maas ads sync --user {USER}")
    say(demo.run("ads", "sync", "--user", str(USER)))


def show_tools(demo: Demo) -> None:
    for question, name, arguments in CALLS:
        given = json.dumps(arguments)
        say(f"\n{question}\n$ maas tool {name} --user {USER} --args '{given}'")
        result = demo.run("tool", name, "--user", str(USER), "--args", given)
        say(result if len(result) <= MAX_RESULT_CHARS else result[:MAX_RESULT_CHARS] + "\n... (cut)")


def chat(demo: Demo) -> None:
    if not (any(os.environ.get(key) for key in KEYS) or os.environ.get("MAAS_MODEL")):
        say(NO_MODEL)
        return
    say("\nAsk the assistant, for example: Какие креативы стоит отключить?  (Ctrl-D ends the chat)")
    orchestrator = subprocess.Popen([sys.executable, "main.py"], cwd=ROOT, env=demo.environment)
    try:
        words = [*MAAS, "chat", "--assistant", "ads", "--user", str(USER)]
        subprocess.run(words, cwd=ROOT, env=demo.environment, check=False)
    finally:
        orchestrator.terminate()
        orchestrator.wait()


if __name__ == "__main__":
    main()
