"""Variants: another form of an assistant for a share of its users, to try a new one or to go back to an old one."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

MAIN = "main"  # the name, in counters, of the form that no variant replaces


class Variant(BaseModel):
    """One voice with `role_prompt` and `toolset`, for `share` percent of the users."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,49}$")]
    share: Annotated[int, Field(ge=0, le=100)]
    role_prompt: Annotated[str, Field(min_length=1, max_length=50)]
    toolset: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = ()


def choose_variant(variants: Sequence[Variant], assistant: str, user_id: UUID) -> Variant | None:
    """Return the variant of a user; None for the main form. A user has the same one until the shares change."""
    if not variants:
        return None
    percentile = int.from_bytes(sha256(f"{assistant} {user_id}".encode()).digest()[:8]) % 100
    for variant in variants:
        if percentile < variant.share:
            return variant
        percentile -= variant.share
    return None
