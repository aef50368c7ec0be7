"""What to do about a failure of a model server at home: one sentence for each cause and kind of server."""

from __future__ import annotations

import re
from typing import Literal

from shared.local_servers import SERVERS, Kind

Cause = Literal["absent", "missing", "loading", "context", "tools", "memory"]
_CAUSES: dict[Cause, re.Pattern[str]] = {
    "tools": re.compile(r"support tools|tools? param|tool.?choice|--jinja|tool-call-parser", re.IGNORECASE),
    "context": re.compile(r"context.(?:size|length|window)|n_ctx|context (?:the )?overflows", re.IGNORECASE),
    "memory": re.compile(r"more system memory|out of memory|insufficient memory|unable to allocate", re.IGNORECASE),
    "loading": re.compile(r"loading (?:the )?model|is (?:currently |still )?loading", re.IGNORECASE),
    "missing": re.compile(r"not found|no models? loaded|model is unloaded|does not exist", re.IGNORECASE),
}
_START = {
    "ollama": "ollama serve",
    "lmstudio": "lms server start",
    "llama": "llama-server -m FILE.gguf",
    "vllm": "vllm serve {name}",
}
_MISSING = {
    "ollama": "ollama pull {name}",
    "lmstudio": "lms load {name} (lms ls lists what is downloaded)",
    "llama": "start llama-server with it, or name the model that it has",
    "vllm": "vllm serve {name}",
}
_CONTEXT = {
    "ollama": "start Ollama with OLLAMA_CONTEXT_LENGTH=16384",
    "lmstudio": "load it with a larger window: lms load {name} --context-length 16384",
    "llama": "start llama-server with -c 16384, and -np 1 so that one request has all of it",
    "vllm": "start vLLM with a larger --max-model-len",
}
_TOOLS = {
    "ollama": "use a model whose capabilities list tools (ollama show {name})",
    "lmstudio": "use a model that LM Studio marks with the hammer",
    "llama": "start llama-server with --jinja",
    "vllm": "start vLLM with --enable-auto-tool-choice and --tool-call-parser",
}


def cause_of(code: str, message: str) -> Cause | None:
    """Return the cause of a ModelError as far as these servers have one of their own."""
    if code == "unreachable":
        return "loading" if _CAUSES["loading"].search(message) else "absent"
    if code == "context_exceeded":
        return "context"
    if code in ("bad_request", "unknown_model", "provider_error"):
        found = next((cause for cause, pattern in _CAUSES.items() if pattern.search(message)), None)
        return found or ("missing" if code == "unknown_model" else None)
    return None


def remedy_of(cause: Cause, kind: Kind | None, name: str) -> str:
    """Return what to do; `kind` is None for a server that was not recognised."""
    match cause:
        case "absent":
            if kind is None:
                return "start the server, or correct OPENAI_BASE_URL"
            text = f"start {SERVERS[kind].title} ({_START[kind]}), or correct {SERVERS[kind].variable}"
        case "missing":
            text = _MISSING[kind] if kind else "correct its name, or load it into the server"
        case "loading":
            text = "wait until it is loaded"
        case "context":
            text = _CONTEXT[kind] if kind else "give the server a larger context window"
            text += ", or lower MAAS_PAYLOAD_TOKENS and MAAS_MAX_TOKENS"
        case "tools":
            text = _TOOLS[kind] if kind else "use a model that supports tools"
            text += ", or an assistant without tools"
        case "memory":
            text = "use a smaller model or a smaller context window"
    return text.format(name=name)
