"""The plugin of examples/plugin: installed as a package of somebody else, then used, switched off and erased from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.contract.dialects import OPENAI
from tests.http_server import HTTPServer
from tests.scripted import ScriptedModel
from tests.stack import ROOT, Stack, maas

EXAMPLE = ROOT / "examples" / "plugin"
MAX_LINES = 100
ORDER = [("order", json.dumps({"item": "rye bread", "pieces": 2}))]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder into which pip has installed the example."""
    folder = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    copy = tmp_path / "plugin"  # pip builds in the folder
    subprocess.run(["cp", "-r", str(EXAMPLE), str(copy)], check=True)
    subprocess.run([*pip, "--target", str(folder), str(copy)], check=True, cwd=tmp_path)
    return folder


def test_it_is_short() -> None:
    files = [path for path in (EXAMPLE / "bakery").rglob("*.*") if path.suffix in (".py", ".sql", ".md")]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= MAX_LINES


def test_the_plugin_works(database: str, tmp_path: Path, site: Path) -> None:
    installed = {"PYTHONPATH": str(site)}
    user = uuid4()
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path) as stack:
        model = ScriptedModel(server, OPENAI)
        model.lines["Two loaves of rye bread, please."] = [("", ORDER), ("Two loaves of rye bread, noted.", [])]
        migrated = maas(stack, "migrate", **installed)
        assert migrated.stdout == "2 files of sql/ applied, 2 prompts seeded\n", migrated
        stack.start_server()
        stack.start_orchestrator(**model.settings(), **installed)
        run = stack.ask(user, "Two loaves of rye bread, please.", assistant="clerk")
        state = stack.answer(run)
        assert (state["status"], state["final_answer"]) == ("COMPLETED", "Two loaves of rye bread, noted.")
        stack.wait_archived(run)
        (used,) = stack.rows("select status, body from tool_executions where run_id = %s", run)
        assert used["body"]["verification"] == {"pieces": 2}
        assert "orders" in maas(stack, "--help", **installed).stdout
        listed = maas(stack, "orders", **installed)
        assert listed.returncode == 0 and listed.stdout.split()[-3:] == ["2", "rye", "bread"], listed

        file = tmp_path / "user.ndjson"
        exported = maas(stack, "export", str(user), "--out", str(file), **installed)
        assert exported.returncode == 0, exported
        rows = [line for line in map(json.loads, file.read_text().splitlines()) if line.get("type") == "plugin"]
        assert [(row["plugin"], row["query"], row["row"]["item"]) for row in rows] == [
            ("bakery", "bakery_export", "rye bread")
        ]
        imported = maas(stack, "import", str(file), "--user", str(uuid4()), **installed)
        assert imported.returncode == 0, imported
        assert maas(stack, "export", str(user), **installed, MAAS_PLUGINS="").stdout.count('"plugin"') == 0

        off = maas(stack, "orders", **installed, MAAS_PLUGINS="stickers")
        assert off.returncode == 2 and "No such command 'orders'" in off.stderr
        assert "orders" not in maas(stack, "--help", **installed, MAAS_PLUGINS="").stdout
        assert maas(stack, "migrate", **installed, MAAS_PLUGINS="").stdout == "up to date\n"
        assert maas(stack, "migrate", **installed).stdout == "up to date\n"
        granted = "select has_table_privilege(%s, 'bakery_orders', 'select') as is_granted"
        assert [stack.rows(granted, role)[0]["is_granted"] for role in ("maas_worker", "authenticated")] == [
            True,
            False,
        ]
        assert len(stack.rows("select from bakery_orders")) == 1
        erased = maas(stack, "erase", str(user), "--yes")
        assert erased.returncode == 0 and stack.rows("select from bakery_orders") == [], erased


def test_a_wrong_choice_is_one_line(database: str, tmp_path: Path) -> None:
    with Stack(database, tmp_path) as stack:
        for words in (["migrate"], ["orders"]):
            refused = maas(stack, *words, MAAS_PLUGINS="bakery")
            assert (refused.returncode, refused.stdout) == (1, "")
            assert refused.stderr.strip() == (
                "maas: MAAS_PLUGINS: 'bakery' is not installed; installed plugins: ads, corporate, stickers, telegram"
            )
        assert "migrate" in maas(stack, "--help", MAAS_PLUGINS="bakery").stdout
