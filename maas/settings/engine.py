"""Settings of orchestrators: what they run, how much at once, and how they keep their claims."""

from __future__ import annotations

import math
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES, Names


class EngineSettings(BaseSettings):
    """The stages, limits and intervals of an orchestrator."""

    model_config = SOURCES

    timezone: str = Field(
        "UTC", description="IANA time zone in which days begin and dates are read; the same for all processes"
    )
    blocking_scope: Literal["user", "global"] = Field(
        "user", description="whose next run waits until an answer is archived: that of the same user, or everybody's"
    )
    retention_days: int | None = Field(
        None,
        ge=1,
        le=36_500,
        description="data retention: days after which messages and finished runs are deleted; unset: never",
    )
    concurrency: int = Field(96, ge=1, le=10_000, description="limit of runs in flight in one orchestrator")
    assistant_concurrency: int | None = Field(
        None, ge=1, description="limit of runs of one assistant among those; unset: two thirds of them"
    )
    user_concurrency: int = Field(8, ge=1, description="limit of runs of one user among those")
    max_in_flight: int | None = Field(
        None, ge=1, description="limit of runs in flight in all orchestrators together; unset: none"
    )
    stages: Names = Field((), description="stages that this orchestrator runs, separated by commas; empty: all")
    lease: float = Field(
        60.0, gt=0, description="lease of an orchestrator: without a heartbeat for so long it loses its runs"
    )
    heartbeat: float = Field(15.0, gt=0, description="interval at which an orchestrator renews its lease")
    poll_interval: float = Field(
        1.0, gt=0, description="interval at which an orchestrator polls for runs, in addition to notifications"
    )
    compact_every: float = Field(
        60.0, ge=0, description="interval at which old summaries are looked for and merged; 0: never"
    )
    max_deaths: int = Field(
        3, ge=1, description="crash limit of a run: in flight in so many crashed processes, it is FAILED"
    )

    @field_validator("timezone")
    @classmethod
    def _check_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(f"unknown time zone {value!r}; use a name like Europe/Moscow") from error
        return value

    @property
    def zone(self) -> ZoneInfo:
        """`timezone` as a ZoneInfo."""
        return ZoneInfo(self.timezone)

    @property
    def assistant_share(self) -> int:
        """The most runs of one assistant in flight in one orchestrator."""
        return self.assistant_concurrency or math.ceil(self.concurrency * 2 / 3)
