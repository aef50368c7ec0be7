"""Settings of search by meaning: the embedding model."""

from __future__ import annotations

import os

from dotenv import dotenv_values
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from maas.settings.sources import PREFIX, SOURCES

DEFAULT_EMBEDDING_MODEL = "local:e5-small"
NO_EMBEDDING_MODEL = "none"


def _default_embedding_model() -> str:
    """Return the default of `embedding_model`: `none` if the variable is set to an empty text."""
    name, path = f"{PREFIX}EMBEDDING_MODEL", EmbeddingSettings.model_config.get("env_file")
    source = os.environ if name in os.environ else dotenv_values(str(path)) if path else {}
    return NO_EMBEDDING_MODEL if source.get(name) == "" else DEFAULT_EMBEDDING_MODEL


class EmbeddingSettings(BaseSettings):
    """The embedding model of messages, documents and search queries."""

    model_config = SOURCES

    embedding_model: str = Field(
        default_factory=_default_embedding_model,
        description="embedding model, as provider:model or provider:model@dimensions; none: lexical search only",
    )
    embedding_timeout: float = Field(1.0, gt=0, description="timeout of the embedding of a search query")

    @field_validator("embedding_model")
    @classmethod
    def _name_none(cls, value: str) -> str:
        return value.strip() or NO_EMBEDDING_MODEL

    @property
    def has_default_embedding_model(self) -> bool:
        """Whether nobody chose the embedding model; search is by words where that cannot be used."""
        return "embedding_model" not in self.model_fields_set and self.embedding_model == DEFAULT_EMBEDDING_MODEL
