"""`maas ask`: one question, one answer."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any
from uuid import UUID

import typer

from maas.commands.output import note, say
from maas.commands.session import LOCAL_USER, User, read_uuid, with_database
from maas.pipeline.states import TERMINAL, Status
from maas.pipeline.submissions import Submission, Submissions, read_run
from shared.db import Database
from shared.errors import MaasError
from shared.settings import Settings
from shared.text import clean, is_blank

LOOK = 0.05


def ask(
    question: Annotated[str, typer.Argument(help="what you want to know")],
    user: User = LOCAL_USER,
    assistant: Annotated[str, typer.Option(help="who answers")] = "mentor",
    wait: Annotated[float, typer.Option(help="seconds to wait for the answer")] = 180.0,
) -> None:
    """Ask, wait for the answer and print it."""
    user_id = read_uuid(user, "--user")
    if is_blank(question):
        raise MaasError("invalid_request", "the question is blank")
    run = with_database(lambda db, settings: _ask(db, settings, user_id, clean(question), assistant, wait))
    if run["status"] != Status.COMPLETED:
        message = f"no answer: {run['error_message']}; see `maas trace {run['id']}`"
        raise MaasError(run["error_code"] or "failed", message)
    say(run["final_answer"])
    note(f"run {run['id']}")


async def _ask(db: Database, _: Settings, user_id: UUID, question: str, assistant: str, wait: float) -> dict[str, Any]:
    if not await db.rows("living_engines"):
        raise MaasError("no_orchestrator", "no orchestrator is running; start one with `make run` in another terminal")
    run_id = await Submissions(db).submit(Submission(user_id, question, assistant, source="cli"))
    end = time.monotonic() + wait
    while time.monotonic() < end:
        run = await read_run(db, run_id)
        if Status(run["status"]) in TERMINAL:
            return run
        await asyncio.sleep(LOOK)
    raise MaasError("timeout", f"no answer within {wait:.0f} s; run {run_id} goes on, see `maas trace {run_id}`")
