"""The whole product, started once a module; every test is another user."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from shared.postgres import EmbeddedPostgres
from tests.stack import Stack


@pytest.fixture(scope="module")
def fresh_database(postgres: EmbeddedPostgres, template: str) -> Iterator[str]:
    """DSN of a database of this module."""
    name = f"flow_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template)))
        yield postgres.dsn.rpartition("/")[0] + f"/{name}"
        admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Server and orchestrator with the built-in model."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack")) as running:
        running.start_server()
        running.start_orchestrator()
        yield running


@pytest.fixture
def user() -> UUID:
    return uuid4()
