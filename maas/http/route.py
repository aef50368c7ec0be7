"""A route of the HTTP API, as the router and the OpenAPI description read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from maas.http.auth import Scope
from maas.http.authorize import Resource

Handler = Callable[[Request], Awaitable[Response]]
Parameters = dict[str, tuple[dict[str, Any], str]]  # name -> JSON schema, description
RESOURCES: dict[str, Resource] = {
    "runs": "run",
    "conversations": "conversation",
    "actions": "action",
    "attachments": "attachment",
    "memories": "memory",
    "facts": "fact",
    "users": "user",
    "knowledge": "document",
    "responses": "response",
    "webhooks": "webhook",
    "schedules": "schedule",
    "links": "link",
    "apps": "app",
}


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path.

    `scope` is what the principal needs. `body` and `response` are the schemas of JSON bodies; `request_types` and
    `response_types` are the media types of other bodies. `query` are the query parameters, of which `required` must be
    sent. `errors` are the statuses that a client must expect beside those of every route. `error_schema` is the shape
    of errors where it differs from ours. `accepted` is the body of 202 where the route may not wait for the end.
    `headers` are headers of the request, and `event` the JSON schema of one event of a stream. `example` is a body.
    With `names_users` the query parameter `user_id` is a name, which the handler looks up.
    """

    method: str
    path: str
    handler: Handler
    scope: Scope
    body: type[BaseModel] | None = None
    response: type[BaseModel] | None = None
    status: int = 200
    query: Parameters | None = None
    required: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    request_types: tuple[str, ...] = ()
    response_types: tuple[str, ...] = ()
    error_schema: type[BaseModel] | None = None
    accepted: type[BaseModel] | None = None
    headers: tuple[dict[str, Any], ...] = ()
    event: dict[str, Any] | None = None
    example: dict[str, Any] | None = None
    names_users: bool = False

    @property
    def resource(self) -> Resource | None:
        """The kind of resource that the id in the path names; its owner must be a user whom the principal serves."""
        return RESOURCES[self.path.partition("/{id}")[0].rpartition("/")[2]] if "{id}" in self.path else None
