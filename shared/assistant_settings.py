"""Settings of how assistants call tools; their variables have well-known names."""

from __future__ import annotations

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings


class AssistantSettings(BaseSettings):
    """A part of `Settings`."""

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
