"""Settings of images that models generate."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES


class ImageSettings(BaseSettings):
    """The image model and its fallback."""

    model_config = SOURCES

    image_model: str | None = Field(None, description="image model, as provider:model; unset: no images are generated")
    image_fallback: str | None = Field(
        None, description="image model, as provider:model, that is called if that fails; unset: none"
    )
    image_timeout: float = Field(120.0, gt=0, description="time budget of one generated image, all attempts together")
