"""What a tool is called with, as pydantic models; their schemas are what a model reads."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

LONGEST_WAIT = 300.0
WAIT = 50.0  # many clients give a call up after 60 s
Text = Annotated[str, Field(min_length=1, max_length=65_536)]
Wait = Annotated[float, Field(ge=0, le=LONGEST_WAIT)]


class Arguments(BaseModel):
    """Of every tool. Where the user is known, `user_id` is not offered."""

    model_config = ConfigDict(extra="forbid")

    user_id: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="Whose memory: a name that stays the same, such as an e-mail address or an account"
    )

    @classmethod
    def schema_for(cls, is_user_known: bool) -> dict[str, Any]:
        """The JSON Schema that is told to clients."""
        schema = cls.model_json_schema()
        properties = {name: _plain(one) for name, one in schema["properties"].items()}
        required = list(schema.get("required", []))
        if is_user_known:
            del properties["user_id"]
        else:
            required.insert(0, "user_id")
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class Ask(Arguments):
    query: Text = Field(description="The question or message of the user, in full")
    assistant: str = Field("mentor", min_length=1, max_length=50, description="Which assistant answers")
    conversation_id: UUID | None = Field(None, description="Goes on with this conversation; a new id begins one")
    wait: Wait = Field(WAIT, description="Seconds to wait for the answer; afterwards get_run goes on")


class GetRun(Arguments):
    request_id: UUID = Field(description="As ask or add_memory gave it")
    wait: Wait = Field(0.0, description="Seconds to wait for the answer, if there is none yet")


class AddMemory(Arguments):
    memory: Text = Field(description="One statement in the user's words, understandable by itself")
    at: AwareDatetime | None = Field(None, description="When it was said; now if not given")


class SearchMemories(Arguments):
    query: Text = Field(description="What is looked for: a question or words")
    limit: int = Field(10, ge=1, le=50, description="How many at most")
    since: AwareDatetime | None = Field(None, description="Only what was said then or later")
    until: AwareDatetime | None = Field(None, description="Only what was said before")


class GetContext(Arguments):
    query: Text = Field(description="What is to be answered")
    max_tokens: int = Field(2000, ge=50, le=100_000, description="How long the context may be")


class ListMemories(Arguments):
    limit: int = Field(20, ge=1, le=100, description="How many at most")
    before: str | None = Field(None, max_length=100, description="`next` of the page before")


class GetMemorySources(Arguments):
    memory_id: UUID = Field(description="As a search, a list or an answer gave it")


class DeleteMemory(Arguments):
    memory_id: UUID = Field(description="As a search or a list gave it")
    doubtful: bool = Field(False, description="Answers, too, that were given it and may not repeat it; now or later")


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the title that pydantic makes of the name, and without null, which stands for leaving it out."""
    kept = {name: value for name, value in schema.items() if name not in ("title", "anyOf")}
    if "anyOf" in schema:
        del kept["default"]
        kept |= schema["anyOf"][0]
    return kept
