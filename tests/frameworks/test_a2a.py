"""A2A: tasks, their states and errors as the protocol has them, and its own client driving an assistant."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from shared.postgres import EmbeddedPostgres
from tests.databases import copy_of
from tests.frameworks.a2a_calls import Json, Receiver, call, message, refuse, send, state, texts
from tests.frameworks.programs import A2A, Framework, missing
from tests.http_server import HTTPServer
from tests.model_server import REPLIES, ModelServer
from tests.pictures import picture
from tests.polling import poll
from tests.stack import Stack

CLERK = json.dumps({"toolset": ["box"], "title": "Clerk"})
WIPE = [[("wipe", '{"text": "one"}')]]
CARD = "/.well-known/agent-card.json"


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with HTTPServer(threaded=True) as server:
        models = ModelServer(server)
        yield models
        models.close()


@pytest.fixture(scope="module")
def running(
    models: ModelServer, postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("a2a")
    settings = {"MAAS_A2A": "clerk, mentor", "MAAS_TOOLS": "tests.toolbox:TOOLS", "TOOLBOX": str(folder)}
    settings |= {"MAAS_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    with copy_of(template, postgres.dsn) as dsn, Stack(dsn, folder, **settings) as stack:
        stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", CLERK)
        stack.start_server()
        stack.start_orchestrator(**models.settings())
        yield stack


@pytest.fixture
def stack(running: Stack, models: ModelServer) -> Stack:
    models.rounds.clear()
    models.statuses.clear()
    return running


@pytest.fixture
def user() -> str:
    return f"kim-{uuid4()}"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with HTTPServer(threaded=True) as server:
        yield Receiver(server)


def test_cards_are_of_the_assistants_that_are_named(stack: Stack) -> None:
    card = stack.client.get(CARD)
    assert card.headers["cache-control"].startswith("public") and card.headers["etag"]
    assert card.json() == stack.client.get(f"/v1/a2a/clerk{CARD}").json()
    assert card.json()["capabilities"]["pushNotifications"] is True
    assert card.json()["name"] == "Clerk" and "securitySchemes" not in card.json()
    (address,) = card.json()["supportedInterfaces"]
    assert address["url"] == f"http://127.0.0.1:{stack.port}/v1/a2a/clerk"
    assert stack.client.get(f"/v1/a2a/stickers{CARD}").status_code == 404
    assert stack.client.post("/v1/a2a/stickers", json={}).status_code == 404


def test_a_message_is_a_task_that_is_completed(stack: Stack, user: str) -> None:
    """The same message again is the same task; another one of the context remembers."""
    sent = message("I like tea.")
    task = call(stack, user, "SendMessage", message=sent)["result"]["task"]
    assert (state(task), texts(task)) == ("COMPLETED", [REPLIES["responder"]])
    assert [one["parts"] for one in task["history"]] == [[{"text": "I like tea."}]]
    assert task["history"][0]["messageId"] == sent["messageId"]
    assert call(stack, user, "SendMessage", message=sent)["result"]["task"] == task
    other = send(stack, user, "What do I like?", contextId=task["contextId"])
    assert other["contextId"] == task["contextId"] and other["id"] != task["id"]
    assert call(stack, user, "GetTask", id=task["id"])["result"] == task
    assert "history" not in call(stack, user, "GetTask", id=task["id"], historyLength=0)["result"]
    assert refuse(stack, user, "SendMessage", message=message("More.", taskId=task["id"])) == -32004
    assert refuse(stack, user, "SubscribeToTask", id=task["id"]) == -32004
    assert refuse(stack, user, "CancelTask", id=task["id"]) == -32002


def test_tasks_are_listed_newest_first(stack: Stack, user: str) -> None:
    ids = [send(stack, user, f"Number {number}.")["id"] for number in range(3)]
    first = call(stack, user, "ListTasks", pageSize=2)["result"]
    assert [one["id"] for one in first["tasks"]] == [ids[2], ids[1]]
    assert (first["pageSize"], first["totalSize"]) == (2, 3) and "artifacts" not in first["tasks"][0]
    rest = call(stack, user, "ListTasks", pageSize=2, pageToken=first["nextPageToken"])["result"]
    assert ([one["id"] for one in rest["tasks"]], rest["nextPageToken"], rest["totalSize"]) == ([ids[0]], "", 3)
    full = call(stack, user, "ListTasks", includeArtifacts=True, historyLength=0, status="TASK_STATE_COMPLETED")
    assert [texts(one) for one in full["result"]["tasks"]] == [[REPLIES["responder"]]] * 3
    for only in (
        {"status": "TASK_STATE_WORKING"},
        {"contextId": str(uuid4())},
        {"contextId": "not of ours"},
        {"statusTimestampAfter": "2200-01-01T00:00:00Z"},
    ):
        assert call(stack, user, "ListTasks", **only)["result"]["tasks"] == []
    assert call(stack, user, "ListTasks", contextId="", pageSize=1)["result"]["totalSize"] == 3
    assert call(stack, user, "ListTasks", "clerk")["result"]["tasks"] == []


@pytest.mark.parametrize("is_approved", [True, False])
def test_a_decision_is_input(stack: Stack, models: ModelServer, user: str, is_approved: bool) -> None:
    models.rounds["responder"] = WIPE
    task = send(stack, user, "Wipe it.", agent="clerk")
    assert state(task) == "INPUT_REQUIRED"
    words, data = task["status"]["message"]["parts"]
    (action,) = data["data"]["actions"]
    assert "wipe" in words["text"] and (action["tool"], action["arguments"]) == ("wipe", {"text": "one"})
    decision = {"approved": is_approved, "action": action["action"], "fingerprint": action["fingerprint"]}
    assert refuse(stack, user, "SendMessage", "clerk", message=message("y", taskId=task["id"], contextId="x")) == -32602
    wrong = message({"data": decision | {"action": str(uuid4())}}, taskId=task["id"])
    assert refuse(stack, user, "SendMessage", "clerk", message=wrong) == -32602
    changed = message({"data": decision | {"fingerprint": "0" * 32}}, taskId=task["id"])
    assert refuse(stack, user, "SendMessage", "clerk", message=changed) == -32602
    ended = send(stack, user, {"data": decision}, agent="clerk", taskId=task["id"])
    assert (ended["id"], ended["contextId"]) == (task["id"], task["contextId"])
    assert state(ended) == ("COMPLETED" if is_approved else "CANCELED")
    assert len(ended["artifacts"]) == 1 + is_approved
    wiped = (stack.folder / "lines").read_text().count("wiped one") if is_approved else 0
    assert wiped == int(is_approved)


def test_words_go_on_with_a_task_that_waits(stack: Stack, models: ModelServer, user: str) -> None:
    """A yes or no is what it is in every conversation; what is said else is answered, and the action still waits."""
    models.rounds["responder"] = WIPE
    task = send(stack, user, "Wipe it.", agent="clerk")
    models.rounds.clear()
    same = send(stack, user, "What would that do?", agent="clerk", taskId=task["id"])
    assert (same["id"], state(same)) == (task["id"], "INPUT_REQUIRED")
    assert [one["parts"][0]["text"] for one in same["history"]] == ["Wipe it.", "What would that do?"]
    assert call(stack, user, "ListTasks", "clerk")["result"]["totalSize"] == 1
    ended = call(stack, user, "CancelTask", "clerk", id=task["id"])["result"]
    assert state(ended) == "COMPLETED", "it was answered, and nothing waits any more"


def test_a_typed_yes_is_followed_to_what_came_of_it(stack: Stack, models: ModelServer, user: str) -> None:
    models.rounds["responder"] = WIPE
    task = send(stack, user, "Wipe it.", agent="clerk")
    before = (stack.folder / "lines").read_text().count("wiped one") if (stack.folder / "lines").exists() else 0
    models.rounds["responder"] = [[("confirm_pending", "{}")]]
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage"}
    headers = {"X-MaaS-User": user, "A2A-Version": "1.0"}
    params = {"message": message("Yes", taskId=task["id"])}
    with stack.client.stream("POST", "/v1/a2a/clerk", json=body | {"params": params}, headers=headers) as reply:
        lines = [line for line in reply.iter_lines() if line.startswith("data: ")]
    updates = [json.loads(line.removeprefix("data: "))["result"] for line in lines]
    assert updates[0]["task"]["id"] == task["id"]
    assert state(updates[-1]["statusUpdate"]) == "COMPLETED"
    written = {one["artifactUpdate"]["artifact"]["name"] for one in updates if "artifactUpdate" in one}
    assert written == {"answer", "outcome"}
    assert (stack.folder / "lines").read_text().count("wiped one") == before + 1


def test_a_task_is_canceled_and_a_failure_says_why(stack: Stack, models: ModelServer, user: str) -> None:
    models.hold("analyzer")
    configuration = {"returnImmediately": True}
    task = call(stack, user, "SendMessage", message=message("Wait."), configuration=configuration)["result"]["task"]
    assert state(task) in ("SUBMITTED", "WORKING")
    canceled = call(stack, user, "CancelTask", id=task["id"])["result"]
    models.release("analyzer")
    assert state(canceled) == "CANCELED"
    models.statuses["responder"] = 401
    failed = send(stack, user, "Fail.")
    assert state(failed) == "FAILED" and "sk-test" not in json.dumps(failed)
    assert failed["status"]["message"]["parts"][0]["text"]


def test_a_task_of_somebody_else_is_not_there(stack: Stack, user: str) -> None:
    """Neither by its id nor by its context; requests by other ways are no tasks."""
    task, stranger = send(stack, user, "I like tea."), f"other-{user}"
    for method in ("GetTask", "CancelTask", "SubscribeToTask"):
        assert refuse(stack, stranger, method, id=task["id"]) == refuse(stack, user, method, id=str(uuid4())) == -32001
        assert refuse(stack, user, method, id="no id") == -32001
        assert refuse(stack, user, method, "clerk", id=task["id"]) == -32001
    assert refuse(stack, stranger, "SendMessage", message=message("x", taskId=task["id"])) == -32001
    assert refuse(stack, stranger, "SendMessage", message=message("x", contextId=task["contextId"])) == -32602
    assert call(stack, stranger, "ListTasks", contextId=task["contextId"])["result"]["tasks"] == []
    user_id = stack.client.get("/v1/users", params={"external_id": user}).json()["user_id"]
    assert refuse(stack, user, "GetTask", id=str(stack.ask(user_id, "hello"))) == -32001


def test_a_task_is_sent_to_where_its_client_wants_it(
    stack: Stack, models: ModelServer, user: str, receiver: Receiver
) -> None:
    """When it waits for a decision, and when it has ended; with what the receiver knows the sender by."""
    models.rounds["responder"] = WIPE
    authentication = {"scheme": "Bearer", "credentials": "of-the-client"}
    push: Json = {"url": receiver.url, "token": "one-time", "authentication": authentication}
    configuration = {"returnImmediately": True, "taskPushNotificationConfig": push}
    task = call(stack, user, "SendMessage", "clerk", message=message("Wipe it."), configuration=configuration)
    task_id = task["result"]["task"]["id"]
    sent, headers = receiver.wait_for("INPUT_REQUIRED")
    assert sent == call(stack, user, "GetTask", "clerk", id=task_id, historyLength=0)["result"]
    assert (headers["Authorization"], headers["X-A2A-Notification-Token"]) == ("Bearer of-the-client", "one-time")
    assert headers["Webhook-Id"] and "Webhook-Signature" not in headers
    models.rounds.clear()
    send(stack, user, {"data": {"approved": True}}, agent="clerk", taskId=task_id)
    sent, _ = receiver.wait_for("COMPLETED")
    assert (sent["id"], len(sent["artifacts"])) == (task_id, 2)
    listed = call(stack, user, "ListTaskPushNotificationConfigs", "clerk", taskId=task_id)["result"]["configs"]
    assert listed == [{"taskId": task_id, "id": task_id, "url": receiver.url}], "nobody is shown what is secret"
    whose = {"user_id": stack.client.get("/v1/users", params={"external_id": user}).json()["user_id"]}
    assert stack.client.get("/v1/webhooks", params=whose).json()["results"] == []


def test_push_notifications_are_of_ones_own_tasks(stack: Stack, user: str, receiver: Receiver) -> None:
    """Those of somebody else are not there; nothing becomes a header that is none."""
    task_id = send(stack, user, "I like tea.")["id"]
    push: Json = {"taskId": task_id, "url": receiver.url}
    named = {"taskId": task_id, "id": task_id}
    stranger = f"other-{user}"
    for method, params in (("Create", push), ("Get", named), ("Delete", named)):
        assert refuse(stack, stranger, f"{method}TaskPushNotificationConfig", **params) == -32001
    assert refuse(stack, stranger, "ListTaskPushNotificationConfigs", taskId=task_id) == -32001
    assert refuse(stack, user, "GetTaskPushNotificationConfig", **named) == -32001
    wrongs: list[Json] = [
        {"url": "file:///etc/passwd"},
        {"url": "https://name:password@example.org/"},
        {"url": "x" * 3000},
        {"token": "a\r\nHost: b"},
        {"token": "ё"},
        {"id": "x" * 201},
        {"id": "\x00"},
        {"authentication": {"scheme": "a b"}},
        {"authentication": {"scheme": "Bearer", "credentials": "a\nb"}},
        {"authentication": {}},
    ]
    for wrong in wrongs:
        assert refuse(stack, user, "CreateTaskPushNotificationConfig", **(push | wrong)) == -32602, wrong
        wishes = {"taskPushNotificationConfig": {"url": receiver.url} | wrong}
        assert refuse(stack, user, "SendMessage", message=message("x"), configuration=wishes) == -32602, wrong
    assert call(stack, user, "ListTaskPushNotificationConfigs", taskId=task_id)["result"] == {"configs": []}
    assert call(stack, user, "DeleteTaskPushNotificationConfig", **named)["result"] == {}
    by_definition = {"task_id": task_id, "url": receiver.url}
    assert call(stack, user, "CreateTaskPushNotificationConfig", **by_definition)["result"]["taskId"] == task_id


def test_what_is_not_understood_is_refused(stack: Stack, user: str) -> None:
    image = {"raw": b64encode(picture()).decode(), "mediaType": "image/png"}
    assert state(send(stack, user, "Look.", image)) == "COMPLETED"
    for part, code in (
        ({"url": "https://example.org/a.png"}, -32005),
        ({"raw": "AAAA", "mediaType": "application/pdf"}, -32005),
        ({"data": {"x": 1}}, -32005),
        ({"raw": "no base64", "mediaType": "image/png"}, -32602),
        ({"raw": "AAAA", "mediaType": "image/png"}, -32602),
        ({"text": " "}, -32602),
    ):
        assert refuse(stack, user, "SendMessage", message=message("Look." if "text" not in part else " ", part)) == code
    assert refuse(stack, user, "SendMessage") == -32602
    for wrong in (message(), message("x", contextId="x"), message("x") | {"role": "x"}):
        assert refuse(stack, user, "SendMessage", message=wrong) == -32602
    assert refuse(stack, user, "GetExtendedAgentCard") == -32004
    assert refuse(stack, user, "message/send") == -32601
    assert refuse(stack, user, "ListTasks", pageToken="x") == refuse(stack, user, "ListTasks", pageSize=0) == -32602
    for version in ("0.3", "", "2.0"):
        assert call(stack, user, "ListTasks", version=version)["error"]["code"] == -32009
    for content, code in (("{", -32700), ("[]", -32600), ('{"jsonrpc": "1.0", "method": "x"}', -32600)):
        headers = {"content-type": "application/json", "A2A-Version": "1.0"}
        reply = stack.client.post("/v1/a2a/mentor", content=content, headers=headers)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, code)
    plain = stack.client.post("/v1/a2a/mentor", content="{}", headers={"content-type": "text/plain"})
    assert (plain.status_code, plain.json()["error"]["code"]) == (415, -32005)


def test_its_own_client_follows_a_task(
    stack: Stack, models: ModelServer, user: str, receiver: Receiver, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By the card: streaming, a decision, reading, listing, cancelling, push notifications, an error by its name."""
    if reason := missing(A2A):
        pytest.skip(reason)
    url = f"http://127.0.0.1:{stack.port}"
    models.rounds["responder"] = WIPE
    with Framework(A2A, tmp_path_factory.mktemp("sdk") / "log") as sdk:

        def run(case: str, text: str) -> Any:
            outcome = sdk.run(case, url, user, text)
            assert "result" in outcome, outcome
            return outcome["result"]

        streamed = run("stream", "Wipe it.")
        assert streamed[0]["kind"] == "task" and streamed[-1]["state"] == "TASK_STATE_INPUT_REQUIRED"
        written = "".join(one["text"] for one in streamed if one["kind"] == "artifact_update")
        task_id = streamed[0]["id"]
        task = call(stack, user, "GetTask", "clerk", id=task_id)["result"]
        assert [written] == texts(task)
        decided = run("decide", task_id)
        assert decided[-1]["state"] == "TASK_STATE_COMPLETED"
        assert run("get", task_id) == {"state": "TASK_STATE_COMPLETED", "artifacts": 2}
        assert run("list", "")["tasks"] == [task_id]
        assert run("cancel", task_id) == "TaskNotCancelableError"
        assert run("get", str(uuid4())) == "TaskNotFoundError"
        pushed = run("push", f"{receiver.url} of-the-sdk")
        _, headers = receiver.wait_for("INPUT_REQUIRED")
        assert headers["X-A2A-Notification-Token"] == "of-the-sdk"
        pushed_id = pushed[0]["id"]
        assert run("push", f"{receiver.url} {pushed_id}") == [sorted([pushed_id, "second"]), ["second"]]
        poll(lambda: "Authorization" in receiver.got[-1][1], what="the second one has it, too")
        models.rounds.clear()
        models.pause("responder")
        begun = run("begin", "Sing.")
        poll(lambda: stack.rows("select from run_events where run_id = %s and type = 'text'", begun), what="it speaks")
        with ThreadPoolExecutor(1) as pool:
            subscribed = pool.submit(run, "subscribe", begun)
            poll(lambda: "maas_runs_followed 1.0" in stack.client.get("/metrics").text, what="it is followed")
            models.release("responder")
            followed = subscribed.result()
        assert followed[-1]["state"] == "TASK_STATE_COMPLETED"
        assert "".join(one["text"] for one in followed if one["kind"] == "artifact_update") == REPLIES["responder"]
