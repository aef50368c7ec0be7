"""What a client of AG-UI sends: the input of a run."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field, StrictBool, model_validator

from maas.conversations import Mode
from maas.http.chats import MAX_MESSAGES
from maas.http.schemas import JsonObject, Name, Schema

MAX_PARTS = 500
MAX_RESUMED = 50
Parts = Annotated[list[dict[str, Any]], Field(max_length=MAX_PARTS)]


class AgentMessage(Schema):
    """A message of AG-UI; of all but the user's last one nothing is read."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[str, Field(max_length=200)]
    role: Literal["developer", "system", "assistant", "user", "tool", "activity", "reasoning"]
    content: str | Parts | dict[str, Any] | None = Field(
        None, description="Text, or parts of the types `text` and `image` (with a source of the type `data`)."
    )


class Verdict(Schema):
    """The answer to an interrupt, as its `responseSchema` wants it."""

    model_config = ConfigDict(extra="allow")

    approved: StrictBool
    edited_args: JsonObject | None = Field(
        None, alias="editedArgs", description="Arguments to execute instead of those that were proposed."
    )


class ResumeEntry(Schema):
    """The answer to one interrupt."""

    model_config = ConfigDict(extra="allow")

    interrupt_id: UUID = Field(alias="interruptId")
    status: Literal["resolved", "cancelled"] = Field(description="cancelled rejects the action.")
    payload: Verdict | None = Field(None, description="What was decided, of one that is resolved.")
    metadata: dict[str, Any] | None = Field(
        None, description="`fingerprint`: that of the action as it was shown; nothing else is decided then."
    )

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.status == "resolved" and self.payload is None:
            raise ValueError("payload is required: {approved: true or false}")
        return self


class Wishes(Schema):
    mode: Mode | None = Field(None, description="The mode of this request; by default the conversation's.")
    marks: StrictBool | None = Field(None, description="Whether the answer cites memories by [numbers].")


class ForwardedProps(Schema):
    model_config = ConfigDict(extra="allow")

    maas: Wishes | None = None


class AgentInput(Schema):
    """What `HttpAgent` sends: the last message of the user is the query, and MaaS adds history and memory."""

    model_config = ConfigDict(extra="allow")

    thread_id: Name = Field(
        alias="threadId", description="The UUID of a conversation, or any text, which is one of this user."
    )
    run_id: Name = Field(alias="runId", description="The same run of a thread again is the same request.")
    messages: list[AgentMessage] = Field(max_length=MAX_MESSAGES)
    forwarded_props: ForwardedProps | None = Field(None, alias="forwardedProps")
    resume: list[ResumeEntry] | None = Field(
        None, max_length=MAX_RESUMED, description="Answers to the interrupts of a run; messages are not read then."
    )
    user: Name | None = Field(None, description="The user, by any text of 1 to 200 characters; else X-MaaS-User.")
