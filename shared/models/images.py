"""Models that draw: one picture from a prompt and, if there is one, a photo."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog

from shared.models.policy import repeat
from shared.models.types import ModelError
from shared.pictures import MOST_BYTES, look_at

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in its file format."""

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
class Images:
    """Who draws, and who is asked when that fails; `retry_delay` is the first pause before another attempt."""

    model: ImageModel
    fallback: ImageModel | None = None
    retry_delay: float = 1.0


async def draw(images: Images | None, prompt: str, photo: Image | None, timeout: float) -> Image:
    """One picture within `timeout` seconds, all attempts of both models; it decodes and holds no metadata.

    A fallback that is configured gets half of the time, whatever becomes of the first; what was wrong with the
    request itself (`bad_request`) is not asked again. Raises ModelError.
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
    drawn, _ = await repeat(model, call, budget=budget, attempt_timeout=budget, first_delay=delay)
    if len(drawn.data) > MOST_BYTES:
        raise _unusable(model, f"has {len(drawn.data)} bytes; at most {MOST_BYTES} are taken")
    try:
        picture = await look_at(drawn.data)
    except ValueError as error:
        raise _unusable(model, str(error)) from error
    return Image(picture.data, picture.media_type)


def _unusable(model: ImageModel, why: str) -> ModelError:
    return ModelError("malformed", f"{model.provider}:{model.name}: what it drew {why}")
