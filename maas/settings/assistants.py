"""Settings of assistants: the plugins and tools that are on, and how tools are called."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, NoDecode

from maas.plugins import chosen
from maas.settings.sources import SOURCES, SPLIT, Names


class AssistantSettings(BaseSettings):
    """The plugins, toolsets and MCP servers that assistants have."""

    model_config = SOURCES

    plugins: Annotated[tuple[str, ...] | None, NoDecode, SPLIT] = Field(
        default_factory=chosen,
        description="plugins that are on, separated by commas; empty: none; unset: all that are installed",
    )
    tools: Names = Field((), description="toolsets of your own, as module:attribute, separated by commas")
    mcp_servers: str | None = Field(None, description="MCP servers whose tools are used: a JSON file, or JSON text")
    a2a: Names = Field(
        (),
        description="assistants served over A2A, separated by commas; the first has the agent card of the host",
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

    @property
    def tools_via(self) -> Literal["mcp", "legacy"]:
        """The label `_meta.via` of tool results."""
        return "mcp" if self.use_mcp_runtime else "legacy"
