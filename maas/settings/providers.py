"""Settings of the providers of models: keys, and URLs of their servers, at home too."""

from __future__ import annotations

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES
from shared.errors import MaasError
from shared.local_servers import SERVERS, address_of


class ProviderSettings(BaseSettings):
    """Where the models of each provider are, and its key."""

    model_config = SOURCES

    openai_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("OPENAI_API_KEY"), description="key of the provider openai"
    )
    openai_base_url: str | None = Field(
        None, validation_alias=AliasChoices("OPENAI_BASE_URL"), description="URL of an OpenAI-compatible server"
    )
    gemini_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("GEMINI_API_KEY"), description="key of the provider gemini"
    )
    gemini_base_url: str | None = Field(
        None, validation_alias=AliasChoices("GEMINI_BASE_URL"), description="URL of a Gemini-compatible server"
    )
    anthropic_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("ANTHROPIC_API_KEY"), description="key of the provider anthropic"
    )
    anthropic_base_url: str | None = Field(
        None, validation_alias=AliasChoices("ANTHROPIC_BASE_URL"), description="URL of an Anthropic-compatible server"
    )
    ollama_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("OLLAMA_HOST"),
        description="address of Ollama, for models ollama:NAME; unset: http://127.0.0.1:11434",
    )
    lmstudio_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("MAAS_LMSTUDIO_URL"),
        description="address of LM Studio, for models lmstudio:NAME; unset: http://127.0.0.1:1234",
    )
    llama_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("MAAS_LLAMA_URL"),
        description="address of llama-server, for models llama:NAME; unset: http://127.0.0.1:8080",
    )
    vllm_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("MAAS_VLLM_URL"),
        description="address of vLLM, for models vllm:NAME; unset: http://127.0.0.1:8000",
    )

    def server_url(self, kind: str) -> str:
        """Return the address of one of SERVERS, without `/v1`. Raises MaasError('bad_setting')."""
        server = SERVERS[kind]
        configured: str | None = getattr(self, f"{kind}_base_url")
        try:
            return address_of(server, configured)
        except ValueError as error:
            raise MaasError("bad_setting", f"{server.variable}: {error}") from error
