"""The Telegram channel with a server that plays Telegram and that we did not write."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.contract.test_mcp import listening
from tests.polling import poll
from tests.programs import MAAS
from tests.stack import Stack, free_port

FOLDER = Path(__file__).parent
SERVER = FOLDER / "node_modules" / "telegram-test-api"
TOKEN = "4242:AAHsecret-token_0123456789"


@pytest.fixture
def telegram() -> Iterator[str]:
    """The URL of the server."""
    port = free_port()
    process = listening(port, subprocess.Popen(["node", "telegram.mjs", str(port)], cwd=FOLDER))
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.mark.skipif(not SERVER.exists(), reason="needs Node; make test installs the server")
def test_a_message_is_answered_by_one_that_is_edited(telegram: str, database: str, tmp_path: Path) -> None:
    """It polls without waiting, knows no commands and no typing, and answers edits with null."""
    person = {"id": 7, "first_name": "Ann", "is_bot": False}
    chat = {"id": 7, "type": "private", "first_name": "Ann"}

    def history() -> list[dict[str, Any]]:
        reply = httpx2.post(f"{telegram}/getUpdatesHistory", json={"token": TOKEN}).json()
        return [
            one["message"]
            for one in reply["result"]
            if "message_id" not in one["message"] or "chat_id" in one["message"]
        ]

    with Stack(database, tmp_path) as stack:
        stack.start_orchestrator()
        stack.launch(str(MAAS), "telegram", TELEGRAM_BOT_TOKEN=TOKEN, TELEGRAM_BASE_URL=telegram)
        body = {"botToken": TOKEN, "from": person, "chat": chat, "date": 1, "text": "My cat is called Bruno."}
        httpx2.post(f"{telegram}/sendMessage", json=body).raise_for_status()
        poll(lambda: [one for one in history() if "Your message is kept" in one.get("text", "")], 30, "it is answered")
        (run,) = stack.rows("select final_answer from pipeline_runs")
        texts = [one["text"] for one in history()]
        assert texts == ["My cat is called Bruno.", run["final_answer"].strip()]
