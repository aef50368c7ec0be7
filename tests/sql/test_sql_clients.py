"""Libraries that applications use, on run_requests: each as a login of its own, as both roles that may ask."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from tests.logins import login
from tests.sql.attempts import MEMORY, Connection, values
from tests.stack import ROOT

USER = UUID("00000000-0000-4000-8000-000000000001")  # of the programs that the page shows
CLAIMS = json.dumps({"sub": str(USER)}, separators=(",", ":"))
SHOWN = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "docs" / "sql.md").read_text(), re.DOTALL)
DECLARED = """
import os
from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import create_engine, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Request(Base):
    __tablename__ = "run_requests"
    __table_args__ = {"schema": "maas"}

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID | None]
    user_name: Mapped[str | None]
    user_query: Mapped[str]
    assistant: Mapped[str | None]
    conversation_id: Mapped[UUID | None]
    is_remembered: Mapped[bool | None]
    detail: Mapped[dict | None] = mapped_column("metadata", JSONB)
    idempotency_key: Mapped[str | None]
    status: Mapped[str | None]
    final_answer: Mapped[str | None]
    created_at: Mapped[datetime | None]


USER = UUID("00000000-0000-4000-8000-000000000001")
with Session(create_engine(os.environ["SHOP_DATABASE"])) as session:
    session.add_all([Request(user_id=USER, user_query=f"q{n}", detail=None, idempotency_key=f"k{n}") for n in range(3)])
    session.commit()
    found = session.scalars(select(Request).where(Request.user_id == USER).order_by(Request.idempotency_key)).all()
    print([(one.user_query, one.assistant, one.is_remembered, one.detail, one.status) for one in found])
"""
DJANGO = """
import os
import sys
import uuid
from io import StringIO
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command

database = dict(ENGINE="django.db.backends.postgresql", OPTIONS={"options": os.environ["PGOPTIONS"]})
for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT"):
    database[name] = os.environ[f"SHOP_{name}"]
settings.configure(DATABASES={"default": database}, INSTALLED_APPS=["shop"], USE_TZ=True)
Path("shop").mkdir()
Path("shop/__init__.py").touch()
Path("shop/models.py").touch()
sys.path.insert(0, ".")
django.setup()
written = StringIO()
call_command("inspectdb", *sys.argv[1:], stdout=written)
print(written.getvalue(), file=sys.stderr)
model = written.getvalue().partition("class RawLogs")[0]
key = "primary_key=True, default=uuid.uuid4"
edited = model.replace("id = models.UUIDField(blank=True, null=True", f"id = models.UUIDField({key}", 1)
exec(compile("import uuid\\n" + edited, "shop/models.py", "exec"), sys.modules["shop.models"].__dict__)
from shop.models import RunRequests
"""


@pytest.fixture(params=["maas_app", "authenticated"])
def shop(database: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an application's login; the claims of USER in all of its sessions, as a gateway sets them."""
    monkeypatch.setenv("PGOPTIONS", f"-c search_path=public,maas -c request.jwt.claims={CLAIMS}")
    with login(database, request.param) as url:
        yield url


