"""What can be wrong with a request of A2A: JSON-RPC's errors and those of the protocol."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

INFO = "type.googleapis.com/google.rpc.ErrorInfo"


class Code(IntEnum):
    """The code of an error; its name is the reason that clients read."""

    JSON_PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    TASK_NOT_FOUND = -32001
    TASK_NOT_CANCELABLE = -32002
    UNSUPPORTED_OPERATION = -32004
    CONTENT_TYPE_NOT_SUPPORTED = -32005
    VERSION_NOT_SUPPORTED = -32009


class A2AError(Exception):
    """An error that is answered by JSON-RPC."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def to_json(self) -> dict[str, Any]:
        """Return the error object of a response."""
        info = {"@type": INFO, "reason": self.code.name, "domain": "a2a-protocol.org", "metadata": {}}
        return {"code": int(self.code), "message": self.message, "data": [info]}


def task_not_found(task_id: str) -> A2AError:
    """Return the error for a task that is not there, or not of this user."""
    return A2AError(Code.TASK_NOT_FOUND, f"there is no task {task_id[:80]!r}")


def unsupported(problem: str) -> A2AError:
    """Return the error for an operation that this server, or the state of the task, does not allow."""
    return A2AError(Code.UNSUPPORTED_OPERATION, problem)
