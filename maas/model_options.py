"""Options of models by role and name: what MAAS_MODELS says beside the settings of roles and providers.

MAAS_MODELS is a JSON list, or a file with one. An entry names a `role`, a `model` (`provider:model`, `*` stands for any
text) or both, and options; it holds for every call that fits. A later entry goes before an earlier one, and every entry
before the other settings and before the limits of assistants.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError

from maas.settings import Settings
from maas.settings.models import ROLE_NAMES, attempt_setting
from shared.errors import MaasError, problems_of
from shared.log import hide
from shared.models.options import JsonSchema, ModelOptions, answers_one_at_a_time, is_own_server

LEAST_TOKENS_PER_S = 1.0  # of a server of one's own that streams
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
Seconds = Annotated[float | None, Field(gt=0)]


class _Entry(BaseModel):
    """An entry of MAAS_MODELS; what it leaves out is as it was."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Literal["analyzer", "assembler", "responder", "archivist", "compactor"] | None = None
    model: Annotated[str | None, Field(min_length=1)] = None
    base_url: Annotated[str | None, Field(pattern=r"^https?://[^\s/]")] = None
    api_key: str | None = None
    attempt_timeout: Seconds = None
    first_token_timeout: Seconds = None
    tokens_per_second: Annotated[float | None, Field(gt=0)] = None
    tries: Annotated[int | None, Field(ge=1, le=10)] = None
    breaker_failures: Annotated[int | None, Field(ge=0, le=100)] = None
    calls: Annotated[int | None, Field(ge=1, le=10_000)] = None
    requests_per_minute: Annotated[float | None, Field(gt=0, le=1e9)] = None
    tokens_per_minute: Annotated[float | None, Field(gt=0, le=1e12)] = None
    window: Annotated[int | None, Field(ge=256)] = None
    json_schema: JsonSchema | None = None
    text_calls: bool | None = None

    def fits(self, role: str, spec: str) -> bool:
        is_role = self.role is None or self.role in ROLE_NAMES.get(role, ())
        return is_role and (self.model is None or fnmatchcase(spec, self.model))


_OPTIONS = frozenset(field.name for field in fields(ModelOptions)) & _Entry.model_fields.keys()


def options_of(settings: Settings, role: str, spec: str) -> ModelOptions:
    """Return the options of `provider:model` in a role. Raises MaasError('bad_setting') for a wrong MAAS_MODELS."""
    provider = spec.partition(":")[0]
    defaults = ModelOptions(
        base_url=getattr(settings.providers, f"{provider}_base_url", None),
        api_key=getattr(settings.providers, f"{provider}_api_key", None),
        attempt_timeout=settings.models.role_attempt_timeout(role),
    )
    has_own_timeout, is_at_home = settings.models.has_own_attempt_timeout(role), settings.profile != "cloud"
    return _options_of(settings.models.models or "", role, spec, defaults, has_own_timeout, is_at_home)


@lru_cache(maxsize=256)  # asked for at every call of a model
def _options_of(
    models: str, role: str, spec: str, defaults: ModelOptions, has_own_timeout: bool, is_at_home: bool
) -> ModelOptions:
    """Return what the entries of `models` make of `defaults`, whose `attempt_timeout` is that of the role."""
    provider = spec.partition(":")[0]
    own: dict[str, Any] = {}
    for entry in read_entries(models):
        if entry.fits(role, spec):
            # A key is for the server that it was set beside, and goes to no other.
            own |= {"api_key": None} if entry.base_url is not None else {}
            own |= {name: one for name in _OPTIONS if (one := getattr(entry, name)) is not None}
    key = own.get("api_key")
    options = replace(defaults, **own | ({"api_key": SecretStr(key)} if isinstance(key, str) else {}))
    options = replace(options, is_own_server=is_own_server(provider, options.base_url))
    if options.calls is None and is_at_home and answers_one_at_a_time(provider, options.base_url):
        options = replace(options, calls=1)  # a second one would only make the first one slower
    # Times that MAAS_MODELS leaves out: a slow server of one's own may use the time of its stage.
    if "attempt_timeout" in own:
        return replace(options, attempt_source="attempt_timeout in MAAS_MODELS")
    if "first_token_timeout" in own or "tokens_per_second" in own:
        return replace(options, attempt_timeout=None)
    if options.is_own_server and not has_own_timeout:
        return replace(options, attempt_timeout=None, tokens_per_second=LEAST_TOKENS_PER_S)
    return replace(options, attempt_source=attempt_setting(role))


@lru_cache(maxsize=8)
def read_entries(text: str) -> tuple[_Entry, ...]:
    """Parse MAAS_MODELS, JSON or the path of a file. `${NAME}` is replaced from the environment. Raises MaasError."""
    if not text.strip():
        return ()
    try:
        raw = text if text.lstrip().startswith("[") else Path(text).read_text(encoding="utf-8")
        entries = TypeAdapter(tuple[_Entry, ...]).validate_python(json.loads(_VARIABLE.sub(_from_environment, raw)))
    except OSError as error:
        raise MaasError("bad_setting", f"MAAS_MODELS: {text!r} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        problem = problems_of(error)[0]
        raise MaasError("bad_setting", f"MAAS_MODELS: {problem}") from error
    except ValueError as error:
        raise MaasError("bad_setting", f"MAAS_MODELS is not a JSON list: {error}") from error
    for entry in entries:
        hide(entry.api_key or "")
    return entries


def _from_environment(found: re.Match[str]) -> str:
    if (value := os.environ.get(found[1])) is None:
        raise MaasError("bad_setting", f"MAAS_MODELS names the variable {found[1]}, which is not set")
    return json.dumps(value)[1:-1]