def run(program: str, folder: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of an application; a warning of a library is an error."""
    parts = conninfo_to_dict(url)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    environment = {f"SHOP_{name}": str(parts[key]) for name, key in names.items()}
    environment["SHOP_DATABASE"] = url.replace("postgresql:", "postgresql+psycopg:")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", program, *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def asked(connection: Connection) -> list[object]:
    return values(connection, "select user_query from pipeline_runs where user_id = %s order by seq", USER)


def test_sqlalchemy_automap(shop: str, tmp_path: Path, connection: Connection) -> None:
    """As the page shows it."""
    program, shown = SHOWN[0]
    assert run(program, tmp_path, shop).stdout == shown
    assert asked(connection) == ["What is my boat called?"]


def test_sqlalchemy_orm(shop: str, tmp_path: Path, connection: Connection) -> None:
    """What a mapped class was not given is sent as null, into JSON in two ways."""
    printed = run(DECLARED, tmp_path, shop).stdout
    assert printed == f"{[(f'q{n}', 'mentor', True, None, 'NEW') for n in range(3)]}\n"
    assert values(connection, "select count(*) from pipeline_runs where metadata is not null") == [0]


def test_django(shop: str, tmp_path: Path, connection: Connection) -> None:
    """Its inspectdb writes a model of every table that the role may read as a whole, and that of requests is used."""
    program, shown = SHOWN[1]
    done = run(DJANGO + program, tmp_path, shop, "run_requests", *MEMORY)
    assert done.stdout == shown
    assert done.stderr.count("class ") == 2 * (1 + len(MEMORY))  # each with its Meta
    assert "Unable to inspect" not in done.stderr and "guess" not in done.stderr.partition("class RawLogs")[0]
    assert asked(connection) == ["What is my boat called?"]


@pytest.mark.parametrize("is_prepared", [False, True])
def test_psycopg(shop: str, connection: Connection, is_prepared: bool) -> None:
    insert = "insert into run_requests (user_id, user_query, metadata) values (%s, %s, %s) returning *"
    with psycopg.connect(shop, autocommit=True, row_factory=dict_row) as session:
        rows = [session.execute(insert, (USER, f"q{n}", None), prepare=is_prepared).fetchone() for n in range(10)]
        seen = session.execute("select * from run_requests order by created_at", prepare=is_prepared).fetchall()
    assert seen == rows and asked(connection) == [f"q{n}" for n in range(10)]


async def test_asyncpg(shop: str, connection: Connection) -> None:
    settings = {"request.jwt.claims": CLAIMS, "search_path": "public,maas"}
    session = await asyncpg.connect(shop, server_settings=settings)
    try:
        statement = await session.prepare(
            "insert into run_requests (id, user_id, user_query, metadata) values ($1, $2, $3, $4) returning *"
        )
        rows = [await statement.fetchrow(uuid4(), USER, f"q{n}", '{"a": 1}') for n in range(10)]
        assert [dict(row) for row in await session.fetch("select * from run_requests order by created_at")] == [
            dict(row) for row in rows
        ]
        await session.executemany("insert into run_requests (user_query) values ($1)", [("more",)] * 2)
    finally:
        await session.close()
    assert asked(connection) == [*(f"q{n}" for n in range(10)), "more", "more"]


@pytest.mark.parametrize("body", [{"user_query": "one"}, [{"user_query": "one"}, {"user_query": "two"}]])
def test_postgrest(shop: str, connection: Connection, body: object) -> None:
    """The statement that it makes of a POST with `Prefer: return=representation`."""
    with psycopg.connect(shop) as session:
        found = session.execute(
            """with pgrst_source as (
                 insert into "maas"."run_requests" ("user_query")
                 select pgrst_body."user_query" from (select %s::json as json_data) pgrst_payload,
                   lateral (select case when json_typeof(pgrst_payload.json_data) = 'array' then pgrst_payload.json_data
                     else json_build_array(pgrst_payload.json_data) end as val) pgrst_uniform_json,
                   lateral (select * from json_to_recordset(pgrst_uniform_json.val) as _("user_query" text)) pgrst_body
                 returning "maas"."run_requests".*)
               select pg_catalog.count(_postgrest_t), coalesce(json_agg(_postgrest_t), '[]')
               from (select "run_requests".* from pgrst_source as "run_requests") _postgrest_t""",
            (json.dumps(body),),
        ).fetchone()
    assert found is not None
    count, rows = found
    assert count == len(rows) == len(body if isinstance(body, list) else [body])
    assert {(row["user_id"], row["status"], row["assistant"]) for row in rows} == {(str(USER), "NEW", "mentor")}
    assert asked(connection) == [row["user_query"] for row in rows]


def test_these_programs_fail_on_the_table(shop: str, tmp_path: Path) -> None:
    """What the view is for: columns that an application may not read close the whole table to such programs."""
    with psycopg.connect(shop, autocommit=True) as session:
        for statement in (
            "select * from pipeline_runs",
            "insert into pipeline_runs (user_query) values ('x') returning *",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(statement.encode())
    inspected = DJANGO.partition("print(")[0] + "print(written.getvalue())"
    assert "Unable to inspect table 'pipeline_runs'" in run(inspected, tmp_path, shop, "pipeline_runs").stdout
