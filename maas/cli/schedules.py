"""`maas schedules`: requests of a user that are sent by the clock."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, cast, get_args
from uuid import UUID
from zoneinfo import ZoneInfo

import typer

from maas import queries
from maas.runs import schedules
from maas.runs.schedules import CatchUp, NewSchedule, ScheduleChange
from maas.terminal.invocation import ACTOR, LOCAL_USER, User, note_user, read_uuid, with_database
from maas.terminal.output import Table, show, write
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable
from shared.text import is_blank, one_line

MAX_QUERY_BYTES = 64 * 1024
cli = typer.Typer(no_args_is_help=True, add_completion=False)
ScheduleId = Annotated[str, typer.Argument(metavar="SCHEDULE", help="id of the schedule, see `maas schedules list`")]


@cli.command("add", help="Create a schedule, which sends a request at set times, and print its id.")
def add(
    cron: Annotated[str, typer.Argument(help='minute, hour, day, month, day of the week, such as "30 8 * * 1-5"')],
    query: Annotated[str, typer.Argument(help="what is asked each time")],
    user: User = LOCAL_USER,
    timezone: Annotated[
        str | None, typer.Option(help="IANA name of the zone", show_default="of the user's profile, or MAAS_TIMEZONE")
    ] = None,
    assistant: Annotated[str, typer.Option(help="assistant that answers")] = "mentor",
    conversation: Annotated[str | None, typer.Option(help="conversation that the answers join, a UUID")] = None,
    catch_up: Annotated[
        str, typer.Option(help="what is sent for times that passed while no orchestrator ran: none, last or all")
    ] = "last",
) -> None:
    """Raises MaasError."""
    if is_blank(query) or not is_storable(query) or len(query.encode()) > MAX_QUERY_BYTES:
        raise MaasError("bad_parameter", f"QUERY: must be text of at most {MAX_QUERY_BYTES} bytes that is not blank")
    new = NewSchedule(
        read_uuid(user, "--user"),
        query,
        cron,
        timezone,
        assistant,
        None if conversation is None else read_uuid(conversation, "--conversation"),
        _read_catch_up(catch_up),
    )
    row = with_database(
        lambda db, settings: schedules.create_schedule(db, new, settings.engine.timezone, ACTOR),
        command="schedules add",
        user_id=new.user_id,
    )
    write(str(row["id"]))


@cli.command("list", help="List the schedules of a user, the oldest first.")
def list_schedules(user: User = LOCAL_USER) -> None:
    """Print a table; times are in the zone of each schedule. Raises MaasError."""
    user_id = read_uuid(user, "--user")
    rows = with_database(
        lambda db, _: db.rows(queries.list_schedules, user_id), command="schedules list", user_id=user_id
    )
    table = Table()
    for title in ("id", "cron", "timezone", "query", "assistant", "next", "last", "state"):
        table.add_column(title, overflow="fold", no_wrap=title == "id")
    for row in rows:
        state = "paused" if row["paused_at"] else row["error"] or "active"
        times = (_minute(row[name], row["timezone"]) for name in ("next_at", "last_at"))
        table.add_row(
            str(row["id"]), row["cron"], row["timezone"], one_line(row["user_query"]), row["assistant"], *times, state
        )
    show(table)


@cli.command("pause", help="Pause a schedule: it sends nothing until it is resumed.")
def pause(schedule: ScheduleId) -> None:
    """Raises MaasError for an unknown id."""
    _change(schedule, "pause", ScheduleChange(is_paused=True))
    show("paused")


@cli.command("resume", help="Resume a paused schedule; times that passed meanwhile are not caught up.")
def resume(schedule: ScheduleId) -> None:
    """Raises MaasError for an unknown id."""
    row = _change(schedule, "resume", ScheduleChange(is_paused=False))
    show(f"resumed; next: {_minute(row['next_at'], row['timezone'])}")


@cli.command("delete", help="Delete a schedule; requests that it has sent stay.")
def delete(schedule: ScheduleId) -> None:
    """Raises MaasError for an unknown id."""
    schedule_id = read_uuid(schedule, "SCHEDULE")

    async def work(db: Database) -> None:
        await _note_owner(db, schedule_id, "delete")
        await schedules.delete_schedule(db, schedule_id, ACTOR)

    with_database(lambda db, _: work(db))
    show("deleted")


def _change(schedule: str, command: str, change: ScheduleChange) -> queries.ScheduleRow:
    schedule_id = read_uuid(schedule, "SCHEDULE")

    async def work(db: Database) -> queries.ScheduleRow:
        await _note_owner(db, schedule_id, command)
        return await schedules.change_schedule(db, schedule_id, change, ACTOR)

    return with_database(lambda db, _: work(db))


async def _note_owner(db: Database, schedule_id: UUID, command: str) -> None:
    row = await schedules.read_schedule(db, schedule_id)
    await note_user(db, f"schedules {command}", row["user_id"])


def _read_catch_up(text: str) -> CatchUp:
    if text not in get_args(CatchUp):
        raise MaasError("bad_parameter", "--catch-up: must be none, last or all")
    return cast(CatchUp, text)


def _minute(at: datetime | None, zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}" if at else ""
