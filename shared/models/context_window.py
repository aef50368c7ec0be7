"""Context windows: how providers say that a request is too long, and what a process has learnt about its models."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from shared import tokens
from shared.local_servers import Kind
from shared.models import Message, Model, ModelError, NamedModel, Refusal, Request

REPLY_SHARE = 4  # of a window at most a quarter is kept free for the reply
MESSAGE_TOKENS = 8  # of the marks around a message
LEARNT_SHARE = 0.95  # a refused request is longer than allowed, whatever was counted
_TOO_LONG = re.compile(
    r"context.?length|context.?window|context.?size|context.?limit|maximum model length|max(?:imum)?.context"
    r"|prompt is too long|input is too long|input token count|reduce the length|too many (?:input )?tokens"
    r"|must have less than \d+ tokens|inputs. tokens \+|tokens to keep from the initial prompt",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"(?:maximum context length (?:is|of)|context length (?:is|of)(?: only)?|context size \(|context length \("
    r"|context limit: \d+ \+ \d+ >|maximum model length of|model.s context length \(|context window of|tokens >"
    r"|tokens allowed \(|n_ctx\W{1,4}|less than|must be <=|longer than the maximum context of)\s*(\d+)",
    re.IGNORECASE,
)
_SENT = re.compile(
    r"\((\d+) (?:tokens )?in the (?:messages|prompt)|(?<!\d)(\d{1,9}) tokens from the input|has (\d+) input tokens"
    r"|resulted in (\d+) tokens|n_prompt_tokens\W{1,4}(\d+)|request \((\d+) tokens\)|too long: (\d+) tokens"
    r"|token count \((\d+)\)|context limit: (\d+) \+|input length \((\d+)\)|prompt contains (\d+)"
    r"|the input \((\d+) tokens\)|total length (\d+)",
    re.IGNORECASE,
)


def read_refusal(cause: str) -> Refusal | None:
    """Return what the text of a provider's error says of a request that is too long; None for other errors."""
    if not _TOO_LONG.search(cause):
        return None
    window, sent = _WINDOW.search(cause), _SENT.search(cause)
    return Refusal(
        int(window[1]) if window else None,
        int(next(filter(None, sent.groups()))) if sent else None,
    )


@dataclass(frozen=True, slots=True)
class ServerWindow:
    """How many tokens a model reads and writes at most, as its server reports it.

    `kind` of its server, where that was recognised. `is_assumed`: the model is not loaded, so the usual number counts.
    `parameters` is the size of the model, None where the server does not say it.
    """

    tokens: int
    kind: Kind | None
    is_assumed: bool = False
    parameters: float | None = None


@runtime_checkable
class ServedModel(Protocol):
    """A model of a server at home; `kind` is None for a server whose URL does not tell it."""

    kind: Kind | None

    async def window(self) -> ServerWindow | None:
        """Return the context window that the server reports, None where it reports none."""
        ...


async def reported_window(model: NamedModel) -> int | None:
    """Return the window that the server of a model reports; None for a vendor's, or a server of an unknown kind.

    Ollama cuts off the beginning of a longer request, and says nothing. A gateway would have to be asked in many ways.
    """
    if getattr(model, "kind", None) is None or not isinstance(model, ServedModel):  # the second alone takes 70 µs
        return None
    window = await model.window()
    return None if window is None else window.tokens


@dataclass(slots=True)
class Limits:
    """What one model takes: its `window` in its own tokens, `request_tokens` in those of `shared.tokens`."""

    window: int | None = None
    request_tokens: int | None = None


_learnt: WeakKeyDictionary[Model, Limits] = WeakKeyDictionary()


def count_request(request: Request) -> int:
    """Estimate the tokens of everything that a request sends."""
    texts = [request.system, *map(_text, request.messages)]
    schemas = [tool.parameters for tool in request.tools]
    texts += [f"{tool.name} {tool.description}" for tool in request.tools]
    texts += [json.dumps(dict(one), ensure_ascii=False) for one in (*schemas, request.json_schema) if one]
    return sum(tokens.count(text) + MESSAGE_TOKENS for text in texts if text)


def _text(message: Message) -> str:
    return " ".join((message.text, *(f"{call.name} {call.arguments}" for call in message.calls)))


def reply_tokens(window: int | None, max_tokens: int) -> int:
    """Return the tokens that a reply may have: `max_tokens`, but no more than its share of the window."""
    return max_tokens if window is None else min(max_tokens, max(window // REPLY_SHARE, 1))


def request_limit(model: Model, max_tokens: int, window: int | None = None) -> int | None:
    """Return the most tokens of a request to `model`, learnt or by its configured `window`; None if nobody knows."""
    limits = _learnt.get(model, Limits())
    known = [] if limits.request_tokens is None else [limits.request_tokens]
    if window is not None:
        known.append(tokens.within(window - reply_tokens(window, max_tokens), model.provider))
    return min(known, default=None)


def window_of(model: Model, window: int | None = None) -> int | None:
    """Return the window of `model` in its tokens: the configured one, the learnt one, whichever is smaller."""
    known = [one for one in (window, _learnt.get(model, Limits()).window) if one is not None]
    return min(known, default=None)


def learn(model: Model, request: Request, error: ModelError, share: float = LEARNT_SHARE) -> None:
    """Remember for this process what a refusal of `request` says about the limits of `model`.

    Where it names no window, `share` of the refused request is taken for the limit.
    """
    counted = count_request(request)
    limits = _learnt.setdefault(model, Limits())
    allowed = int(counted * share)
    if (refusal := error.refusal) is not None and refusal.window is not None:
        limits.window = refusal.window
        allowed = refusal.window - reply_tokens(refusal.window, request.max_tokens)
        if refusal.sent:
            allowed = allowed * counted // refusal.sent
    limits.request_tokens = min(allowed, int(counted * LEARNT_SHARE))
