"""A model that the emulator itself asks, by OpenAI's protocol: the person that it plays, and the judge.

It is asked by the client that asks the models of MaaS: with the same retries, limits of bytes and hidden keys.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from learning_agent.emulator.errors import EmulatorError
from shared.models import Message, ModelError, Request
from shared.models.calls import complete

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
        """The next text after these turns, of which only the first may be of the system. Raises EmulatorError."""
        system = "".join(text for role, text in turns[:1] if role == "system")
        said = turns[1:] if system else turns
        messages = tuple(Message("assistant" if role == "assistant" else "user", text) for role, text in said)
        request = Request("emulator", messages, system, temperature=0.0, max_tokens=max_tokens)
        try:
            return asyncio.run(self._ask(request)).strip()
        except ModelError as error:
            raise EmulatorError(f"{self.name} at {self.base_url} gave no reply: {error}") from error

    async def _ask(self, request: Request) -> str:
        from shared.models.openai import OpenAIModel  # the SDK takes half a second to import

        model = OpenAIModel(self.name, api_key=self.key, base_url=self.base_url)
        try:
            asked = complete(model, request, budget=TIMEOUT_S, attempt_timeout=TIMEOUT_S, breaker_failures=0)
            return (await asked).reply.text
        finally:
            await model.close()


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
