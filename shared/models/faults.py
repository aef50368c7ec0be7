"""What a provider's failure means, told in our own words; no key ever stands in a message."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.log import hide, mask
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
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Faults:
    """Names the failures of one model, `who` being `provider:name`; its `secret` is cut out of every cause."""

    who: str
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        hide(self.secret)

    def failure(self, code: ErrorCode, cause: str, *, retryable: bool = False) -> ModelError:
        """A ModelError whose message names the model and the cause."""
        return ModelError(code, f"{self.who}: {self._tidy(cause)}", retryable=retryable)

    def of_status(self, status: int, cause: str, pause: float | None = None) -> ModelError:
        """A ModelError for an HTTP status; `pause` is how many seconds the server asks to wait.

        408, 409, 429 and 5xx may succeed later, the rest will not.
        """
        code, retryable = _CODES.get(status, ("provider_error", True) if status >= 500 else ("bad_request", False))
        message = f"{self.who} answered {status}: {self._tidy(cause)}"
        return ModelError(code, message, retryable=retryable, retry_after=pause)

    def timeout(self, seconds: float) -> ModelError:
        return self.failure("timeout", f"no answer within {seconds:.1f} s", retryable=True)

    def cut(self) -> ModelError:
        """A ModelError for a stream without its end."""
        return self.failure("unreachable", "the stream ended before the reply was whole", retryable=True)

    def _tidy(self, cause: str) -> str:
        return shorten(one_line(mask(clean(cause))), _LONGEST) or "no reason given"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the server asks: retry-after-ms, or Retry-After as a number or a date; None without either."""
    try:
        if given := headers.get("retry-after-ms"):
            return _seconds(float(given) / 1000)
        if not (given := headers.get("retry-after")):
            return None
        if given[:1].isdigit():
            return _seconds(float(given))
        return max(email.utils.parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(number: float) -> float | None:
    return number if math.isfinite(number) and number >= 0 else None
