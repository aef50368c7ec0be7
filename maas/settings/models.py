"""Settings of models: which one has which role, and how long its calls may take."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES

ROLE_PREFIX = {
    "Analyzer": "analyzer",
    "Assembler": "assembler",
    "FinalResponder": "responder",
    "Archivist": "archivist",
    "Compactor": "archivist",
}
ROLES = tuple(ROLE_PREFIX)
ROLE_NAMES = {role: frozenset((prefix, role.lower())) for role, prefix in ROLE_PREFIX.items()}  # in MAAS_MODELS


class ModelSettings(BaseSettings):
    """The models of the roles, their fallbacks and their times."""

    model_config = SOURCES

    model: str = Field("extractive:builtin", description="default model, as provider:model")
    analyzer_model: str | None = Field(None, description="model of the Analyzer; unset: MAAS_MODEL")
    assembler_model: str | None = Field(None, description="model of the Assembler; unset: MAAS_MODEL")
    responder_model: str | None = Field(None, description="model of the Final Responder; unset: MAAS_MODEL")
    archivist_model: str | None = Field(None, description="model of Archivist and Compactor; unset: MAAS_MODEL")
    fallback_model: str | None = Field(
        None, description="model, as provider:model, that is called if a role's own one fails; unset: none"
    )
    analyzer_fallback: str | None = Field(None, description="fallback of the Analyzer; unset: MAAS_FALLBACK_MODEL")
    assembler_fallback: str | None = Field(None, description="fallback of the Assembler; unset: MAAS_FALLBACK_MODEL")
    responder_fallback: str | None = Field(
        None, description="fallback of the Final Responder; unset: MAAS_FALLBACK_MODEL"
    )
    archivist_fallback: str | None = Field(
        None, description="fallback of Archivist and Compactor; unset: MAAS_FALLBACK_MODEL"
    )
    models: str | None = Field(
        None, description="options of models by role and name, such as URLs and timeouts: a JSON file, or JSON text"
    )
    model_profile: Literal["auto", "cloud", "local", "small"] = Field(
        "auto", description="defaults of other settings: for hosted models, for models at home, for small ones"
    )
    analyzer_timeout: float = Field(3.0, gt=0, description="time budget of the Analyzer's model, all attempts together")
    assembler_timeout: float = Field(
        3.0, gt=0, description="time budget of the Assembler's model, all attempts together"
    )
    archivist_timeout: float = Field(
        20.0, gt=0, description="time budget of the Archivist's model, all attempts together"
    )
    responder_timeout: float = Field(
        150.0, gt=0, description="time budget of the Final Responder's model, all attempts together"
    )
    attempt_timeout: float = Field(
        30.0, gt=0, description="timeout of one attempt of a model, even if it is still streaming"
    )
    analyzer_attempt_timeout: float | None = Field(
        None, gt=0, description="attempt timeout of the Analyzer; unset: MAAS_ATTEMPT_TIMEOUT"
    )
    assembler_attempt_timeout: float | None = Field(
        None, gt=0, description="attempt timeout of the Assembler; unset: MAAS_ATTEMPT_TIMEOUT"
    )
    responder_attempt_timeout: float | None = Field(
        None, gt=0, description="attempt timeout of the Final Responder; unset: MAAS_ATTEMPT_TIMEOUT"
    )
    archivist_attempt_timeout: float | None = Field(
        None, gt=0, description="attempt timeout of Archivist and Compactor; unset: MAAS_ATTEMPT_TIMEOUT"
    )
    retry_delay: float = Field(
        1.0, ge=0, description="backoff before the first retry of a model call; doubles with each further one"
    )

    def role_model(self, role: str) -> str:
        """Return the `provider:model` of one of ROLES."""
        return getattr(self, f"{ROLE_PREFIX[role]}_model") or self.model

    def role_fallback(self, role: str) -> str | None:
        """Return the `provider:model` that is called if a role's own one fails; None without."""
        return getattr(self, f"{ROLE_PREFIX[role]}_fallback") or self.fallback_model

    def role_attempt_timeout(self, role: str) -> float:
        """Return the timeout of one attempt of a role's model, in seconds."""
        own: float | None = getattr(self, f"{ROLE_PREFIX[role]}_attempt_timeout")
        return own or self.attempt_timeout

    def has_own_attempt_timeout(self, role: str) -> bool:
        """Whether somebody has set the timeout of one attempt of a role's model."""
        return bool({"attempt_timeout", f"{ROLE_PREFIX.get(role)}_attempt_timeout"} & self.model_fields_set)


def budget_setting(role: str) -> str:
    """Return the variable that sets the time of a role's model, all attempts together."""
    return f"MAAS_{ROLE_PREFIX.get(role, 'responder').upper()}_TIMEOUT"


def attempt_setting(role: str) -> str:
    """Return the variable that sets the timeout of one attempt of a role's model."""
    return f"MAAS_{ROLE_PREFIX[role].upper()}_ATTEMPT_TIMEOUT" if role in ROLE_PREFIX else "MAAS_ATTEMPT_TIMEOUT"
