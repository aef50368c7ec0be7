"""`maas cancel`, `maas retry`, `maas again`, `maas pause` and `maas resume`: what operators do to runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, cast, get_args
from uuid import UUID

import typer

from maas import queries
from maas.engine.states import RunKind, Status
from maas.runs import pauses
from maas.runs.again import same_request
from maas.runs.bulk import BulkResult, Change, change_runs
from maas.runs.lists import RunFilter
from maas.runs.submit import Attribute, Submitter, cancel_run, retry_run
from maas.settings import Settings
from maas.terminal.invocation import ACTOR, DATE_FORMATS, in_zone, note_all, note_user, read_uuid, with_database
from maas.terminal.output import Table, note, show, write
from shared.db import Database
from shared.errors import MaasError

Runs = Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="ids of runs; without them, by options")]
UserOption = Annotated[str | None, typer.Option("--user", "-u", help="only runs of this user, a UUID")]
Kind = Annotated[RunKind | None, typer.Option(help="only runs of this kind")]
Assistant = Annotated[str | None, typer.Option(help="only runs of this assistant")]
Since = Annotated[datetime | None, typer.Option("--from", formats=DATE_FORMATS, help="only runs of this time or later")]
Until = Annotated[datetime | None, typer.Option("--to", formats=DATE_FORMATS, help="only runs before this time")]
Attributes = Annotated[
    list[str] | None,
    typer.Option("--attribute", metavar="NAME=VALUE", help="only runs with this attribute; may be repeated"),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]
DONE: dict[Change, str] = {"cancel": "cancelled", "retry": "tried again"}
Subject = Annotated[str, typer.Argument(help="assistant, key, model or user")]
Name = Annotated[str, typer.Argument(help="its name; the id of a key or a user, provider:name of a model")]


def cancel(
    runs: Runs = None,
    user: UserOption = None,
    status: Annotated[Status | None, typer.Option(help="only runs with this status")] = None,
    kind: Kind = None,
    assistant: Assistant = None,
    since: Since = None,
    until: Until = None,
    attribute: Attributes = None,
    yes: Yes = False,
) -> None:
    """Cancel these runs, or all unfinished ones that match, once they are counted. Raises MaasError."""
    only = _filter(user, kind, assistant, since, until, attribute, status=status)
    _change("cancel", runs or [], only, yes)


def retry(
    runs: Runs = None,
    user: UserOption = None,
    error_code: Annotated[str | None, typer.Option(help="only runs that failed with this code")] = None,
    kind: Kind = None,
    assistant: Assistant = None,
    since: Since = None,
    until: Until = None,
    attribute: Attributes = None,
    yes: Yes = False,
) -> None:
    """Try these runs again, or all failed ones that match, once they are counted. Raises MaasError."""
    only = _filter(user, kind, assistant, since, until, attribute, error_code=error_code)
    _change("retry", runs or [], only, yes)


def again(run: Annotated[str, typer.Argument(help="id of a finished run")]) -> None:
    """Send the request of a run once more, and print the id of the new run. Raises MaasError."""
    run_id = read_uuid(run, "run")

    async def submit(db: Database, _: Settings) -> UUID:
        submission = await same_request(db, run_id, ACTOR, None)
        await note_user(db, "again", submission.user_id)
        return await Submitter(db).submit(replace(submission, source="cli"))

    write(str(with_database(submit)))


def pause(
    subject: Annotated[str | None, typer.Argument(help="assistant, key, model or user; without it: list")] = None,
    name: Annotated[str, typer.Argument(help="its name; the id of a key or a user, provider:name of a model")] = "",
    reason: Annotated[str | None, typer.Option(help="why, for other operators")] = None,
) -> None:
    """Pause it, or list what is paused. Raises MaasError."""
    if subject is None:
        show(pauses_table(with_database(lambda db, _: db.rows(queries.pauses))))
        return
    kind = _read_subject(subject)
    if reason is not None and len(reason) > pauses.MAX_REASON_CHARS:
        raise MaasError("bad_parameter", f"--reason: must have at most {pauses.MAX_REASON_CHARS} characters")
    count = with_database(lambda db, _: pauses.pause(db, kind, name, reason, ACTOR))
    note(f"paused; {count} runs left the queue, what is in flight is finished")


def resume(subject: Subject, name: Name) -> None:
    """End a pause. Raises MaasError."""
    kind = _read_subject(subject)
    note(f"resumed; {with_database(lambda db, _: pauses.resume(db, kind, name, ACTOR))} runs are back in the queue")


def read_attributes(texts: Sequence[str] | None) -> dict[str, Attribute] | None:
    """Attributes as options name them: `batch=7` is a number, `dry=true` a boolean. Raises MaasError."""
    found: dict[str, Attribute] = {}
    for text in texts or ():
        name, separator, value = text.partition("=")
        if not name or not separator:
            raise MaasError("bad_parameter", f"--attribute: {text!r} must look like NAME=VALUE")
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = value
        found[name] = parsed if isinstance(parsed, str | bool | int | float) else value
    return found or None


def pauses_table(rows: Sequence[queries.PausesRow]) -> Table:
    """What is paused."""
    table = Table("paused", "name", "since", "by", "reason")
    for row in rows:
        table.add_row(row["subject"], row["name"], f"{row['since']:%Y-%m-%d %H:%M}", row["actor"], row["reason"] or "")
    return table


def _filter(
    user: str | None,
    kind: RunKind | None,
    assistant: str | None,
    since: datetime | None,
    until: datetime | None,
    attributes: Sequence[str] | None,
    status: Status | None = None,
    error_code: str | None = None,
) -> RunFilter:
    return RunFilter(
        user_id=read_uuid(user, "--user") if user else None,
        status=status,
        kind=kind,
        assistant=assistant,
        since=since,
        until=until,
        error_code=error_code,
        attributes=read_attributes(attributes),
    )


def _change(change: Change, runs: Sequence[str], only: RunFilter, is_sure: bool) -> None:
    ids = [read_uuid(run, "run") for run in runs]
    if bool(ids) == (only != RunFilter()):
        raise MaasError("bad_parameter", "select runs either by their ids or by options, not by both")
    if not ids:
        _change_matching(change, only, is_sure)
        return

    async def each(db: Database, _: Settings) -> None:
        for run_id in ids:
            await (cancel_run if change == "cancel" else retry_run)(db, run_id, ACTOR)

    with_database(each)
    note(f"{len(ids)} {DONE[change]}")


def _change_matching(change: Change, only: RunFilter, is_sure: bool) -> None:
    async def call(db: Database, settings: Settings, expected: int | None) -> BulkResult:
        zone = settings.engine.zone
        within = replace(only, since=in_zone(zone, only.since), until=in_zone(zone, only.until))
        return await change_runs(db, change, within, expected, ACTOR)

    async def count(db: Database, settings: Settings) -> int:
        if only.user_id is None:
            await note_all(db, change, "runs_list")
        return (await call(db, settings, None)).matched

    async def all_of_them(db: Database, settings: Settings) -> int:
        total, left = 0, matched
        while left > 0 and (result := await call(db, settings, left)).changed:
            total, left = total + result.changed, result.matched - result.changed
        return total

    matched = with_database(count, command=change, user_id=only.user_id)
    note(f"{matched} runs match")
    if matched and (is_sure or typer.confirm(f"{change} all of them?", err=True)):
        note(f"{with_database(all_of_them)} {DONE[change]}")


def _read_subject(text: str) -> pauses.Subject:
    if text not in get_args(pauses.Subject):
        raise MaasError("bad_parameter", f"{text!r}: one of {', '.join(get_args(pauses.Subject))}")
    return cast(pauses.Subject, text)
