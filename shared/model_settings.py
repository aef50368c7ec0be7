"""Roles of models as settings name them, and the setting that holds options by role and model."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

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
    """A part of `Settings`."""

    models: str | None = Field(
        None, description="options of models by role and name, such as URLs and timeouts: a JSON file, or JSON text"
    )

    def has_own_attempt_timeout(self, role: str) -> bool:
        """Whether somebody has set the timeout of one attempt of a role's model."""
        return bool({"attempt_timeout", f"{ROLE_PREFIX.get(role)}_attempt_timeout"} & self.model_fields_set)


def budget_setting(role: str) -> str:
    """Return the variable that sets the time of a role's model, all attempts together."""
    return f"MAAS_{ROLE_PREFIX.get(role, 'responder').upper()}_TIMEOUT"


def attempt_setting(role: str) -> str:
    """Return the variable that sets the timeout of one attempt of a role's model."""
    return f"MAAS_{ROLE_PREFIX[role].upper()}_ATTEMPT_TIMEOUT" if role in ROLE_PREFIX else "MAAS_ATTEMPT_TIMEOUT"
