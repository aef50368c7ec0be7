"""Which models clients may call by name, and where each of them is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from pydantic import SecretStr

from maas.settings import Settings
from maas.settings.passthrough import PASSTHROUGH_PROVIDERS
from shared.local_servers import SERVERS

URLS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1"}
NO_KEY = "none"  # what servers at home are sent
MAX_NAME_CHARS = 200
ASK_AGAIN_S = 600.0


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """A model at its provider: `url` is that of the API, with `/v1`."""

    provider: str
    model: str
    url: str
    key: str = field(repr=False)


class PassthroughModels:
    """The models that MAAS_PASSTHROUGH names."""

    def __init__(self, settings: Settings) -> None:
        self._entries = settings.passthrough.passthrough
        self._providers = settings.providers
        self._without_responses: dict[str, float] = {}  # servers that lack this API, and when that was found

    def has_responses(self, model: ProviderModel) -> bool:
        """Whether a provider may have the Responses API: one that lacked it is asked again after a while."""
        since = self._without_responses.get(model.url)
        return since is None or time.monotonic() - since > ASK_AGAIN_S

    def lacks_responses(self, model: ProviderModel) -> None:
        """Note that a provider does not have the Responses API."""
        self._without_responses[model.url] = time.monotonic()

    def find(self, name: object, client_key: str | None = None) -> ProviderModel | None:
        """The model that a client calls `name`; None if there is none, or if its provider has no key.

        `client_key` is the client's own key of the provider; it goes before ours.
        """
        if not isinstance(name, str) or len(name) > MAX_NAME_CHARS or (spec := self._spec_of(name)) is None:
            return None
        provider, _, model = spec.partition(":")
        if provider in SERVERS:
            return ProviderModel(provider, model, f"{self._providers.server_url(provider)}/v1", client_key or NO_KEY)
        url, own = self._hosted(provider)
        key = client_key or (own.get_secret_value() if own else NO_KEY if url else None)
        return None if key is None else ProviderModel(provider, model, url or URLS[provider], key)

    def _hosted(self, provider: str) -> tuple[str | None, SecretStr | None]:
        """The configured URL of a provider, with `/v1`, and its key."""
        if provider == "openai":
            url = self._providers.openai_base_url
            return url and url.rstrip("/"), self._providers.openai_api_key
        url = self._providers.anthropic_base_url  # its SDK adds /v1
        return url and f"{url.rstrip('/').removesuffix('/v1')}/v1", self._providers.anthropic_api_key

    def names(self) -> list[str]:
        """The models that are named one by one, by the names that clients use."""
        named = (entry.partition("=")[0] for entry in self._entries)
        return [name for name in named if "*" not in name and self.find(name) is not None]

    def hint(self, name: str) -> str:
        """How a name that is found nowhere could be made to work, for the end of an error; empty if it could not."""
        if not self._entries:
            return ""
        provider = name.partition(":")[0]
        if provider in PASSTHROUGH_PROVIDERS and self._spec_of(name) is not None:
            key = f"{provider.upper()}_API_KEY"
            return f"; the provider {provider} is not configured: set {key}, or send X-MaaS-Provider-Key"
        return "; a model of a provider is named like openai:gpt-4o, or as MAAS_PASSTHROUGH says"

    def _spec_of(self, name: str) -> str | None:
        """The `provider:model` that this name stands for; entries that name it exactly go first."""
        is_spec = name.partition(":")[0] in PASSTHROUGH_PROVIDERS and len(name.partition(":")[2]) > 0
        for entry in sorted(self._entries, key=lambda one: "*" in one):
            if entry == "*":
                if is_spec:
                    return name
                continue
            alias, has_alias, target = entry.rpartition("=")
            pattern = alias if has_alias else target
            if _matches(pattern, name):
                return target.replace("*", name) if has_alias else name
        return None


def _matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, in which `*` alone stands for any text."""
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
