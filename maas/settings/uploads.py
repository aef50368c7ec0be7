"""Settings of files that users upload."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES


class UploadSettings(BaseSettings):
    """Size limits of images and documents."""

    model_config = SOURCES

    attachment_bytes: int = Field(
        10 * 1024 * 1024, ge=1024, le=20 * 1024 * 1024, description="size limit of an uploaded image, in bytes"
    )
    knowledge_bytes: int = Field(
        50 * 1024 * 1024, ge=1024, le=200 * 1024 * 1024, description="size limit of a document of knowledge, in bytes"
    )
