"""People who sign in over HTTP with email and password, as clients of GoTrue do."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import httpx2

from tests.stack import Stack

PASSWORD = "the cello of Lisbon"
COOKIE_MODE = {"x-maas-session": "cookie"}


def new_email() -> str:
    return f"{uuid4().hex}@example.org"


class Person:
    """Someone with an account; `session` is what the server answered last."""

    def __init__(self, stack: Stack, email: str | None = None, password: str = PASSWORD) -> None:
        self.stack = stack
        self.email = email or new_email()
        self.password = password
        self.session: dict[str, Any] = {}

    def sign_up(self, **data: str) -> httpx2.Response:
        body = {"email": self.email, "password": self.password, "data": data}
        return self._keep(post(self.stack, "signup", body))

    def sign_in(self, password: str | None = None) -> httpx2.Response:
        body = {"email": self.email, "password": password or self.password}
        return self._keep(post(self.stack, "token?grant_type=password", body))

    def refresh(self, token: str | None = None) -> httpx2.Response:
        return self._keep(refresh(self.stack, token or self.session["refresh_token"]))

    def get(self, path: str = "/auth/v1/user") -> httpx2.Response:
        return self.stack.client.get(path, headers=self.headers)

    def change(self, **fields: Any) -> httpx2.Response:
        return self.stack.client.put("/auth/v1/user", json=fields, headers=self.headers)

    def sign_out(self, scope: str | None = None) -> httpx2.Response:
        params = {"scope": scope} if scope else {}
        return self.stack.client.post("/auth/v1/logout", params=params, headers=self.headers)

    @property
    def id(self) -> str:
        return str(self.session["user"]["id"])

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.session['access_token']}"}

    def _keep(self, reply: httpx2.Response) -> httpx2.Response:
        if reply.status_code == 200:
            self.session = reply.json()
        return reply


def post(stack: Stack, path: str, body: Any, **headers: str) -> httpx2.Response:
    """POST a body as JSON, which may hold what a client library would refuse."""
    headers = {"content-type": "application/json", **headers}
    return stack.client.post(f"/auth/v1/{path}", content=json.dumps(body), headers=headers)


def refresh(stack: Stack, token: str) -> httpx2.Response:
    return post(stack, "token?grant_type=refresh_token", {"refresh_token": token})


def refusal(reply: httpx2.Response) -> tuple[int, str]:
    """The status and the code of an error, whose shape is GoTrue's."""
    error = reply.json()
    assert error["code"] == reply.status_code and error["msg"] and "error" not in error, error
    return reply.status_code, error["error_code"]


def signed_up(stack: Stack, **data: str) -> Person:
    """Somebody who has just made an account."""
    person = Person(stack)
    assert person.sign_up(**data).status_code == 200
    return person
