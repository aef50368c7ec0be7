"""Settings of quotas: what one user may have at most."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES

MIB = 1024 * 1024


class QuotaSettings(BaseSettings):
    """What one user may have; orchestrators write the quotas to the database, which enforces them."""

    model_config = SOURCES

    user_queue_limit: int = Field(
        100, ge=1, le=100_000, description="limit of unfinished runs of one user; above it 429"
    )
    user_conversations: int = Field(10_000, ge=1, le=10_000_000, description="limit of conversations of one user")
    user_documents: int = Field(2000, ge=1, le=1_000_000, description="limit of documents of one user")
    user_document_bytes: int = Field(512 * MIB, ge=1, description="limit of the files of these documents, in bytes")
    user_images: int = Field(5000, ge=1, le=1_000_000, description="limit of images of one user, generated ones too")
    user_image_bytes: int = Field(2048 * MIB, ge=1, description="limit of these images, in bytes")
    user_webhooks: int = Field(10, ge=0, le=1000, description="limit of webhooks of one user")
    user_webhook_events: int = Field(
        10_000,
        ge=1,
        le=1_000_000,
        description="limit of events that wait for one webhook of a user; then it is disabled",
    )
    user_schedules: int = Field(20, ge=0, le=1000, description="limit of schedules of one user")
    user_memory_bytes: int = Field(
        256 * MIB, ge=1, description="limit of the text of messages and summaries of one user, in bytes"
    )
