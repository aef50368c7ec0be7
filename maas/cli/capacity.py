"""`maas capacity`: what a number of users takes."""

from __future__ import annotations

from typing import Annotated

import typer

from maas.capacity import Load, capacity_for
from maas.terminal.output import Table, show

UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def capacity(
    users: Annotated[int, typer.Option(min=1, max=10**10, help="number of users")],
    runs_a_day: Annotated[float, typer.Option(min=0.001, max=100_000, help="requests of each user a day")] = 10,
    answer_seconds: Annotated[float, typer.Option(min=0, max=3600, help="how long the models of a request take")] = 8,
    busiest_hour: Annotated[
        float, typer.Option(min=0.01, max=1, help="share of a day's requests in its busiest hour")
    ] = 0.1,
    days: Annotated[
        int, typer.Option(min=1, max=36_500, help="days for which messages and finished runs are kept")
    ] = 365,
    embeddings: Annotated[bool, typer.Option(help="search by meaning with the local embedding model, too")] = True,
) -> None:
    """Print processes, cores, databases and disk for the busiest hour. No database is asked."""
    load = Load(users, runs_a_day, answer_seconds, busiest_hour, days, has_embeddings=embeddings)
    found = capacity_for(load)
    table = Table("", "needed", "because")
    table.add_row(
        "requests a second", f"{load.peak_rate:,.1f}", f"in the busiest hour; {load.mean_rate:,.1f} on average"
    )
    table.add_row("in flight", f"{found.in_flight:,.0f}", f"each for {answer_seconds:g} s")
    table.add_row("databases", f"{found.databases:,}", "one queue each; a user is in one of them")
    table.add_row("cores of Postgres", f"{found.postgres_cores:,}", "of all databases together")
    table.add_row("orchestrators", f"{found.orchestrators:,}", f"a core each, {load.concurrency} places")
    table.add_row("servers", f"{found.servers:,}", "for HTTP")
    table.add_row("connections", f"{found.connections:,}", "a pooler from some hundred on in a database")
    table.add_row("disk", size(found.disk_bytes), f"after {days:,} days, without images and documents")
    table.add_row("write-ahead log", size(found.log_bytes_a_day), "a day, for archives and standbys")
    show(f"{users:,} users, {runs_a_day:,g} requests a day each")
    show(table)


def size(bytes_: float) -> str:
    """A number of bytes for people, in powers of a thousand."""
    place = 0
    while bytes_ >= 1000 and place < len(UNITS) - 1:
        bytes_ /= 1000
        place += 1
    return f"{bytes_:,.3g} {UNITS[place]}"
