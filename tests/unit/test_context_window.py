"""What providers say of a request that is too long, and what is made of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from maas.prompting.memory_room import fit_request
from shared.models import Message, ModelError, Piece, Refusal, Reply, Request
from shared.models.context_window import count_request, learn, read_refusal, request_limit
from shared.models.retry import ProviderErrors

REFUSALS = {
    "openai": (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please "
        "reduce the length of the messages.",
        Refusal(8192, 9001),
    ),
    "openai, newer": ("Your input exceeds the context window of this model. Please adjust your input.", Refusal()),
    "openai, code alone": ("too long {'code': 'context_length_exceeded'}", Refusal()),
    "vllm": (
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (3000 in the messages, "
        "2000 in the completion).",
        Refusal(4096, 3000),
    ),
    "vllm, newer": (
        "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 "
        "tokens and your request has 3000 input tokens (2000 > 4096 - 3000).",
        Refusal(4096, 3000),
    ),
    "vllm, input": (
        "The decoder prompt (total length 5001) is longer than the maximum model length of 4096.",
        Refusal(4096, 5001),
    ),
    "llama.cpp": (
        "request (40030 tokens) exceeds the available context size (16384 tokens), try increasing it",
        Refusal(16384, 40030),
    ),
    "llama.cpp, older": (
        "the request exceeds the available context size. try increasing the context size or enable context shift "
        "{'n_prompt_tokens': 5000, 'n_ctx': 4096}",
        Refusal(4096, 5000),
    ),
    "ollama": ("the input length exceeds the context length", Refusal()),
    "lm studio": (
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        Refusal(),
    ),
    "sglang": (
        "The input (5001 tokens) is longer than the model's context length (4096 tokens).",
        Refusal(4096, 5001),
    ),
    "gemini": (
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        Refusal(1048576, 1200000),
    ),
    "anthropic": ("prompt is too long: 205000 tokens > 200000 maximum", Refusal(200000, 205000)),
    "anthropic, with the reply": (
        "input length and `max_tokens` exceed context limit: 198000 + 8000 > 200000, decrease input length or "
        "`max_tokens` and try again",
        Refusal(200000, 198000),
    ),
    "bedrock": ("Input is too long for requested model.", Refusal()),
    "mistral": (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        Refusal(None, 40000),
    ),
}
FACTS = "\n".join(f"Fact {number}: herons like water." for number in range(500))
AFTER = "\n\n<context>\n{}\n</context>"
LONG = Request(
    "FinalResponder", (Message("user", "How many herons?"),), f"Rules.\n\n<memory>\n{FACTS}\n</memory>{AFTER}"
)


class Narrow:
    """A model; what it has refused is told to `learn`."""

    provider = "openai"
    name = "narrow"

    async def complete(self, request: Request, timeout: float) -> Reply:
        return Reply("yes")

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        yield await self.complete(request, timeout)

    async def close(self) -> None: ...


def refused(cause: str, status: int = 400) -> ModelError:
    return ProviderErrors("openai:narrow", "").of_status(status, cause)


@pytest.mark.parametrize(("cause", "refusal"), REFUSALS.values(), ids=REFUSALS)
def test_wordings(cause: str, refusal: Refusal) -> None:
    assert read_refusal(cause) == refusal
    error = refused(cause)
    assert (error.code, error.retryable, error.refusal) == ("context_exceeded", False, refusal)


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (400, "max_tokens is too large: 5000. This model supports at most 4096 completion tokens."),
        (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        (429, "Rate limit reached: too many tokens per minute"),
        (401, "maximum context length"),
        (400, "Invalid schema for response_format"),
    ],
)
def test_other_refusals(status: int, cause: str) -> None:
    assert refused(cause, status).code != "context_exceeded"


@pytest.mark.parametrize("cause", ["context_length_exceeded", REFUSALS["llama.cpp"][0].replace("16384", "2048")])
async def test_memory_is_cut_to_what_the_model_takes(cause: str) -> None:
    """Rules, context and question stay; the reply gets a share of a small window."""
    model = Narrow()
    assert await fit_request(model, LONG) == LONG
    learn(model, LONG, refused(cause))
    limit = request_limit(model, LONG.max_tokens)
    fitting = await fit_request(model, LONG)
    assert limit is not None and count_request(fitting) <= limit < count_request(LONG)
    assert fitting.system.startswith("Rules.\n\n<memory>\nFact 0: herons like water.\n")
    assert fitting.system.endswith("\n</memory>\n\n<context>\n{}\n</context>")
    assert fitting.messages == LONG.messages
    assert fitting.max_tokens == (512 if "2048" in cause else LONG.max_tokens)


async def test_without_room_memory_is_left_out() -> None:
    model = Narrow()
    learn(model, LONG, refused("request (9000 tokens) exceeds the available context size (64 tokens)"))
    assert (await fit_request(model, LONG)).system == "Rules.\n\n\n\n<context>\n{}\n</context>"


async def test_a_stage_without_memory_is_refused_before_it_is_sent() -> None:
    model = Narrow()
    request = Request("Analyzer", (Message("user", "heron " * 1000),))
    learn(model, request, refused("context_length_exceeded"))
    with pytest.raises(ModelError, match=r"openai:narrow takes \d+ tokens, this request has about \d+") as caught:
        await fit_request(model, request)
    assert caught.value.code == "context_exceeded"


async def test_a_configured_window() -> None:
    fitting = await fit_request(Narrow(), LONG, window=1000)
    assert count_request(fitting) <= 750 and fitting.max_tokens == 250
