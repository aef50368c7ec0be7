"""Settings of the web interface."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES


class PageSettings(BaseSettings):
    """The web interface, and who signs people in to it."""

    model_config = SOURCES

    ui: bool = Field(True, description="on: the HTTP server serves the web interface at /ui")
    supabase_url: str | None = Field(
        None,
        pattern=r"^https?://[^/\s?#;,]+$",
        description="URL of a Supabase project that signs people in to the web interface, with MAAS_AUTH=jwt",
    )
    supabase_anon_key: str | None = Field(
        None, min_length=1, max_length=1000, description="the public key of that project (its anon key)"
    )
