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
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from tests.demo import services
from tests.demo.agency import ACCOUNTS, ADSETS, BUSINESS, DAYS, INSTANCE, OF_CAMPAIGN, QUALIFYING, invent
from tests.programs import ROOT
from tests.standins.running import standin

MAAS = [sys.executable, "-c", "from main import cli; cli()"]
USER = UUID("00000000-0000-4000-8000-00000000ad50")
CALLS = (
    ("How good are the leads?", "getSalesQuality", {"period": "last_30d"}),
    ("What does each creative bring?", "getROIReport", {"period": "last_12m"}),
    ("Which creatives are the best?", "getTopCreatives", {"limit": 3}),
    ("Where do leads stand in the funnel?", "getFunnelStats", {"period": "last_90d"}),
    ("How are the directions doing?", "getDirections", {"period": "last_30d"}),
)
KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY")
MAX_RESULT_CHARS = 1500
RATE, TARGET_CPL, TARGET_QCPL = "0.002", "40", "120"
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

    def run(self, *words: str, **environment: str) -> str:
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


def say(text: str = "") -> None:
    print(text, flush=True)


def main() -> None:
    agency = invent(datetime.now(UTC))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="maas-demo-")))
        folder.chmod(0o755)  # Postgres may run as another user
        say("Starting stand-ins of Facebook, amoCRM and the Evolution API")
        facebook = stack.enter_context(standin("facebook", services.facebook(agency)))
        amocrm = stack.enter_context(standin("amocrm", services.amocrm(agency)))
        evolution = stack.enter_context(standin("evolution", services.evolution(agency)))
        environment = {
            "FB_BASE_URL": facebook.url,
            "FB_API_VERSION": "v24.0",
            "EVOLUTION_BASE_URL": evolution.url,
            "EVOLUTION_API_KEY": services.WHATSAPP_KEY,
        }
        demo = Demo(folder, environment)
        say("Making a database of the demo")
        demo.run("migrate")
        for one in ACCOUNTS:
            add_account(demo, one.id, amocrm.url)
        say(f"\nWhat do the services hold?\n$ maas ads sync --user {USER} --days {DAYS}")
        say(demo.run("ads", "sync", "--user", str(USER), "--days", str(DAYS)))
        set_up(demo)
        show_tools(demo)
        chat(demo)


def add_account(demo: Demo, ad_account: str, crm_url: str) -> None:
    words = ("ads", "connect", "--user", str(USER), "--name", BUSINESS, "--no-sync")
    connections = ("--fb", ad_account, "--token-env", "DEMO_FB", "--crm", crm_url, "--crm-token-env", "DEMO_CRM")
    demo.run(*(*words, *connections, "--whatsapp", INSTANCE), DEMO_FB=services.TOKEN, DEMO_CRM=services.CRM_TOKEN)


def set_up(demo: Demo) -> None:
    """What a person decides once: the directions, the stages and the rate."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in ADSETS:
        if one.direction is not None:
            found.setdefault((OF_CAMPAIGN[one.campaign].account, one.direction), []).append(one.id)
    of = ("--user", str(USER), "--account")
    for (account, name), adsets in found.items():
        added = [word for adset in adsets for word in ("--add", adset)]
        targets = ("--name", name, "--target-cpl", TARGET_CPL, "--target-qcpl", TARGET_QCPL)
        demo.run("ads", "directions", *of, account, *added, *targets)
    demo.run("ads", "stages", "--user", str(USER), "--qualified", str(QUALIFYING))
    say(demo.run("ads", "rate", *of, ACCOUNTS[0].id, RATE))


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
