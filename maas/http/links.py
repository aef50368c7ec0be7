"""Where a reply leads: which doors take the ids that it holds."""

from __future__ import annotations

from typing import Any

_RUN = ("get_run", "get_events", "get_trace", "post_cancel", "post_retry")
_DIALOGUE = ("get_conversation", "post_clear", "get_messages")
_MEMORY = ("get_memory", "get_sources", "delete_memory")
_IMAGE = ("get_attachment", "get_content", "delete_attachment")
_USER = ("get_runs", "get_memories", "get_actions")
_ID = "$response.body#/"
_SENT = "$request.body#/user_id"

# Handler -> (pointer into its reply, the doors that take what stands there as {id}).
IDS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "post_run": (("request_id", _RUN),),
    "post_press": (("request_id", _RUN),),
    "post_memories": (("request_id", _RUN), ("raw_log_ids/0", _MEMORY)),
    "post_import": (("run_ids/0", ("get_run",)),),
    "post_conversation": (("id", _DIALOGUE),),
    "post_attachment": (("id", _IMAGE),),
    "post_search": (("results/0/id", _MEMORY),),
    "get_memories": (("results/0/id", _MEMORY),),
    "get_runs": (("results/0/request_id", _RUN),),
    "get_actions": (("results/0/id", ("get_action",)),),
    "post_approve": (("action_run_id", ("get_run",)),),
}
# Handlers whose body names a user -> the doors that list what this user has.
USERS = {name: _USER for name in ("post_run", "post_memories", "post_conversation")}
BODIES = {
    "post_run": ("post_press", "request_id", {"user_id": _SENT, "button": "confirm"}),
    "post_conversation": ("patch_conversation", "id", {"title": "Another title"}),
}


def links_of(name: str) -> dict[str, Any]:
    """The links of a handler's reply, by name."""
    links: dict[str, Any] = {}
    for pointer, doors in IDS.get(name, ()):
        for door in doors:
            parameters = {"path.id": f"{_ID}{pointer}"}
            if door in _IMAGE:
                parameters["query.user_id"] = _SENT
            links[f"{door}_of_{pointer.partition('/')[0]}"] = {"operationId": door, "parameters": parameters}
    for door in USERS.get(name, ()):
        links[f"{door}_of_user"] = {"operationId": door, "parameters": {"query.user_id": _SENT}}
    if name in BODIES:
        door, pointer, body = BODIES[name]
        parameters = {"path.id": f"{_ID}{pointer}"}
        links[door] = {"operationId": door, "parameters": parameters, "requestBody": body}
    return links
