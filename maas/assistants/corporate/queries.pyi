"""The queries of sql/queries: their rows and arguments. Written by tests/sql/test_query_types.py with RECORD=1."""

from typing import Any, Never, TypedDict

from shared import query as pg
from shared.query import Query, Value

# interview.sql

class WhoIsUserRow(TypedDict):
    name: str | Any
    position: str | Any
    department: str | Any
    is_interviewed: bool | Any
    preferences: Any

who_is_user: Query[WhoIsUserRow, pg.uuid]

begin_interview: Value[str, Never, pg.uuid, pg.text]

keep_interview: Value[bool, Never, pg.uuid, pg.jsonb]
