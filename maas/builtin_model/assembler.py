"""The built-in Assembler: chooses all lines of memory, or those that fit where a prompt asks for a text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maas.prompting.trimming import condense


def assemble(inputs: Mapping[str, Any]) -> str:
    """Keep all `labels`, from which the stage takes what fits; or, for a prompt that asks for a text, return the part
    of `memory` (escaped lines) that fits into `max_tokens`."""
    if "labels" in inputs:
        return json.dumps({"keep": list(inputs["labels"])}, ensure_ascii=False)
    return condense(inputs["memory"], int(inputs["max_tokens"]))
