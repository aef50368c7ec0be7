"""/v1/schedules: requests of a user that are sent by the clock."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field, StrictBool
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.authorize import principal_of, read_body, read_user
from maas.http.profiles import Timezone
from maas.http.request_input import read_id
from maas.http.schemas import AssistantName, QueryText, RequestBody, Schema, StorableText, json_response
from maas.http.state import app_state
from maas.runs import schedules
from maas.runs.schedules import MAX_CAUGHT_UP, MAX_CRON_CHARS, CatchUp, NewSchedule, ScheduleChange

CronText = Annotated[StorableText, Field(max_length=MAX_CRON_CHARS)]
CRON = "Minute, hour, day of the month, month, day of the week: `30 8 * * 1-5`."
CATCH_UP = (
    "What is sent for times that passed while no orchestrator ran: nothing, the last one, or all, at most "
    f"{MAX_CAUGHT_UP}."
)


class ScheduleRequest(RequestBody):
    user_id: UUID
    query: QueryText = Field(description="What is asked each time.")
    cron: CronText = Field(description=CRON)
    timezone: Timezone | None = Field(None, description="IANA name; null: that of the profile, or MAAS_TIMEZONE.")
    assistant: AssistantName = "mentor"
    conversation_id: UUID | None = Field(None, description="The conversation that the answers join.")
    catch_up: CatchUp = Field("last", description=CATCH_UP)


class ScheduleUpdate(RequestBody):
    """What is null stays as it is."""

    query: QueryText | None = None
    cron: CronText | None = Field(None, description=CRON)
    timezone: Timezone | None = None
    catch_up: CatchUp | None = Field(None, description=CATCH_UP)
    paused: StrictBool | None = Field(None, description="Times that pass during a pause are not caught up.")


class Schedule(Schema):
    id: UUID
    user_id: UUID
    query: str
    cron: str
    timezone: str
    assistant: str
    conversation_id: UUID | None
    catch_up: CatchUp
    next_at: datetime | None = Field(description="When the next request is due.")
    last_at: datetime | None = Field(description="The latest time for which a request was sent.")
    paused_at: datetime | None
    error: str | None = Field(description="Why nothing could be sent for the latest time.")
    created_at: datetime

    @classmethod
    def of(cls, row: queries.ScheduleRow | queries.ListSchedulesRow) -> Schedule:
        """Return the response for a row of v_schedules."""
        return cls(
            id=row["id"],
            user_id=row["user_id"],
            query=row["user_query"],
            cron=row["cron"],
            timezone=row["timezone"],
            assistant=row["assistant"],
            conversation_id=row["conversation_id"],
            catch_up=row["catch_up"],
            next_at=row["next_at"],
            last_at=row["last_at"],
            paused_at=row["paused_at"],
            error=row["error"],
            created_at=row["created_at"],
        )


class ScheduleList(Schema):
    results: list[Schedule]


async def post_schedule(request: Request) -> Response:
    """Have a request sent by the clock. Its runs have the attribute `schedule`, with the id."""
    body = await read_body(request, ScheduleRequest)
    state = app_state(request)
    new = NewSchedule(**body.model_dump())
    row = await schedules.create_schedule(state.db, new, state.settings.engine.timezone, principal_of(request).name)
    return json_response(Schedule.of(row), 201)


async def get_schedules(request: Request) -> Response:
    """List the schedules of a user, the oldest first."""
    rows = await app_state(request).reads.rows(queries.list_schedules, read_user(request))
    return json_response(ScheduleList(results=[Schedule.of(row) for row in rows]))


async def get_schedule(request: Request) -> Response:
    """Read a schedule."""
    return json_response(
        Schedule.of(await schedules.read_schedule(app_state(request).db, read_id(request, "schedule")))
    )


async def patch_schedule(request: Request) -> Response:
    """Change a schedule, pause it, or let it go on."""
    schedule_id = read_id(request, "schedule")
    body = await read_body(request, ScheduleUpdate)
    change = ScheduleChange(**body.model_dump(exclude={"paused"}), is_paused=body.paused)
    row = await schedules.change_schedule(app_state(request).db, schedule_id, change, principal_of(request).name)
    return json_response(Schedule.of(row))


async def delete_schedule(request: Request) -> Response:
    """Delete a schedule; requests that it has sent stay."""
    await schedules.delete_schedule(app_state(request).db, read_id(request, "schedule"), principal_of(request).name)
    return Response(status_code=204)
