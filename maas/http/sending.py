"""Sending a pydantic model as JSON."""

from __future__ import annotations

from pydantic import BaseModel
from starlette.responses import Response


def send(model: BaseModel, status: int = 200) -> Response:
    """The model as a JSON response."""
    return Response(model.model_dump_json(by_alias=True), status, media_type="application/json")
