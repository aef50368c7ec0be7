"""Where MaaS is: a url and a key, given or from the environment, or a database."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import httpx2

from maas.clients.calls import Call
from maas.clients.errors import InvalidRequest

URL = "http://127.0.0.1:8000"
TIMEOUT = 30.0
RETRIES = 4
JSON = {"content-type": "application/json"}


def find_url(url: str | None) -> str:
    """The url that is meant. Raises InvalidRequest."""
    found = url or os.environ.get("MAAS_URL") or URL
    if not found.startswith(("http://", "https://")):
        raise InvalidRequest("invalid_request", f"url: {found!r} must begin with http:// or https://")
    return found.rstrip("/")


def check_dsn(dsn: str, url: str | None) -> str:
    """The database that is meant. Raises InvalidRequest."""
    if url is not None:
        raise InvalidRequest("invalid_request", "give url or dsn, not both")
    return dsn


def headers(api_key: str | None) -> Mapping[str, str]:
    """What goes with each request."""
    key = api_key or os.environ.get("MAAS_API_KEY")
    return {"authorization": f"Bearer {key}"} if key else {}


def request_of(call: Call, timeout: float) -> dict[str, Any]:
    """Arguments for `request` of httpx2."""
    return {
        "method": call.method, "url": call.path, "params": dict(call.params) or None,
        "content": call.content if call.body is None else _written(call.body),
        "headers": ({} if call.body is None else JSON) | dict(call.headers),
        "timeout": httpx2.Timeout(timeout, read=timeout + call.waits),
    }  # fmt: skip


def _written(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, default=str).encode()
    except ValueError as error:
        raise InvalidRequest("invalid_request", f"this cannot be sent as JSON: {error}") from error
