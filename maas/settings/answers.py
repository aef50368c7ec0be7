"""Settings of an answer: what is read and written for it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES


class AnswerSettings(BaseSettings):
    """What a draft and an answer hold, and how the answer is written."""

    model_config = SOURCES

    prompt_language: Literal["ru", "en"] = Field(
        "ru", description="language of the built-in prompts, unless an assistant's definition names one; ru or en"
    )
    stream: bool = Field(True, description="on: event streams carry the text of an answer while the model writes it")
    marks: bool = Field(False, description="on: answers cite memory by [numbers], unless a request says marks: false")
    fast_path: bool = Field(False, description="on: skip model calls that cannot change the result")
    history_rows: int = Field(10, ge=0, le=100, description="recent messages in a draft")
    facts: Literal["model", "rules"] = Field(
        "model", description="model: rules and the Archivist's model find facts; rules: only rules do"
    )
    facts_tokens: int = Field(300, ge=0, le=4000, description="token limit of what is known in a draft; 0: none")
    payload_tokens: int = Field(8000, ge=500, le=8000, description="token limit of final_context_payload")
    result_tokens: int = Field(
        64_000, ge=500, le=64_000, description="token limit of the results of tools that a model is sent for one answer"
    )
    temperature: float = Field(0.7, ge=0, le=2, description="sampling temperature of the Final Responder")
    max_tokens: int = Field(2000, ge=1, description="token limit of an answer")
