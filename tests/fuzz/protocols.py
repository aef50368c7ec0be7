"""The ways of other people's clients: OpenAI's protocol and the Model Context Protocol, as JSON over HTTP."""

from __future__ import annotations

import json
import random
from typing import Any

import httpx2

from maas.http.authorize import Resource
from tests.fuzz.residents import Resident
from tests.fuzz.routes import QUESTION, Tried
from tests.mcp_wire import TASKS, McpWire

ACCEPT = {"Accept": "application/json, text/event-stream"}


class OpenAIRoute:
    """Chat completions in somebody's name, and in somebody's conversation."""

    name = "openai"

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def attempt(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        is_own = caller is owner
        in_talk = not is_own and draw.random() < 0.5
        body: dict[str, Any] = {
            "model": "mentor",
            "messages": [{"role": "user", "content": QUESTION["query"]}],
            "user": str((caller if in_talk else owner).user_id),
        }
        if in_talk:
            body["metadata"] = {"conversation_id": str(owner.things["conversation"])}
        if not is_own and draw.random() < 0.2:
            body["stream"] = True
        reply = self._client.post("/v1/chat/completions", json=body, headers=caller.headers)
        has_secret = owner.secret in reply.text
        is_read = has_secret if is_own else has_secret or reply.status_code < 300
        return Tried(
            f"completion {'in a conversation' if in_talk else 'as a user'}", is_read, f"{body} -> {reply.text}"
        )


class AgentRoute:
    """Tasks of A2A in somebody's name, and runs of AG-UI in somebody's name or conversation."""

    name = "agents"

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def attempt(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        is_own = caller is owner
        in_talk = not is_own and draw.random() < 0.3
        whose = caller if in_talk else owner
        if not in_talk and draw.random() < 0.5:
            body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
            path, target = "/v1/a2a/mentor", "tasks of a user"
        else:
            said = {"id": "m", "role": "user", "content": QUESTION["query"]}
            thread = str(owner.things["conversation"]) if in_talk else "safe"
            run = str(draw.getrandbits(64))
            body = {"threadId": thread, "runId": run, "messages": [said], "user": str(whose.user_id)}
            path, target = "/v1/ag-ui/mentor", "thread of a conversation" if in_talk else "thread of a user"
        headers = caller.headers | {"A2A-Version": "1.0", "X-MaaS-User": str(whose.user_id)}
        reply = self._client.post(path, json=body, headers=headers)
        has_secret = owner.secret in reply.text
        is_read = has_secret if is_own else has_secret or reply.status_code < 300
        return Tried(target, is_read, f"{path} {body} -> {reply.text}")


class McpRoute:
    """Every tool, every resource and every task, for somebody's user or with the id of somebody's thing."""

    name = "mcp"

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def attempt(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        (way,) = draw.choices((self._call, self._read, self._ask_about_task), (7, 2, 1))
        return way(draw, caller, owner)

    def _read(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        thing: Resource = draw.choice(("memory", "fact", "run"))
        uri = f"maas://{'runs' if thing == 'run' else 'memories'}/{owner.things[thing]}"
        claimed = {"x-maas-user": str(draw.choice((caller, owner)).user_id)} if caller.is_named else {}
        reply = self._send("resources/read", {"uri": uri}, caller.headers | claimed)
        is_read = _has_worked(reply) if caller is owner else owner.secret in reply.text or _has_worked(reply)
        return Tried(f"resource {thing}", is_read, f"{claimed} {uri} -> {reply.status_code} {reply.text[:500]}")

    def _ask_about_task(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        method = "get" if caller is owner else draw.choice(("get", "update", "cancel"))
        run = str(owner.things["run"])
        more: dict[str, Any] = {"inputResponses": {}} if method == "update" else {}
        claimed = {"x-maas-user": str(draw.choice((caller, owner)).user_id)} if caller.is_named else {}
        wire = McpWire(self._client, TASKS, caller.headers | claimed)
        reply = wire.post(f"tasks/{method}", run, taskId=run, **more)
        is_read = _has_worked(reply) or (caller is not owner and owner.secret in reply.text)
        return Tried(f"task {method}", is_read, f"{claimed} {run} -> {reply.status_code} {reply.text[:500]}")

    def _call(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        is_own = caller is owner
        memory = {"memory_id": str(owner.things["memory"])}
        reading: dict[str, dict[str, Any]] = {
            "search_memories": QUESTION,
            "get_context": QUESTION,
            "list_memories": {},
            "list_facts": {},
            "get_memory_sources": memory,
            "get_run": {"request_id": str(owner.things["run"])},
        }
        writing: dict[str, dict[str, Any]] = {
            "delete_memory": memory,
            "decide_fact": {"fact_id": str(owner.things["fact"]), "verdict": "wrong"},
            "correct_fact": {"fact_id": str(owner.things["fact"]), "fact": "I was here."},
            "add_memory": {"memory": "I was here."},
            "ask": QUESTION | {"conversation_id": str(owner.things["conversation"]), "wait": 0},
        }
        tools = reading if is_own else reading | writing
        tool = draw.choice(list(tools))
        names_thing = any(name.endswith("_id") for name in tools[tool])
        claimed = draw.choice((caller, owner)) if names_thing else owner
        is_known = not caller.is_named and claimed is caller  # then the tool takes no user_id
        arguments = tools[tool] | ({} if is_known else {"user_id": str(claimed.user_id)})
        reply = self._send("tools/call", {"name": tool, "arguments": arguments}, caller.headers)
        has_secret = owner.secret in reply.text
        if is_own and tool == "list_memories":
            is_read = "(memory " in reply.text  # a page of the newest, which may be younger than the word
        elif is_own and tool != "get_run":  # whose answer need not repeat it
            is_read = has_secret
        else:
            is_read = has_secret or _has_worked(reply)
        return Tried(tool, is_read, f"{arguments} -> {reply.status_code} {reply.text[:500]}")

    def _send(self, method: str, params: dict[str, Any], headers: dict[str, str]) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._client.post("/mcp", json=message, headers=headers | ACCEPT)


def _has_worked(reply: httpx2.Response) -> bool:
    if reply.status_code >= 300:
        return False
    lines = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith(("data: ", "{"))]
    last = json.loads(lines[-1])
    return "error" not in last and not last["result"].get("isError")
