"""Settings of model servers at home."""

from __future__ import annotations

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings

from shared.errors import MaasError
from shared.local_servers import SERVERS, address_of

BUILTIN_MODEL = "extractive:builtin"  # answers by rules, without a server


class LocalSettings(BaseSettings):
    """A part of `Settings`."""

    ollama_host: str | None = Field(
        None,
        validation_alias=AliasChoices("OLLAMA_HOST"),
        description="address of Ollama, for models ollama:NAME; unset: http://127.0.0.1:11434",
    )
    lmstudio_url: str | None = Field(
        None, description="address of LM Studio, for models lmstudio:NAME; unset: http://127.0.0.1:1234"
    )
    llama_url: str | None = Field(
        None, description="address of llama-server, for models llama:NAME; unset: http://127.0.0.1:8080"
    )
    vllm_url: str | None = Field(
        None, description="address of vLLM, for models vllm:NAME; unset: http://127.0.0.1:8000"
    )

    def server_url(self, kind: str) -> str:
        """Return the address of one of SERVERS, without `/v1`. Raises MaasError('bad_setting')."""
        server = SERVERS[kind]
        configured: str | None = self.ollama_host if kind == "ollama" else getattr(self, f"{kind}_url")
        try:
            return address_of(server, configured)
        except ValueError as error:
            raise MaasError("bad_setting", f"{server.variable}: {error}") from error
