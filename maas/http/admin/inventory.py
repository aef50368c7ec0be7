"""/v1/admin/inventory: which assistants, tools and models there are, and why one does not work."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import admin_of
from maas.http.schemas import Schema, json_response
from maas.http.state import app_state

Effect = Literal["read", "write", "dangerous"]


class AssistantState(Schema):
    name: str
    title: str
    role: str = Field(description="The role whose prompt it has.")
    plugin: str | None
    is_active: bool
    inactive_reason: str | None = Field(description="Why it cannot be used; null if an operator has switched it off.")
    updated_at: datetime


class ToolState(Schema):
    name: str
    domain: str
    effect: Effect
    description: str


class ModelHealth(Schema):
    """The calls of a model of the last day, of the newest 500 runs."""

    stage: str
    role: str
    model: str = Field(description="provider:model")
    calls: int
    failures: int
    timeouts: int = Field(description="The failures that were timeouts.")
    last_error: str | None


class Inventory(Schema):
    assistants: list[AssistantState]
    tools: list[ToolState]
    models: list[ModelHealth] = Field(description="The ones with most failures first.")


async def get_inventory(request: Request) -> Response:
    """Return the assistants, why some cannot be used, the tools, and how the models have answered of late."""
    admin_of(request)
    db = app_state(request).reads
    calls = await db.rows(queries.call_failures)
    return json_response(
        Inventory(
            assistants=[AssistantState(**row) for row in await db.rows(queries.admin_assistants)],
            tools=[
                ToolState(
                    name=row["name"],
                    domain=row["domain"],
                    effect=row["effect"],
                    description=row["description"],
                )
                for row in await db.rows(queries.list_tools, None)
            ],
            models=[
                ModelHealth(
                    stage=row["stage"],
                    role=row["role_name"],
                    model=f"{row['provider']}:{row['model']}",
                    calls=row["calls"],
                    failures=row["failures"],
                    timeouts=row["timeouts"],
                    last_error=row["last_error"],
                )
                for row in calls
            ],
        )
    )
