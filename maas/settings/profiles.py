"""Profiles of models: what settings are unless somebody sets them, for hosted models, models at home, small ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from shared.local_servers import SERVERS, is_own

ProfileName = Literal["cloud", "local", "small"]
BUILTIN_MODEL = "extractive:builtin"  # answers by rules, without a server
MAX_SMALL_PARAMETERS = 4.5e9
_SIZE = re.compile(r"(?<![\d.])(\d{1,4}(?:\.\d{1,3})?)\s?([bm])(?![a-z])", re.IGNORECASE)
_FACTORS = {"b": 1e9, "m": 1e6}

# Times in seconds; an attempt of a model at home may take all the time that its stage has.
_AT_HOME: dict[str, object] = {
    "analyzer_timeout": 60.0,
    "assembler_timeout": 60.0,
    "archivist_timeout": 240.0,
    "responder_timeout": 600.0,
    "openai_wait": 600.0,
    "fast_path": True,
    "facts": "rules",  # the Archivist would write four times as much, and small models write down what is no fact
}
PROFILES: Mapping[ProfileName, Mapping[str, object]] = {
    "cloud": {},
    "local": _AT_HOME,
    # A small model answers, and rules do what it does worse than they; it reads and writes no more than it can in time.
    "small": {
        **_AT_HOME,
        "analyzer_model": BUILTIN_MODEL,
        "assembler_model": BUILTIN_MODEL,
        "archivist_model": BUILTIN_MODEL,
        "payload_tokens": 2500,
        "result_tokens": 2500,
        "max_tokens": 700,
    },
}


def choose_profile(model: str, openai_base_url: str | None) -> ProfileName:
    """Return the profile for the model that answers, `provider:model`, by its server and the size in its name."""
    if not is_at_home(model, openai_base_url):
        return "cloud"
    size = parameters_in(model.partition(":")[2])
    return "small" if size is not None and size <= MAX_SMALL_PARAMETERS else "local"


def is_at_home(model: str, openai_base_url: str | None) -> bool:
    """Whether `provider:model` is served by a server of one's own."""
    provider = model.partition(":")[0].strip()
    return provider in SERVERS or (provider == "openai" and is_own(openai_base_url))


def parameters_in(name: str) -> float | None:
    """Return the number of parameters that the name of a model tells: 1.5e9 for `qwen2.5-coder:1.5b`."""
    sizes = [float(number) * _FACTORS[unit.lower()] for number, unit in _SIZE.findall(name)]
    return max(sizes, default=None)
