"""What a provider's failure means, told in our own words; no key ever stands in a message."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping

from shared.log import mask
from shared.models.types import ErrorCode, ModelError
from shared.text import clean, one_line, shorten

_CODES: dict[int, tuple[ErrorCode, bool]] = {
    401: ("unauthorized", False),
    403: ("unauthorized", False),
    404: ("unknown_model", False),
    408: ("timeout", True),
    409: ("provider_error", True),
    429: ("rate_limited", True),
}


def failure(code: ErrorCode, who: str, cause: str, *, retryable: bool = False) -> ModelError:
    """A ModelError whose message names the model (`provider:name`) and the cause."""
    return ModelError(code, f"{who}: {_tidy(cause)}", retryable=retryable)


def failure_of_status(status: int, who: str, cause: str, headers: Mapping[str, str] | None = None) -> ModelError:
    """A ModelError for an HTTP status: 408, 409, 429 and 5xx may succeed later, the rest will not."""
    code, retryable = _CODES.get(status, ("provider_error", True) if status >= 500 else ("bad_request", False))
    return ModelError(
        code, f"{who} answered {status}: {_tidy(cause)}", retryable=retryable, retry_after=retry_after(headers or {})
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the server asks: Retry-After as a number or a date, or retry-after-ms."""
    try:
        if given := headers.get("retry-after-ms"):
            return max(float(given) / 1000, 0.0)
        given = headers.get("retry-after")
        if given is None:
            return None
        if given.strip().replace(".", "", 1).isdigit():
            return float(given)
        return max(email.utils.parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None


def _tidy(cause: str) -> str:
    return shorten(one_line(mask(clean(cause))), 500) or "no reason given"
