"""The core without plugins: it migrates, answers and remembers, and nothing of them is there until they are on."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from bench.sandbox import Sandbox
from maas.cli import commands_of_plugins
from maas.http.routes import ROUTES, all_routes
from maas.plugins import sql_folders
from maas.settings.variables import unknown_settings, variables
from shared.migrate import migrate
from shared.postgres import EmbeddedPostgres
from tests.conftest import SQL_FOLDER
from tests.stack import Stack, maas

OFF = {"MAAS_PLUGINS": ""}
RELATIONS = "select relname from pg_class where relnamespace = 'maas'::regnamespace and relkind in ('r', 'v')"
FUNCTIONS = "select proname from pg_proc where pronamespace = 'maas'::regnamespace"
# Names of their tables, views and functions.
OF_PLUGINS = "telegram|interview|(^|_)ads?(_|$)|leads|whatsapp|creative|campaign|crm_|specs"


def test_the_core_alone(postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Sandbox(tmp_path, postgres.dsn, postgres, "template1").empty_database
    with empty() as dsn, Stack(dsn, tmp_path, **OFF) as stack:
        assert maas(stack, "migrate", **OFF).stdout.endswith("14 prompts seeded\n")
        stack.start_server()
        stack.start_orchestrator()
        user = uuid4()
        run = stack.ask(user, "Who are you?")
        assert stack.answer(run)["status"] == "COMPLETED"
        stack.wait_archived(run)
        assert [row["name"] for row in stack.rows("select name from assistants")] == ["mentor"]
        assert stack.rows("select name from tools") == []
        assert stack.rows("select name from schema_files where name like '%:%'") == []
        for catalogue, column in ((RELATIONS, "relname"), (FUNCTIONS, "proname")):
            assert stack.rows(f"select from ({catalogue}) x where {column} ~ '{OF_PLUGINS}' and {column} !~ '^_'") == []
        document = stack.client.get("/openapi.json").json()
        events = document["paths"]["/v1/runs/{id}/events"]
        assert "request_photo" in str(events) and "sticker" not in str(events)
        assert set(document["paths"]) == {route.path for route in ROUTES}
        assert "maas_telegram" not in stack.client.get("/metrics").text
        checked = maas(stack, "doctor", "--all", **OFF).stdout
        assert "plugins: on: none; off: ads, corporate, stickers, telegram" in " ".join(checked.split())
        assert "ok    telegram" not in checked and "TELEGRAM" not in checked
        assert maas(stack, "top", "--once", **OFF).returncode == 0
        absent = maas(stack, "telegram", **OFF)
        assert absent.returncode == 2 and "No such command 'telegram'" in absent.stderr

        before = {row["relname"] for row in stack.rows(RELATIONS)}
        monkeypatch.delenv("MAAS_PLUGINS", raising=False)
        assert "telegram:schema/telegram" in migrate(dsn, SQL_FOLDER, sql_folders())
        assert migrate(dsn, SQL_FOLDER, sql_folders()) == []
        added = {row["relname"] for row in stack.rows(RELATIONS)} - before
        assert {"telegram_bots", "v_telegram", "ads", "leads", "user_specs"} <= added
        assert maas(stack, "erase", str(user), "--yes").returncode == 0


def test_off_there_are_no_settings_routes_and_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    on = (set(variables().values()), {route.path for route in all_routes()}, commands_of_plugins())
    monkeypatch.setenv("MAAS_PLUGINS", "")
    off = (set(variables().values()), {route.path for route in all_routes()}, commands_of_plugins())
    of_plugins = {"TELEGRAM_BOT_TOKEN", "MAAS_TELEGRAM_USERS", "CORPORATE_MODEL", "LIGHTRAG_BASE_URL", "FB_BASE_URL"}
    assert of_plugins <= on[0] - off[0]
    assert {"/api/supervisor", "/api/complex-task", "/api/brain/chat"} <= on[1] - off[1]
    assert off[1] == {route.path for route in ROUTES}
    assert {one.name for one in on[2]} == {"ads", "telegram"} and off[2] == []
    monkeypatch.setenv("MAAS_TELEGRAM_USERS", "1")
    assert [hint for hint in unknown_settings() if hint.startswith("MAAS_TELEGRAM_USERS is not a setting")]
