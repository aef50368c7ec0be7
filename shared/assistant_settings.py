"""Settings of the built-in assistants and of how assistants call tools; their variables have well-known names."""

from __future__ import annotations

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings


class AssistantSettings(BaseSettings):
    """A part of `Settings`."""

    meta_orchestrator_model: str | None = Field(
        None,
        validation_alias=AliasChoices("META_ORCHESTRATOR_MODEL"),
        description="model of the assistant ads; unset: openai:gpt-5.2 with a key of openai, else the Responder's",
    )
    domain_agent_model: str | None = Field(
        None,
        validation_alias=AliasChoices("DOMAIN_AGENT_MODEL"),
        description="model of the agents of ads and ads_v1; unset: as above with openai:gpt-4o-mini",
    )
    meta_max_iterations: int = Field(
        10,
        ge=1,
        le=50,
        validation_alias=AliasChoices("META_MAX_ITERATIONS"),
        description="rounds of model and tools of ads",
    )
    orchestrator_debug: bool = Field(
        False,
        validation_alias=AliasChoices("ORCHESTRATOR_DEBUG"),
        description="on: the steps of assistants are logged: rounds, domains, calls, their checks and results",
    )
    use_mcp_runtime: bool = Field(
        True,
        validation_alias=AliasChoices("USE_MCP_RUNTIME"),
        description="off: `_meta.via` of tool results is `legacy` instead of `mcp`; checks and approvals are the same",
    )
