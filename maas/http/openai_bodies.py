"""What clients of OpenAI's Chat Completions send and get, as far as it means anything here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field

from maas.http.bodies import Source
from maas.http.shapes import Shape
from maas.pipeline.completions import Completion, Spent


def _only(*values: Any, why: str) -> Any:
    """A parameter that would silently do something else than it says with any other value."""
    return Field(None, description=why, json_schema_extra={"enum": [None, *values]})


_METADATA = (
    "`conversation_id` is a UUID, a new one opens a dialogue; `remember` is on or off, as the header X-MaaS-Remember"
)


class Lenient(Shape):
    model_config = ConfigDict(extra="allow")


class ChatMessage(Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = Field(
        None, description="text, or parts of the types `text` and `image_url` (data: URLs of JPEG, PNG or WebP images)"
    )


class StreamOptions(Lenient):
    include_usage: bool | None = None


class ChatRequest(Lenient):
    """Whatever is not named here is accepted and has no effect; the reply lists it in `maas.ignored`."""

    model: str = Field(description="name of an assistant; GET /v1/models lists them")
    messages: list[ChatMessage] = Field(
        min_length=1,
        description="the last one, of the user, is the query; the system's are added to the role of the "
        "assistant, earlier ones that MaaS does not have to its memory, for this answer only",
    )
    user: str | None = Field(None, description="whose memory it is; any text of 1 to 200 characters")
    safety_identifier: str | None = Field(None, description="the same, where there is no `user`")
    metadata: dict[str, Any] | None = Field(None, description=_METADATA)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Any = _only(1, why="there is one answer")
    tool_choice: Any = _only("none", "auto", why="an assistant calls tools of its own, never those of the client")
    function_call: Any = _only("none", "auto", why="an assistant calls tools of its own, never those of the client")
    response_format: Any = _only({"type": "text"}, why="an answer is text")
    modalities: Any = _only(["text"], why="an answer is text")
    audio: Any = _only(why="an answer is text")
    logprobs: Any = _only(False, why="probabilities are not known")
    top_logprobs: Any = _only(0, why="probabilities are not known")
    stop: Any = _only([], why="an answer is remembered as it is said, so it is never cut")
    web_search_options: Any = _only(why="an assistant calls tools of its own, never those of the client")


class PromptDetails(Shape):
    cached_tokens: int


class Usage(Shape):
    """Of all model calls that made the answer."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails

    @classmethod
    def of(cls, spent: Spent) -> Self:
        return cls(
            prompt_tokens=spent.tokens_in, completion_tokens=spent.tokens_out,
            total_tokens=spent.tokens_in + spent.tokens_out,
            prompt_tokens_details=PromptDetails(cached_tokens=spent.tokens_cached),
        )  # fmt: skip


class WaitingAction(Shape):
    id: UUID = Field(description="POST /v1/actions/{id}/approve or /reject")
    tool: str
    arguments: dict[str, Any]
    expires_at: datetime


class Given(Shape):
    """What MaaS adds to a reply."""

    request_id: UUID = Field(description="the run: GET /v1/runs/{id}")
    conversation_id: UUID | None
    sources: list[Source] = Field(description="what memory was looked at for the answer")
    usage_is_estimated: bool = Field(description="no model counted the tokens: we did")
    ignored: list[str] = Field(
        description="parameters of the request that had no effect; X-MaaS-Ignored names them, too"
    )
    degraded: list[str] = Field(description="stages that finished by rule, since their model did not answer")
    actions: list[WaitingAction] = Field(description="what the assistant would do, and waits for a word of the user")

    @classmethod
    def of(cls, done: Completion, ignored: Sequence[str]) -> Self:
        return cls(
            request_id=done.run_id, conversation_id=done.conversation_id,
            sources=[Source(**one) for one in done.sources], usage_is_estimated=done.spent.is_estimated,
            ignored=list(ignored), degraded=list(done.degraded),
            actions=[WaitingAction(**one) for one in done.actions],
        )  # fmt: skip


class ChatAnswer(Shape):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(Shape):
    index: Literal[0] = 0
    message: ChatAnswer
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class ChatCompletion(Shape):
    id: str = Field(description="chatcmpl- and the id of the run")
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    maas: Given


class OpenAIModel(Shape):
    id: str = Field(description="name of an assistant")
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["maas"] = "maas"


class OpenAIModels(Shape):
    object: Literal["list"] = "list"
    data: list[OpenAIModel]


class Problem(Shape):
    message: str
    type: str = Field(description="invalid_request_error, not_found_error, rate_limit_error, server_error, ...")
    param: str | None = None
    code: str | None = None


class OpenAIError(Shape):
    error: Problem
