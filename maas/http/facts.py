"""/v1/users/{id}/facts and /v1/facts: what is true of a user, and what a person decides about it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.http.authorize import principal_of, read_body
from maas.http.request_input import (
    in_zone,
    read_cursor,
    read_id,
    read_limit,
    read_parameter,
    to_search_text,
    write_cursor,
)
from maas.http.schemas import MemoryOrigin, QueryText, RequestBody, RunAccepted, Schema, json_response
from maas.http.state import app_state
from maas.memory import facts
from maas.memory.dates import to_time
from maas.memory.facts import MAX_FACT_CHARS, MAX_NAME_CHARS, Kind, State, Verdict

FactText = Annotated[QueryText, Field(max_length=MAX_FACT_CHARS)]
FactName = Annotated[QueryText, Field(max_length=MAX_NAME_CHARS)]


class Fact(Schema):
    id: UUID
    fact: str = Field(description="A statement that stands by itself, in the words of the one who said it.")
    about: str = Field(description="The person or thing that it is about: user, or a name.")
    kind: Kind
    state: State = Field(
        description="uncertain: what it rests on has changed; unused: memory shows it to no model; wrong, unused and "
        "ended are what a person decided."
    )
    since: date | None = Field(description="Since when it is no longer true, or uncertain.")
    said_by: str
    said_at: datetime = Field(description="When it was said first.")
    last_said_at: datetime
    true_from: date | None = Field(description="Since when it is true; null: since it was said.")
    true_until: date | None
    is_pinned: bool
    origin: str = Field(description="Who found it: rule, model, person, or asked: an assistant asked for it.")
    origins: list[MemoryOrigin] = Field(description="What it was made from, if not from what the user said.")
    replaces: UUID | None = Field(description="The fact that it took the place of.")
    replaced_by: UUID | None
    raw_log_ids: list[UUID] = Field(description="The messages that say it; none if it was entered in the profile.")
    created_at: datetime

    @classmethod
    def of(cls, one: facts.Fact) -> Fact:
        """Return the response for a fact."""
        fields = {name: getattr(one, name) for name in cls.model_fields if hasattr(one, name)}
        origins = [MemoryOrigin.model_validate(origin.to_json()) for origin in one.origins]
        return cls(**fields | {"fact": one.statement, "about": one.subject, "origins": origins})


class FactPage(Schema):
    results: list[Fact]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class FactDecision(RequestBody):
    user_id: UUID
    verdict: Verdict = Field(
        description="wrong: it was never true; ended: it no longer is; unused: memory shows neither it nor its message "
        "to a model; pinned: every model sees it; free: none of these. It counts for the statement, whoever says it "
        "again."
    )


class FactCorrection(RequestBody):
    user_id: UUID
    fact: FactText = Field(description="What is right instead, as a statement of the user.")


class FactCorrected(RunAccepted):
    """The statement is a message and a fact of its own; the run summarizes the message."""

    id: UUID = Field(description="The id of the new fact; the same text again is the same fact.")


class NameMerge(RequestBody):
    name: FactName = Field(description="A name that facts are about, such as sister.")
    same_as: FactName = Field(description="The name of the same person or thing, such as Anna.")


class NameMerged(Schema):
    facts: int = Field(description="How many facts are about the name.")


async def get_facts(request: Request) -> Response:
    """List what is known of a user, newest first: what is true now, or was at a time, or all."""
    user_id, limit = read_id(request, "user"), read_limit(request)
    state = app_state(request)
    as_of: datetime | None = read_parameter(request, "as_of", to_time)
    states: tuple[State, ...] | None = read_parameter(request, "state", facts.to_states, facts.HELD)
    about: str | None = read_parameter(request, "about", to_search_text)
    at = in_zone(state.settings.engine.zone, as_of)
    async with state.shares.reads.hold(user_id):
        found = await facts.list_facts(
            state.reads, user_id, limit, as_of=at, states=states, subject=about, before=read_cursor(request)
        )
    cursor = write_cursor([{"created_at": one.created_at, "id": one.id} for one in found], limit)
    return json_response(FactPage(results=[Fact.of(one) for one in found], next=cursor))


async def post_decide(request: Request) -> Response:
    """Say that a fact is wrong, has ended, is not to be used, or is always to be shown."""
    fact_id = read_id(request, "fact")
    body = await read_body(request, FactDecision)
    actor = principal_of(request).name
    await facts.decide_fact(app_state(request).db, body.user_id, fact_id, body.verdict, actor)
    return json_response(body)


async def post_correct_fact(request: Request) -> Response:
    """Correct a fact; the messages that it came from stay readable."""
    fact_id = read_id(request, "fact")
    body = await read_body(request, FactCorrection)
    actor = principal_of(request).name
    run_id, new_id = await facts.correct_fact(app_state(request).db, body.user_id, fact_id, body.fact, "api", actor)
    return json_response(FactCorrected(request_id=run_id, poll_url=f"/v1/runs/{run_id}", id=new_id), 202)


async def post_merge_names(request: Request) -> Response:
    """Merge two names of one person or thing: facts about either are about both."""
    user_id = read_id(request, "user")
    body = await read_body(request, NameMerge)
    merged = await facts.merge_names(app_state(request).db, user_id, body.name, body.same_as)
    return json_response(NameMerged(facts=merged))
