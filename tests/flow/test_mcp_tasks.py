"""Tasks over MCP: a request that takes long is asked about by its id, by its user only."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from tests.mcp_wire import TASKS, McpWire
from tests.polling import poll
from tests.stack import NOBODY, Stack

METHODS = ("get", "cancel", "update")


def test_a_request_is_a_task_of_its_user(database: str, tmp_path: Path) -> None:
    with Stack(database, tmp_path) as stack:
        stack.start_server()
        mine, theirs = (McpWire(stack.client, TASKS, {"x-maas-user": f"{name}-{uuid4()}"}) for name in ("ann", "bob"))
        began = [mine.call("ask", {"query": text})["result"] for text in ("I live in Lisbon.", "Who am I?")]
        kept, stopped = (one["taskId"] for one in began)
        assert [(one["resultType"], one["status"]) for one in began] == [("task", "working")] * 2
        theirs.call("ask", {"query": "Where does Ann live?"})  # now the server knows them
        for method in METHODS:
            more: dict[str, dict[str, str]] = {"inputResponses": {}} if method == "update" else {}
            foreign = theirs.task(method, kept, **more)["error"]
            missing = theirs.task(method, str(NOBODY), **more)["error"]
            assert foreign["code"] == -32602 and foreign == {
                **missing,
                "message": missing["message"].replace(str(NOBODY), kept),
            }
            assert theirs.task(method, "x", **more)["error"]["code"] == -32602
            undeclared = McpWire(stack.client, {}, mine.headers).task(method, kept, **more)["error"]
            assert undeclared["code"] == -32021 and undeclared["data"]["requiredCapabilities"] == TASKS
            assert mine.send(f"tasks/{method}", "x", taskId=kept, **more)["error"]["code"] == -32020
        assert mine.task("get", kept)["result"]["status"] == "working"
        assert mine.task("cancel", stopped)["result"]["resultType"] == "complete"
        stack.start_orchestrator()
        poll(lambda: mine.task("get", stopped)["result"]["status"] == "cancelled", what="it is stopped")
        poll(lambda: mine.task("get", kept)["result"]["status"] != "working", what="it is done")
        done = mine.task("get", kept)["result"]
        assert done["status"] == "completed" and done["lastUpdatedAt"] > done["createdAt"]
        assert done["result"]["structuredContent"]["request_id"] == kept and not done["result"]["isError"]
        assert mine.task("cancel", kept)["result"]["resultType"] == "complete"
        assert mine.task("get", kept)["result"] == done
