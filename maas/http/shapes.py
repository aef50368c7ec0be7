"""What all models of replies and bodies have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """Built when the first one is needed: a process that starts does not wait for what nobody asks for."""

    model_config = ConfigDict(defer_build=True)
