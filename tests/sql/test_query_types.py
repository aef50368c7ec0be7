"""The stubs of named queries say what Postgres says; `RECORD=1 .venv/bin/pytest FILE` writes them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from maas.named_queries import query_named, query_texts
from maas.plugins import installed
from tests.sql.attempts import Connection
from tests.sql.query_types import Catalogue, stub
from tests.stack import ROOT

COMMAND = "RECORD=1 .venv/bin/pytest tests/sql/test_query_types.py"
STUBS = {ROOT / "sql": ROOT / "maas" / "queries.pyi"} | {
    plugin.folder / "sql": plugin.folder / "queries.pyi" for plugin in installed().values()
}
SAID = """\
class JarsRow(TypedDict):
    id: UUID | Any
    final_answer: str | None
    n: int | Any
    event: int | Any
    degraded: list[str] | Any
    limited: Literal["budget", "stopped"] | None
    metadata: Any

jars: Query[JarsRow, pg.uuid, pg.array[pg.uuid]]

class JarViewsRow(TypedDict):
    run_id: UUID | Any
    at: datetime | Any

jar_views: Query[JarViewsRow, pg.text]

empty_jar: Value[datetime, Never]

drop_jar: Value[None, Never, pg.uuid]
"""
NAMED = re.compile(r"\.(?:rows|row|value|shared_rows|grouped_rows|long_value|stream)\(\s*f?\"(\w+)\"")


def test_the_stubs_say_what_postgres_says(connection: Connection) -> None:
    catalogue = Catalogue(connection)
    made = {path: stub(catalogue, sql / "queries") for sql, path in STUBS.items() if (sql / "queries").is_dir()}
    if os.environ.get("RECORD"):
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    assert stale == [], f"queries or the schema have changed: {COMMAND} writes their types, and mypy finds the callers"


def test_what_a_stub_says(connection: Connection, tmp_path: Path) -> None:
    """Keys are not null, other columns may be; of an expression, and behind an outer join, nobody knows.

    A check constraint that lists words makes them a Literal.
    """
    (tmp_path / "jars.sql").write_text("""-- Jars.

-- name: jars  -- $1 user, $2 ids
select r.id, r.final_answer, count(*) as n, e.n as event, r.degraded, r.limited, r.metadata
from maas.pipeline_runs r left join maas.run_events e on e.run_id = r.id
where r.user_id = $1 and r.id = any($2::uuid[]) group by r.id, e.n;

-- name: jar_views  -- $1 name
select v.run_id, v.at from maas.v_run_history v where v.happened = $1::text;

-- name: empty_jar
select maas.maas_now();

-- name: drop_jar
delete from maas.raw_logs where id = $1;
""")
    _, body = stub(Catalogue(connection), tmp_path).split("# jars.sql\n\n")
    assert body == SAID


def test_a_query_is_its_name() -> None:
    from maas import queries

    assert queries.history == query_named("history") == "history" and "history" in query_texts()
    with pytest.raises(AttributeError, match="no query is named no_such_query"):
        query_named("no_such_query")
    with pytest.raises(ImportError):
        from maas.queries import no_such_query  # type: ignore[attr-defined] # noqa: F401


def test_callers_name_queries_by_their_types() -> None:
    """A name in a string would be checked by nobody."""
    files = [path for folder in ("maas", "workers", "bench") for path in (ROOT / folder).rglob("*.py")]
    named = {f"{path}: {name}" for path in files for name in NAMED.findall(path.read_text(encoding="utf-8"))}
    assert {one for one in named if one.rpartition(" ")[2] in query_texts()} == set()
