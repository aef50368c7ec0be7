"""A provider as configured: its `provider:model` spec, its key and URL, and its errors, which never hold a key."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from shared.errors import MaasError
from shared.log import hide, mask
from shared.models.types import ErrorCode, ModelError
from shared.settings import Settings
from shared.text import clean, one_line, shorten

_SYNONYMS = {"claude": "anthropic"}
_CODES: dict[int, tuple[ErrorCode, bool]] = {
    401: ("unauthorized", False),
    403: ("unauthorized", False),
    404: ("unknown_model", False),
    408: ("timeout", True),
    409: ("provider_error", True),
    429: ("rate_limited", True),
}
MAX_CAUSE_CHARS = 500


def read_spec(spec: str, providers: Iterable[str], example: str) -> tuple[str, str]:
    """Return provider and model of the spec `provider:model`. Raises MaasError('bad_setting')."""
    provider, colon, name = (part.strip() for part in spec.partition(":"))
    if not (colon and name):
        raise MaasError("bad_setting", f"model {spec!r} must be written provider:model, for instance {example}")
    provider = _SYNONYMS.get(provider, provider)
    if provider not in providers:
        known = ", ".join(sorted(providers))
        raise MaasError("bad_setting", f"model {spec!r} names the unknown provider {provider!r}; known are {known}")
    return provider, name


def openai_access(name: str, settings: Settings, alternative: str) -> tuple[str, str | None]:
    """Return key and base URL. Raises MaasError('missing_key')."""
    key, base_url = settings.openai_api_key, settings.openai_base_url
    if key is None and base_url is None:
        what = "OPENAI_API_KEY (or OPENAI_BASE_URL for a compatible server that needs no key)"
        raise _missing_key("openai", name, what, alternative)
    return key.get_secret_value() if key else "none", base_url


def gemini_access(name: str, settings: Settings, alternative: str) -> tuple[str, str | None]:
    """Return key and base URL. Raises MaasError('missing_key')."""
    if settings.gemini_api_key is None:
        raise _missing_key("gemini", name, "GEMINI_API_KEY", alternative)
    return settings.gemini_api_key.get_secret_value(), settings.gemini_base_url


def anthropic_access(name: str, settings: Settings, alternative: str) -> tuple[str, str | None]:
    """Return key and base URL. Raises MaasError: `missing_package` without the SDK, `missing_key`."""
    if find_spec("anthropic") is None:
        how = "pip install 'maas[anthropic]' (in a checkout: make anthropic)"
        raise MaasError("missing_package", f"anthropic:{name} needs the package anthropic: {how}, or {alternative}")
    key, base_url = settings.anthropic_api_key, settings.anthropic_base_url
    if key is None and base_url is None:
        what = "ANTHROPIC_API_KEY (or ANTHROPIC_BASE_URL for a compatible server that needs no key)"
        raise _missing_key("anthropic", name, what, alternative)
    return key.get_secret_value() if key else "none", base_url


def _missing_key(provider: str, name: str, what: str, alternative: str) -> MaasError:
    return MaasError(
        "missing_key", f"{provider}:{name} needs {what}; set it in the environment or .env, or {alternative}"
    )


@dataclass(frozen=True, slots=True)
class ProviderErrors:
    """Makes the ModelErrors of one model, `spec` being its `provider:model`; its `secret` is masked in every cause."""

    spec: str
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        hide(self.secret)

    def failure(self, code: ErrorCode, cause: str, *, retryable: bool = False) -> ModelError:
        """Return a ModelError whose message names the model and the cause."""
        return ModelError(code, f"{self.spec}: {self._tidy(cause)}", retryable=retryable)

    def of_status(self, status: int, cause: str, pause_s: float | None = None) -> ModelError:
        """Return a ModelError for an HTTP status; `pause_s` is the wait that the server asks for.

        408, 409, 429 and 5xx are retryable.
        """
        code, retryable = _CODES.get(status, ("provider_error", True) if status >= 500 else ("bad_request", False))
        message = f"{self.spec} answered {status}: {self._tidy(cause)}"
        return ModelError(code, message, retryable=retryable, retry_after=pause_s)

    def timeout(self, seconds: float) -> ModelError:
        """Return a ModelError for a call without an answer in time."""
        return self.failure("timeout", f"no answer within {seconds:.1f} s", retryable=True)

    def cut(self) -> ModelError:
        """Return a ModelError for a stream that ended early."""
        return self.failure("unreachable", "the stream ended before the reply was whole", retryable=True)

    def _tidy(self, cause: str) -> str:
        return shorten(one_line(mask(clean(cause))), MAX_CAUSE_CHARS) or "no reason given"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait that a server demands by retry-after-ms or Retry-After, in seconds; None without."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _seconds(float(milliseconds) / 1000)
        if not (value := headers.get("retry-after")):
            return None
        if value[:1].isdigit():
            return _seconds(float(value))
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(number: float) -> float | None:
    return number if math.isfinite(number) and number >= 0 else None
