"""docs/schema.md and its pictures show the schema as it is; `RECORD=1 .venv/bin/pytest FILE` writes them anew."""

from __future__ import annotations

import os
import re

from docs.schema import pages
from maas.plugins import sql_folders
from tests.sql.attempts import Connection
from tests.stack import ROOT

FOLDER = ROOT / "docs"
COMMAND = "RECORD=1 .venv/bin/pytest tests/sql/test_schema_page.py"


def test_the_page_shows_the_schema(connection: Connection) -> None:
    made = pages(connection, sql_folders().values())
    committed = {path.name for path in FOLDER.glob("schema*") if path.suffix in (".md", ".svg")}
    if os.environ.get("RECORD"):
        for name in committed - made.keys():
            (FOLDER / name).unlink()
        for name, text in made.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        committed = set(made)
    assert committed == made.keys(), f"{COMMAND} writes the pages of the schema"
    stale = [name for name, text in made.items() if (FOLDER / name).read_text(encoding="utf-8") != text]
    assert stale == [], f"the schema has changed: {COMMAND} writes these pages"


def test_every_table_is_on_the_page(connection: Connection) -> None:
    names = connection.execute("select tablename from pg_tables where schemaname = 'maas'").fetchall()
    headings = re.findall(r"^### (\w+)$", (FOLDER / "schema.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(row["tablename"] for row in names)
