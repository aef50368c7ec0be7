"""Image generation: one image from a prompt and an optional photo, with retries and a fallback model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog

from shared.images import MAX_IMAGE_BYTES, sanitize_image_async
from shared.models.retry import repeat
from shared.models.types import ModelError

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Image:
    """An image in its file format."""

    data: bytes
    media_type: str


class ImageModel(Protocol):
    """One configured image model of one provider."""

    @property
    def provider(self) -> str: ...

    @property
    def name(self) -> str: ...

    async def draw(self, prompt: str, photo: Image | None, timeout: float) -> Image:
        """Draw once, within `timeout` seconds. Raises ModelError; never retries by itself."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ImageModels:
    """The configured image model and its fallback; `retry_delay` is the first pause before a retry, in seconds."""

    model: ImageModel
    fallback: ImageModel | None = None
    retry_delay: float = 1.0


async def draw(images: ImageModels | None, prompt: str, photo: Image | None, timeout: float) -> Image:
    """Generate an image within `timeout` seconds, all attempts of both models; it decodes and holds no metadata.

    If there is a fallback, each model gets half of the time; a faulty request (`bad_request`) is not repeated.
    Raises ModelError.
    """
    if images is None:
        raise ModelError("unknown_model", "no image model is configured: set MAAS_IMAGE_MODEL")
    model, fallback, delay = images.model, images.fallback, images.retry_delay
    if fallback is None:
        return await _draw(model, prompt, photo, timeout, delay)
    end = time.monotonic() + timeout
    try:
        return await _draw(model, prompt, photo, timeout / 2, delay)
    except ModelError as error:
        if error.code == "bad_request":
            raise
        _log.warning("image_fallback_asked", fallback=f"{fallback.provider}:{fallback.name}", cause=str(error))
    return await _draw(fallback, prompt, photo, end - time.monotonic(), delay)


async def _draw(model: ImageModel, prompt: str, photo: Image | None, budget: float, delay: float) -> Image:
    call = partial(model.draw, prompt, photo)
    image, _ = await repeat(model, call, budget=budget, attempt_timeout=budget, first_delay=delay)
    if len(image.data) > MAX_IMAGE_BYTES:
        raise _unusable(model, f"has {len(image.data)} bytes; at most {MAX_IMAGE_BYTES} are taken")
    try:
        sanitized = await sanitize_image_async(image.data)
    except ValueError as error:
        raise _unusable(model, str(error)) from error
    return Image(sanitized.data, sanitized.media_type)


def _unusable(model: ImageModel, why: str) -> ModelError:
    return ModelError("malformed", f"{model.provider}:{model.name}: what it drew {why}")
