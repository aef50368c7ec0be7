"""Attempts to read a user's memory through routes drawn at random, as a caller who is or is not the owner."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Protocol

import httpx2

from maas.http.attachments import FORM_TYPE
from maas.http.examples import request_examples
from maas.http.route import Route
from maas.http.routes import all_routes
from tests.fuzz.residents import Resident
from tests.pictures import picture

LINE = b'{"role": "user", "content": "I was here."}\n'
QUESTION = {"query": "Which word opens the safe?"}
ASKING = ("post_search", "post_context")
# What shows the words of the owner: who may read gets them here, and is no control where they are missing.
TELLING = {
    "get_run",
    "get_runs",
    "get_messages",
    "get_actions",
    "get_action",
    "get_memories",
    "get_memory",
    "get_sources",
    "get_facts",
    "get_export",
    "get_trace",
    "get_webhook",
    "get_webhooks",
    *ASKING,
}
PAGED = {"get_runs", "get_memories"}  # a page of the newest, which may be younger than the owner's word


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried, so that it can be repeated, and whether it came through."""

    target: str
    is_read: bool
    request: str


class AttackRoute(Protocol):
    """One kind of attempt; `name` stands in the table of results."""

    name: str

    def attempt(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        """By the owner only what may be repeated for ever."""
        ...


class HttpRoute:
    """Every route of the server that takes the id of somebody's thing, or somebody's own."""

    name = "http"

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self._routes = [route for route in all_routes() if route.resource is not None or _takes_user(route)]
        self._reading = [
            route
            for route in self._routes
            if (route.method == "GET" or route.handler.__name__ in ASKING) and not route.path.startswith("/v1/admin/")
        ]

    def attempt(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        is_own = caller is owner
        route = draw.choice(self._reading if is_own else self._routes)
        claimed = owner if route.resource is None else draw.choice((owner, caller))
        thing = owner.things[route.resource] if route.resource is not None else None
        options = _options(route, claimed)
        path = route.path.replace("{id}", str(thing))
        reply = self._client.request(route.method, path, headers=caller.headers | options.pop("headers", {}), **options)
        is_let_in = reply.status_code < 300
        has_secret = owner.secret in reply.text
        name = route.handler.__name__
        is_shown = has_secret or name not in TELLING or (name in PAGED and 'id":"' in reply.text)
        is_read = is_let_in and is_shown if is_own else is_let_in or has_secret
        command = f"curl -X {route.method} '{reply.url}' -H 'Authorization: ...' # {options} -> {reply.status_code}"
        return Tried(f"{route.method} {route.path}", is_read, command)


class NamingRoute:
    """A stranger's own requests that name things of the owner where a route looks up more than one."""

    name = "http, by reference"

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def attempt(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        whose = {"user_id": str(caller.user_id)}
        run, talk, image = (str(owner.things[kind]) for kind in ("run", "conversation", "attachment"))
        ways: list[tuple[str, str, dict[str, Any]]] = [("GET", "/v1/actions", {"params": whose | {"run_id": run}})]
        if caller is not owner:
            ways += [
                ("POST", "/v1/runs", {"json": whose | QUESTION | {"conversation_id": talk}}),
                ("POST", "/v1/runs", {"json": whose | QUESTION | {"attachment_ids": [image]}}),
                ("GET", "/v1/actions", {"params": whose | {"conversation_id": talk}}),
            ]
        method, path, options = draw.choice(ways)
        reply = self._client.request(method, path, headers=caller.headers, **options)
        is_read = owner.secret in reply.text or (method == "POST" and reply.status_code < 300)
        request = f"{method} {path} {options} -> {reply.status_code}"
        return Tried(f"{method} {path} that names a {'/'.join(options)}", is_read, request)


def _takes_user(route: Route) -> bool:
    fields = route.body.model_fields if route.body is not None else {}
    return "user_id" in fields or "user_id" in (route.query or {})


def _options(route: Route, claimed: Resident) -> dict[str, Any]:
    """A request that is right in everything but whose it is."""
    whose = {"user_id": str(claimed.user_id)}
    if FORM_TYPE in route.request_types:
        return {
            "data": whose | ({"name": "a.txt"} if "knowledge" in route.path else {}),
            "files": {"file": ("a.png", picture(), "image/png")},
        }
    if route.request_types:
        return {"content": LINE, "headers": {"content-type": route.request_types[0]}}
    if route.body is not None:
        body = request_examples([route])[route.body.__name__]
        asked = QUESTION | {"from": None} if route.handler.__name__ == "post_search" else QUESTION
        named = {name: str(claimed.user_id) for name in ("user_id", "userId") if name in body}
        return {"json": body | named | (asked if "query" in body else {})}
    if "conversation" in route.required:
        return {"params": {"conversation": "c"}}
    if route.handler.__name__ == "get_user_events":
        return {"params": {"wait": 0}}
    if "q" in route.required:
        return {"params": whose | {"q": QUESTION["query"]}}
    return {"params": whose} if "user_id" in (route.query or {}) else {}
