"""A model that the emulator itself asks, by OpenAI's protocol: the person that it plays, and the judge."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from learning_agent.emulator.errors import EmulatorError

OPENAI_URL = "https://api.openai.com/v1"
TIMEOUT_S = 300.0
Turn = tuple[str, str]  # role, text


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """One model of a server."""

    name: str
    base_url: str
    key: str

    def reply(self, turns: Sequence[Turn], max_tokens: int = 300) -> str:
        """The next text after these turns. Raises EmulatorError."""
        body = {
            "model": self.name,
            "temperature": 0,
            "max_tokens": max_tokens,
            "messages": [{"role": role, "content": text} for role, text in turns],
        }
        try:
            answer = httpx2.post(
                f"{self.base_url}/chat/completions",
                json=body,
                headers={"Authorization": f"Bearer {self.key}"},
                timeout=TIMEOUT_S,
            )
            answer.raise_for_status()
            return str(answer.json()["choices"][0]["message"]["content"] or "").strip()
        except (httpx2.HTTPError, LookupError, ValueError, TypeError) as error:
            raise EmulatorError(f"{self.name} at {self.base_url} gave no reply: {error}") from error


def open_model(named: str, environment: Mapping[str, str] = os.environ) -> LanguageModel:
    """The model of `openai:NAME`, at OPENAI_BASE_URL. Raises EmulatorError for another provider or without a key."""
    provider, _, name = named.partition(":")
    if provider != "openai" or not name:
        raise EmulatorError(f"{named}: people and judges speak OpenAI's protocol: openai:NAME, at OPENAI_BASE_URL")
    key = environment.get("OPENAI_API_KEY")
    if not key:
        raise EmulatorError(f"{named} needs OPENAI_API_KEY (any text for a server of your own)")
    return LanguageModel(name, base_url_of(environment), key)


def base_url_of(environment: Mapping[str, Any]) -> str:
    """Where models of OpenAI's protocol are asked."""
    return str(environment.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/")
