"""The links of the OpenAPI document: which operations take the ids that an operation returns."""

from __future__ import annotations

from typing import Any

_RUN_OPERATIONS = ("get_run", "get_events", "get_trace", "post_cancel", "post_retry")
_CONVERSATION_OPERATIONS = ("get_conversation", "post_clear", "get_messages")
_MEMORY_OPERATIONS = ("get_memory", "get_sources", "delete_memory")
_ATTACHMENT_OPERATIONS = ("get_attachment", "get_content", "delete_attachment")
_USER_OPERATIONS = ("get_runs", "get_memories", "get_actions")
_RESPONSE_BODY = "$response.body#/"
_SENT_USER = "$request.body#/user_id"

# Operation -> (pointer into its response, the operations that take the value there as {id}).
ID_LINKS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "post_run": (("request_id", _RUN_OPERATIONS),),
    "post_press": (("request_id", _RUN_OPERATIONS),),
    "post_memories": (("request_id", _RUN_OPERATIONS), ("raw_log_ids/0", _MEMORY_OPERATIONS)),
    "post_import": (("run_ids/0", ("get_run",)),),
    "post_conversation": (("id", _CONVERSATION_OPERATIONS),),
    "post_attachment": (("id", _ATTACHMENT_OPERATIONS),),
    "post_search": (("results/0/id", _MEMORY_OPERATIONS),),
    "get_memories": (("results/0/id", _MEMORY_OPERATIONS),),
    "get_runs": (("results/0/request_id", _RUN_OPERATIONS),),
    "get_actions": (("results/0/id", ("get_action",)),),
    "post_approve": (("action_run_id", ("get_run",)),),
}
OPERATIONS_WITH_USER = ("post_run", "post_memories", "post_conversation")
BODY_LINKS = {
    "post_run": ("post_press", "request_id", {"user_id": _SENT_USER, "button": "confirm"}),
    "post_conversation": ("patch_conversation", "id", {"title": "Another title"}),
}


def links_of(operation: str) -> dict[str, Any]:
    """Return the links of an operation's response to the operations that take its ids."""
    links: dict[str, Any] = {}
    for pointer, targets in ID_LINKS.get(operation, ()):
        for target in targets:
            parameters = {"path.id": f"{_RESPONSE_BODY}{pointer}"}
            if target in _ATTACHMENT_OPERATIONS:
                parameters["query.user_id"] = _SENT_USER
            links[f"{target}_of_{pointer.partition('/')[0]}"] = {"operationId": target, "parameters": parameters}
    if operation in OPERATIONS_WITH_USER:
        for target in _USER_OPERATIONS:
            links[f"{target}_of_user"] = {"operationId": target, "parameters": {"query.user_id": _SENT_USER}}
    if operation in BODY_LINKS:
        target, pointer, body = BODY_LINKS[operation]
        parameters = {"path.id": f"{_RESPONSE_BODY}{pointer}"}
        links[target] = {"operationId": target, "parameters": parameters, "requestBody": body}
    return links
