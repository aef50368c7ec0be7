"""Requests of A2A: a call of JSON-RPC, and the parameters of each method. Other fields have no effect."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, StrictBool

from maas.http.request_input import CURSOR_PATTERN, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from maas.http.schemas import JsonObject, Name, OccurredAt, Schema, StorableText
from maas.http.webhooks import WebhookUrl

MAX_PARTS = 500
TaskState = Literal[
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
]
Id = Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")]
HeaderValue = Annotated[str, Field(max_length=4000, pattern=r"^([!-~]([ -~]*[!-~])?)?$")]
RpcId = Annotated[str, Field(strict=True, max_length=200)] | Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]


class Lenient(Schema):
    """Fields have the names of ProtoJSON: those of JSON, and those of the definition of the protocol."""

    model_config = ConfigDict(extra="allow", validate_by_name=True)


class RpcRequest(Lenient):
    """A call of a method of A2A 1.0, by JSON-RPC 2.0."""

    jsonrpc: Literal["2.0"]
    id: RpcId | None = None
    method: Annotated[str, Field(max_length=100)]
    params: dict[str, Any] | None = Field(None, description="The parameters of the method, as A2A 1.0 defines them.")


class RpcResponse(Schema):
    jsonrpc: Literal["2.0"] = "2.0"
    id: str | int | None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Refusal(Lenient):
    code: int | str
    message: str


class RpcError(Lenient):
    """The error of a request that is no call of JSON-RPC, or that may not be made."""

    error: Refusal


class Part(Lenient):
    """One of `text`, `raw` (base64), `url` and `data`."""

    text: str | None = None
    raw: str | None = None
    url: str | None = None
    data: Any = None
    media_type: Annotated[str, Field(max_length=200)] = Field("", alias="mediaType")


class A2AMessage(Lenient):
    message_id: Name = Field(alias="messageId")
    context_id: Id = Field("", alias="contextId")
    task_id: Id = Field("", alias="taskId")
    role: Literal["ROLE_USER"]
    parts: list[Part] = Field(min_length=1, max_length=MAX_PARTS)


class Authentication(Lenient):
    scheme: Annotated[str, Field(max_length=50, pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
    credentials: HeaderValue = ""


class PushConfig(Lenient):
    """Where the updates of a task are sent, and the headers by which the receiver knows the sender."""

    id: Id = ""
    url: WebhookUrl
    token: HeaderValue = ""
    authentication: Authentication | None = None


class TaskPushConfig(PushConfig):
    task_id: Id = Field(alias="taskId")


class PushParams(Lenient):
    task_id: Id = Field(alias="taskId")
    id: Id


class ListPushParams(Lenient):
    task_id: Id = Field(alias="taskId")


class SendConfiguration(Lenient):
    task_push_notification_config: PushConfig | None = Field(None, alias="taskPushNotificationConfig")
    history_length: int | None = Field(None, alias="historyLength", ge=0)
    return_immediately: StrictBool = Field(False, alias="returnImmediately")


class SendParams(Lenient):
    message: A2AMessage
    configuration: SendConfiguration | None = None


class TaskParams(Lenient):
    id: Id
    history_length: int | None = Field(None, alias="historyLength", ge=0)


class ListParams(Lenient):
    context_id: Id = Field("", alias="contextId")
    status: TaskState = "TASK_STATE_UNSPECIFIED"
    page_size: int = Field(DEFAULT_PAGE_SIZE, alias="pageSize", ge=1, le=MAX_PAGE_SIZE)
    page_token: str = Field("", alias="pageToken", pattern=f"{CURSOR_PATTERN}|^$")
    history_length: int | None = Field(None, alias="historyLength", ge=0)
    status_timestamp_after: OccurredAt | None = Field(None, alias="statusTimestampAfter")
    include_artifacts: StrictBool = Field(False, alias="includeArtifacts")


class DecisionPart(Lenient):
    """What the data part of a message decides: all actions that wait, or the one that is named."""

    approved: StrictBool
    action: UUID | None = None
    arguments: JsonObject | None = None
    fingerprint: StorableText | None = None
