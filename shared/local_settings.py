"""Settings of model servers at home, and the profile of the models that are used."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import AliasChoices, Field, model_validator
from pydantic_settings import BaseSettings

from shared.errors import MaasError
from shared.local_servers import SERVERS, address_of
from shared.model_profiles import PROFILES, ProfileName, choose_profile


class LocalSettings(BaseSettings):
    """A part of `Settings`."""

    model_profile: Literal["auto", "cloud", "local", "small"] = Field(
        "auto", description="what settings are unless they are set, for hosted models, models at home, small ones"
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

    @model_validator(mode="after")
    def _apply_profile(self) -> Self:
        # Not by assignment: what nobody has set stays out of `model_fields_set`.
        unset = PROFILES[self.profile].items()
        self.__dict__.update({name: value for name, value in unset if name not in self.model_fields_set})
        return self

    @property
    def profile(self) -> ProfileName:
        """The profile that is set; `auto` stands for that of the model that answers."""
        if self.model_profile != "auto":
            return self.model_profile
        values = self.__dict__
        return choose_profile(values.get("responder_model") or values["model"], values["openai_base_url"])

    def server_url(self, kind: str) -> str:
        """Return the address of one of SERVERS, without `/v1`. Raises MaasError('bad_setting')."""
        server = SERVERS[kind]
        configured: str | None = getattr(self, f"{kind}_base_url")
        try:
            return address_of(server, configured)
        except ValueError as error:
            raise MaasError("bad_setting", f"{server.variable}: {error}") from error
