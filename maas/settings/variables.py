"""The environment variables of settings: their names, those that hold secrets, and those that are no setting."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from dotenv import dotenv_values
from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from maas.plugins import load_parts
from maas.settings import SUBJECTS, Settings
from maas.settings.plugins import PluginSettings
from maas.settings.sources import PREFIX

ORCHESTRATOR_SECRETS = (
    "openai_api_key",
    "gemini_api_key",
    "anthropic_api_key",
    "mcp_servers",
    "models",
)
OTHER_VARIABLES = {  # of clients, and between our processes
    "MAAS_URL",
    "MAAS_API_KEY",
    "MAAS_MCP_USER",
    "MAAS_PARENT_PID",
}


def variables() -> dict[str, str]:
    """Return the environment variable of each setting: ours, then of the plugins that are on. Raises MaasError."""
    kinds: list[type[BaseSettings]] = [*SUBJECTS.values(), *_kinds_of_plugins()]
    return {name: _variable_of(name, field) for kind in kinds for name, field in kind.model_fields.items()}


def _variable_of(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"{PREFIX}{name.upper()}"


def unneeded_by_server(settings: Settings) -> tuple[str, ...]:
    """Return the names of secrets that the HTTP process does not need.

    It needs the key of its embedding model, and those of OpenAI and Anthropic where clients may call their models.
    """
    providers = {settings.embeddings.embedding_model.partition(":")[0].strip()}
    if settings.passthrough.passthrough:
        providers |= {"openai", "anthropic"}
    needed = {f"{provider}_api_key" for provider in providers}
    ours = (name for name in ORCHESTRATOR_SECRETS if name not in needed)
    return (*ours, *(name for kind in _kinds_of_plugins() for name in kind.orchestrator_secrets), *service_secrets())


def service_secrets() -> tuple[str, ...]:
    """Return the names of secrets that only services of plugins need."""
    return tuple(name for kind in _kinds_of_plugins() for name in kind.service_secrets)


def _kinds_of_plugins() -> list[type[PluginSettings]]:
    return load_parts("settings")


def names_in_file() -> set[str]:
    """Return the variables to which `.env` gives a value."""
    path = Path(".env")
    return {name for name, value in dotenv_values(path).items() if value} if path.is_file() else set()


def unknown_settings() -> list[str]:
    """Return a sentence for each MAAS_ variable that is not a setting, with the setting that may be meant."""
    known = set(variables().values())
    short = {name.removeprefix(PREFIX): name for name in known}
    names = {name.upper() for name in names_in_file() | {name for name, value in os.environ.items() if value}}
    hints = []
    for name in sorted(names - known - OTHER_VARIABLES):
        if name.startswith(PREFIX):
            near = get_close_matches(name.removeprefix(PREFIX), short, 1)
            hints.append(f"{name} is not a setting" + (f"; did you mean {short[near[0]]}?" if near else ""))
    return hints
