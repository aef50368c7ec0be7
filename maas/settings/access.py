"""Settings of access control: who signs tokens, and the sign-in with email and password (MAAS_AUTH=local)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES

MIN_JWT_SECRET_BYTES = 32


class AccessSettings(BaseSettings):
    """Who may call, and how people sign in."""

    model_config = SOURCES

    auth: Literal["none", "keys", "jwt", "local"] = Field(
        "none",
        description="access control: `none` (this machine only), `keys` (API keys), `jwt` (tokens and API keys), "
        "`local` (sign-in with email and password, and API keys)",
    )
    jwt_secret: SecretStr | None = Field(
        None, description="secret of tokens signed with HS256, at least 32 bytes; `local` generates one if unset"
    )
    jwks_url: str | None = Field(None, description="URL of the public keys (JWKS) of tokens signed otherwise")
    jwt_audience: str | None = Field(None, description="required `aud` of a token; unset: any")
    jwt_issuer: str | None = Field(None, description="required `iss` of a token; unset: any")
    jwt_leeway: float = Field(10.0, ge=0, le=300, description="tolerated clock difference of `exp` and `nbf`")
    signup: Literal["open", "closed"] = Field(
        "open", description="MAAS_AUTH=local: `open` (everybody may sign up), `closed` (only `maas users add`)"
    )
    password_length: int = Field(8, ge=6, le=100, description="shortest password of an account, in characters")
    access_lifetime: float = Field(
        900.0,
        ge=10,
        le=86_400,
        description="lifetime of an access token of MAAS_AUTH=local; a client renews it by itself",
    )
    refresh_days: int = Field(
        30, ge=1, le=3650, description="days after which a session that was not used must sign in again"
    )
    link_days: int = Field(
        0,
        ge=0,
        le=365,
        description="longest lifetime of links by which anybody may read a conversation, in days; 0: there are none",
    )
    sign_in_rate: int = Field(
        10, ge=1, description="rate limit: wrong passwords per email, address and minute in each process; then 429"
    )
    sign_in_address_rate: int = Field(
        60,
        ge=1,
        description="rate limit: wrong passwords, sign-ups per address and minute in each process; then 429",
    )

    @model_validator(mode="after")
    def _signers(self) -> AccessSettings:
        if self.auth not in ("jwt", "local"):
            return self
        if self.auth == "local" and self.jwks_url is not None:
            raise ValueError("MAAS_AUTH=local signs its own tokens; unset MAAS_JWKS_URL, or set MAAS_AUTH=jwt")
        if self.auth == "jwt" and (self.jwt_secret is None) == (self.jwks_url is None):
            raise ValueError("MAAS_AUTH=jwt needs MAAS_JWT_SECRET or MAAS_JWKS_URL, one of both")
        if self.jwt_secret is not None and len(self.jwt_secret.get_secret_value().encode()) < MIN_JWT_SECRET_BYTES:
            raise ValueError(f"MAAS_JWT_SECRET must have at least {MIN_JWT_SECRET_BYTES} bytes, as HS256 demands")
        if self.jwks_url is not None and not self.jwks_url.startswith(("https://", "http://")):
            raise ValueError("MAAS_JWKS_URL must begin with https:// or http://")
        return self
