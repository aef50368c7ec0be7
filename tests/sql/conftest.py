"""Two users who have all that a user can have, and sessions of those who may want to see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg.rows import dict_row

from shared.postgres import EmbeddedPostgres
from tests.databases import copy_of
from tests.logins import login
from tests.sql.attempts import ROLES, Connection, populate


@pytest.fixture(scope="module")
def known(postgres: EmbeddedPostgres, template: str) -> Iterator[Connection]:
    """A database with two users who have all that a user can have; its tests leave it as it is."""
    with (
        copy_of(template, postgres.dsn) as dsn,
        psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as found,
    ):
        populate(found)
        yield found


@pytest.fixture
def sessions(connection: Connection, database: str) -> Iterator[dict[str, Connection]]:
    """Real sessions of logins that are members of a role each."""
    populate(connection)
    with ExitStack() as stack:
        yield {
            role: stack.enter_context(
                psycopg.connect(stack.enter_context(login(database, role)), autocommit=True, row_factory=dict_row)
            )
            for role in ROLES
        }
