"""Images of opened image models, and their fallback."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog

from shared.images import MAX_IMAGE_BYTES, sanitize_image_async
from shared.models import Image, ImageModel, ModelError, spec_of
from shared.models.retry import repeat

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ImageModels:
    """The configured image model and its fallback; `retry_delay` is the first pause before a retry, in seconds."""

    model: ImageModel
    fallback: ImageModel | None = None
    retry_delay: float = 1.0


# Takes up one call of an image model: the model, the number of attempts, the seconds, and how it failed, if it did.
RecordImage = Callable[[ImageModel, int, float, ModelError | None], None]


async def draw(
    images: ImageModels | None,
    prompt: str,
    photo: Image | None,
    timeout: float,
    record: RecordImage = lambda model, attempts, seconds, error: None,
) -> Image:
    """Generate an image within `timeout` seconds, all attempts of both models; it decodes and holds no metadata.

    If there is a fallback, each model gets half of the time; a faulty request (`bad_request`) is not repeated.
    `record` is called once for each model. Raises ModelError.
    """
    if images is None:
        raise ModelError("unknown_model", "no image model is configured: set MAAS_IMAGE_MODEL")
    model, fallback, delay = images.model, images.fallback, images.retry_delay
    if fallback is None:
        return await _draw(model, prompt, photo, timeout, delay, record)
    end = time.monotonic() + timeout
    try:
        return await _draw(model, prompt, photo, timeout / 2, delay, record)
    except ModelError as error:
        if error.code == "bad_request":
            raise
        _log.warning("image_fallback_called", fallback=spec_of(fallback), cause=str(error))
    return await _draw(fallback, prompt, photo, end - time.monotonic(), delay, record)


async def _draw(
    model: ImageModel, prompt: str, photo: Image | None, budget: float, delay: float, record: RecordImage
) -> Image:
    call = partial(model.draw, prompt, photo)
    began = time.monotonic()
    try:
        image, attempts = await repeat(model, call, budget=budget, attempt_timeout=budget, first_delay=delay)
    except ModelError as error:
        record(model, error.attempts, time.monotonic() - began, error)
        raise
    record(model, attempts, time.monotonic() - began, None)  # paid for, also where it cannot be used
    if len(image.data) > MAX_IMAGE_BYTES:
        raise _unusable(model, f"has {len(image.data)} bytes; at most {MAX_IMAGE_BYTES} are allowed")
    try:
        sanitized = await sanitize_image_async(image.data)
    except ValueError as error:
        raise _unusable(model, str(error)) from error
    return Image(sanitized.data, sanitized.media_type)


def _unusable(model: ImageModel, why: str) -> ModelError:
    return ModelError("malformed", f"{spec_of(model)}: its image {why}")
