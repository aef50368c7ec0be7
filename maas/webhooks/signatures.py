"""Signatures of Standard Webhooks: HMAC-SHA256 over id, time and body."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable

SECRET_PREFIX = "whsec_"


def sign(secrets: Iterable[str], delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a delivery; `timestamp` in seconds. While a secret is replaced there are two signatures.

    Without a secret there is none.
    """
    signed = f"{delivery_id}.{timestamp}.".encode() + body
    keys = [b64decode(secret.removeprefix(SECRET_PREFIX)) for secret in secrets]
    signatures = [b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys]
    headers = {"webhook-id": delivery_id, "webhook-timestamp": str(timestamp)}
    return headers | ({"webhook-signature": " ".join(f"v1,{one}" for one in signatures)} if signatures else {})
