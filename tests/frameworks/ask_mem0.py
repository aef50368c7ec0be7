"""mem0's SDK: both its clients, driven as programs do that were written for mem0's hosted service.

`model` is the API key, `text` the name of the user. tests/contract/mem0_node.mjs does the same with that of JavaScript.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.types import DeleteAllMemoryOptions

from tests.frameworks.cases import Target, serve

VISIT = {"agent_id": "vet", "app_id": "clinic", "run_id": "monday"}
DIALOGUE = [
    {"role": "user", "content": "I live in Bergen."},
    {"role": "assistant", "content": "Bergen is by the sea."},
    {"role": "user", "content": "I work as a gardener."},
]
Client: TypeAlias = MemoryClient | AsyncMemoryClient


class Steps:
    """Calls of either client, one after another, and what programs read of the responses."""

    def __init__(self, client: Client, user: str) -> None:
        self._client = client
        self._user = user

    async def call(self, name: str, *args: Any, **options: Any) -> Any:
        result = getattr(self._client, name)(*args, **options)
        return await result if inspect.isawaitable(result) else result

    async def refusal(self, name: str, *args: Any) -> str:
        """The kind of the error of a call."""
        try:
            await self.call(name, *args)
        except Exception as error:
            return type(error).__name__
        return "none"

    async def texts(self, *conditions: dict[str, Any]) -> list[str]:
        """The memories that fit, newest first."""
        listed = await self.call("get_all", filters={"AND": [{"user_id": self._user}, *conditions]})
        return [one["memory"] for one in listed["results"]]

    async def add(self) -> Any:
        options = {"user_id": self._user, "metadata": {"topic": "pets", "weight": 31}}
        first = await self.call(
            "add", [{"role": "user", "content": "I adopted a greyhound called Comet."}], **options, **VISIT
        )
        second = await self.call("add", DIALOGUE, user_id=self._user, run_id="tuesday", metadata={"weight": 2})
        return {
            "runs": [first["event_id"], second["event_id"]],
            "added": [[one["event"], one["memory"]] for one in first["results"] + second["results"]],
        }

    async def read(self) -> Any:
        whose = {"user_id": self._user}
        (found,) = (await self.call("search", "What is the greyhound called?", filters=whose, top_k=1))["results"]
        one = await self.call("get", found["id"])
        page = await self.call("get_all", filters=whose, page=2, page_size=2)
        filtered = await self.call("search", "Am I a gardener?", filters={**whose, "run_id": "tuesday"})
        (category, *_) = one["categories"]
        return {
            "found": [found["memory"], found["metadata"], 0 < found["score"] <= 1],
            "is_the_same": {**one, "score": found["score"]} == found,
            "of": [one[name] for name in ("user_id", *VISIT)],
            "page": [page["count"], len(page["results"]), page["next"], page["previous"] is not None],
            "search with filters": [hit["memory"] for hit in filtered["results"]],
            "and": await self.texts({"agent_id": "vet"}, {"app_id": {"in": ["clinic"]}}),
            "or": await self.texts({"OR": [{"run_id": "monday"}, {"keywords": {"icontains": "GARDENER"}}]}),
            "not": await self.texts({"NOT": [{"run_id": "monday"}]}),
            "range of numbers": await self.texts({"metadata": {"weight": {"gte": 2, "lt": 31}}}),
            "range of times": await self.texts({"created_at": {"gte": "2020-01-01", "lte": one["created_at"]}}),
            "categories": await self.texts({"categories": {"in": [category]}}, {"run_id": "monday"}),
            "categories without filters": (await self.call("get_all", filters=whose, categories=["x"]))["count"],
            "no category": await self.texts({"categories": {"in": ["nothing of the kind"]}}),
        }

    async def change(self) -> Any:
        memories = (await self.call("get_all", filters={"user_id": self._user}))["results"]
        work, home, pet = (one["id"] for one in memories)
        changed = await self.call("update", pet, text="I adopted a greyhound called Nova.")
        described = await self.call("update", pet, metadata={"topic": "dogs"})
        history = await self.call("history", pet)
        updates = [{"memory_id": work, "text": "I work as a baker."}, {"memory_id": home, "text": "I live in Oslo."}]
        await self.call("batch_update", updates)
        result = {
            "updated": [changed["id"] == pet, changed["memory"], described["memory"], described["metadata"]],
            "history": [[one["event"], one["old_memory"], one["new_memory"]] for one in history],
            "batch_update": await self.texts(),
        }
        await self.call("batch_delete", [{"memory_id": work}])
        result["batch_delete"] = await self.texts()
        await self.call("delete", home, delete_linked=True)
        return result | {
            "delete": await self.texts(),
            "missing": [await self.refusal("get", home), await self.refusal("delete", home)],
            "malformed": await self.refusal("get", "nothing"),
        }

    async def end(self) -> Any:
        listed = await self.call("users")
        result: dict[str, Any] = {"users": [[one["type"], one["name"]] for one in listed["results"]]}
        await self.call("delete_all", DeleteAllMemoryOptions(filters={"user_id": self._user, "run_id": "tuesday"}))
        result["of another session"] = len(await self.texts())
        await self.call("delete_all", user_id=self._user)
        result["delete_all"] = len(await self.texts())
        await self.call("delete_users", user_id=self._user)
        listed = await self.call("users")
        return result | {"delete_users": [one["name"] for one in listed["results"]]}


def take(kind: Callable[..., Client], name: str) -> Any:
    """The case that makes a client and takes these steps with it."""

    async def steps(target: Target) -> Any:
        return await getattr(Steps(kind(api_key=target.model, host=target.url), target.text), name)()

    return lambda target: asyncio.run(steps(target))


KINDS: dict[str, Callable[..., Client]] = {"sync": MemoryClient, "async": AsyncMemoryClient}
serve({f"{kind} {name}": take(KINDS[kind], name) for kind in KINDS for name in ("add", "read", "change", "end")})
