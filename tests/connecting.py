"""Apps that connect to /mcp by OAuth, request by request, for what the official client would not send."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from tests.mcp_wire import McpWire
from tests.people import Person
from tests.stack import Stack

REDIRECT = "https://app.example/callback"


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def answer_in(address: str) -> dict[str, str]:
    """The parameters of a redirect address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def register(stack: Stack, *redirects: str, **fields: Any) -> httpx2.Response:
    body = {"client_name": "Editor", "redirect_uris": list(redirects or (REDIRECT,)), **fields}
    return stack.client.post("/oauth/register", json=body)


def error_of(reply: httpx2.Response) -> tuple[int, str]:
    """The status and the code of an error, whose shape is that of RFC 6749."""
    error = reply.json()
    assert set(error) == {"error", "error_description"} and error["error_description"], error
    return reply.status_code, error["error"]


@dataclass
class App:
    """A registered client, whose requests are right unless fields say otherwise."""

    stack: Stack
    redirect: str = REDIRECT
    client_id: str = ""
    verifier: str = field(default_factory=lambda: token_urlsafe(48))
    tokens: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.client_id:
            reply = register(self.stack, self.redirect)
            assert reply.status_code == 201, reply.text
            self.client_id = reply.json()["client_id"]

    def parameters(self, **changes: Any) -> dict[str, Any]:
        """What the app sends to the page; None leaves a parameter out."""
        usual = {
            "client_id": self.client_id,
            "redirect_uri": self.redirect,
            "response_type": "code",
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
            "state": "a state",
            "resource": f"http://127.0.0.1:{self.stack.port}/mcp",
        }
        return {name: value for name, value in (usual | changes).items() if value is not None}

    def preview(self, person: Person, **changes: Any) -> httpx2.Response:
        return self.stack.client.post("/v1/apps/preview", json=self.parameters(**changes), headers=person.headers)

    def connect(self, person: Person, **changes: Any) -> httpx2.Response:
        return self.stack.client.post("/v1/apps", json=self.parameters(**changes), headers=person.headers)

    def code(self, person: Person, **changes: Any) -> str:
        """The code that the person's yes gives."""
        reply = self.connect(person, **changes)
        assert reply.status_code == 201, reply.text
        return answer_in(reply.json()["redirect_url"])["code"]

    def token(self, **form: Any) -> httpx2.Response:
        sent = {name: value for name, value in ({"client_id": self.client_id} | form).items() if value is not None}
        reply = self.stack.client.post("/oauth/token", data=sent)
        if reply.status_code == 200:
            self.tokens = reply.json()
        return reply

    def exchange(self, code: str, /, **changes: Any) -> httpx2.Response:
        usual = {"code": code, "code_verifier": self.verifier, "redirect_uri": self.redirect}
        return self.token(grant_type="authorization_code", **usual | changes)

    def renew(self, token: str | None = None, **changes: Any) -> httpx2.Response:
        return self.token(
            grant_type="refresh_token", **{"refresh_token": token or self.tokens["refresh_token"]} | changes
        )

    def connected(self, person: Person, **changes: Any) -> App:
        """Itself, with tokens of the person."""
        reply = self.exchange(self.code(person, **changes))
        assert reply.status_code == 200, reply.text
        return self

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens['access_token']}"}

    @property
    def mcp(self) -> McpWire:
        return McpWire(self.stack.client, {}, self.headers)

    def status(self) -> int:
        """The status of a request to /mcp with the access token."""
        return self.mcp.post("tools/list").status_code
