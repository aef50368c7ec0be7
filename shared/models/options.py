"""Options of one model: its server, its limits, and what it can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr

from shared.local_servers import SERVERS, is_loopback, is_own, kind_of
from shared.models.retry import MAX_ATTEMPTS

JsonSchema = Literal["strict", "plain", "none"]
_HOSTED = frozenset(("openai", "gemini", "anthropic", "extractive"))  # providers that are no server at home


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What is set for one model in one role; times in seconds.

    `attempt_timeout`: of one attempt, None for all the time that the stage has. `first_token_timeout`: of each sign of
    life of a stream before its first text; from then on it must bring `tokens_per_second`. `tries`: attempts of one
    call. `breaker_failures`: failed calls until the circuit opens, 0 for never. `calls`: at once, in one process.
    `requests_per_minute`, `tokens_per_minute`: of all processes together.
    `window`: tokens of question and answer together. `text_calls`: the model writes tool calls as text; None: as models
    of one's own servers may. `is_own_server`: the server is not the vendor's. `attempt_source`: what `attempt_timeout`
    comes from.
    """

    base_url: str | None = None
    api_key: SecretStr | None = None
    attempt_timeout: float | None = None
    first_token_timeout: float | None = None
    tokens_per_second: float | None = None
    tries: int = MAX_ATTEMPTS
    breaker_failures: int = 1
    calls: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    window: int | None = None
    json_schema: JsonSchema = "plain"
    text_calls: bool | None = None
    is_own_server: bool = False
    attempt_source: str = "MAAS_ATTEMPT_TIMEOUT"


def answers_one_at_a_time(provider: str, base_url: str | None) -> bool:
    """Whether a server is known to read one request after another: a gateway elsewhere is not."""
    if provider == "vllm" or not is_own_server(provider, base_url):
        return False
    return provider in SERVERS or (base_url is not None and (is_loopback(base_url) or kind_of(base_url) is not None))


def is_own_server(provider: str, base_url: str | None) -> bool:
    """Whether the server of a provider is one's own."""
    return provider not in _HOSTED if base_url is None else is_own(base_url)
