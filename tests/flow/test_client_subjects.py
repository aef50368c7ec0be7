"""The Python client on conversations, actions, corrections, images and documents, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, assert_type, get_args, get_type_hints
from uuid import UUID, uuid4

import pytest

from maas import AsyncMaaS, MaaS
from maas.client import Action, Document, InvalidRequest, NotFound, RunFailed, Unavailable
from maas.client import actions as of_actions
from maas.client import conversations as of_conversations
from maas.client import files as of_files
from maas.client import runs as of_runs
from maas.client import schedules as of_schedules
from maas.conversations import MessageRole, Mode
from maas.conversations.actions import ActionStatus
from maas.engine.states import PriorityWord
from maas.http import actions, attachments, conversations, knowledge, links, schedules
from tests.breaking_proxy import breaking_proxy
from tests.pictures import picture
from tests.polling import poll
from tests.stack import NOBODY, Stack

PARAMETERS = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
PAGE = "# Canteen\n\nThe millstone is turned on Mondays.\n"


@pytest.fixture(scope="module")
def url(stack: Stack) -> str:
    tool = "insert into tools values ('send_mail', 'mail', 'Send it.', %s, 'dangerous', 'v2', false)"
    stack.rows(tool, json.dumps(PARAMETERS))
    return str(stack.client.base_url)


@pytest.fixture(scope="module")
def maas(url: str) -> Iterator[MaaS]:
    with MaaS(url) as maas:
        yield maas


@pytest.fixture
def name() -> str:
    """A user whom nobody knows."""
    return f"ann-{uuid4().hex}@example.org"


def propose(stack: Stack, maas: MaaS, user: UUID, place: int = 1) -> str:
    """A tool call that a finished run of the user has proposed."""
    run_id = maas.ask("Mail it to Ann.", user_id=user).request_id
    query = """select maas_propose_action(%s, 'c1', 'send_mail', '{"to": "Ann"}', 'dangerous', 'v2', 'mentor',
      p_place => %s) as id"""
    return str(stack.rows(query, UUID(run_id), place)[0]["id"])


@pytest.mark.parametrize(
    ("shown", "sent"),
    [
        (of_actions.Action, actions.Action),
        (of_conversations.Conversation, conversations.Conversation),
        (of_conversations.ConversationSummary, conversations.ConversationSummary),
        (of_conversations.OpenedConversation, conversations.OpenedConversation),
        (of_conversations.ConversationMessage, conversations.ConversationMessage),
        (of_conversations.ConversationLink, links.ConversationLink),
        (of_conversations.CreatedLink, links.CreatedLink),
        (of_conversations.ForgottenConversation, conversations.ForgottenConversation),
        (of_files.Attachment, attachments.Attachment),
        (of_files.Document, knowledge.DocumentState),
        (of_files.AddedDocument, knowledge.AddedDocument),
        (of_files.RemovedDocument, knowledge.DocumentRemoved),
        (of_files.Passage, knowledge.FoundPassage),
        (of_schedules.Schedule, schedules.Schedule),
    ],
)
def test_values_have_the_fields_of_the_server(shown: type, sent: Any) -> None:
    assert list(get_type_hints(shown)) == list(sent.model_fields)


def test_words_are_those_of_the_server() -> None:
    assert get_args(of_actions.ActionStatus) == tuple(ActionStatus)
    assert get_args(of_conversations.Role) == tuple(MessageRole)
    assert get_args(of_files.SearchMode) == knowledge.MODES
    assert (get_args(of_runs.Priority), get_args(of_runs.Mode)) == (get_args(PriorityWord), get_args(Mode))


def test_a_conversation_is_opened_changed_read_and_cleared(maas: MaaS, name: str) -> None:
    assert maas.conversations(user_id=name) == []
    opened = maas.open_conversation(user_id=name, mode="ask")
    assert (opened["mode"], opened["assistant"], opened["title"]) == ("ask", "mentor", None)
    maas.ask("My cat is called Pixel.", user_id=name, conversation_id=opened["id"])
    assert maas.change_conversation(opened["id"], title="Cats", mode="auto")["title"] == "Cats"
    assert maas.get_conversation(opened["id"])["mode"] == "auto"
    other = maas.open_conversation(user_id=name)
    assert [one["id"] for one in maas.conversations(user_id=name)] == [other["id"], opened["id"]]
    assert [one["id"] for one in maas.conversations(user_id=name, limit=1)] == [other["id"]]
    assert [one["id"] for one in maas.conversations(user_id=name, q="Pixel")] == [opened["id"]]
    answer, question = maas.messages(opened["id"])
    assert (question["role"], question["content"], answer["role"]) == ("user", "My cat is called Pixel.", "assistant")
    assert maas.messages(opened["id"], role="tool") == [] and len(maas.messages(opened["id"], limit=1)) == 1
    assert maas.change_conversation(opened["id"], is_pinned=True)["is_pinned"]
    assert [one["id"] for one in maas.conversations(user_id=name)] == [opened["id"], other["id"]]
    assert maas.change_conversation(other["id"], is_archived=True)["is_archived"]
    assert [one["id"] for one in maas.conversations(user_id=name)] == [opened["id"]]
    assert [one["id"] for one in maas.conversations(user_id=name, archived=True)] == [other["id"]]
    assert maas.clear_conversation(opened["id"]) == 2 and maas.messages(opened["id"]) == []
    with pytest.raises(InvalidRequest, match="send mode, title, is_pinned or is_archived"):
        maas.change_conversation(opened["id"])
    found = maas.delete_conversation(opened["id"], preview=True)
    assert (found["messages"], found["logs"], found["records"]) == (0, 2, 1)
    assert maas.delete_conversation(opened["id"]) == found
    assert maas.get_all(user_id=name)["results"] == []
    with pytest.raises(NotFound):
        maas.delete_conversation(opened["id"])
    with pytest.raises(NotFound):
        maas.messages(NOBODY)


def test_links_are_off_until_an_operator_allows_them(maas: MaaS, stack: Stack, name: str) -> None:
    conversation = maas.open_conversation(user_id=name)["id"]
    reply = stack.client.post(f"/v1/conversations/{conversation}/links", json={})
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "links_off")
    with pytest.raises(InvalidRequest, match="MAAS_LINK_DAYS"):
        maas.share_conversation(conversation)
    assert maas.links(user_id=name) == []
    with pytest.raises(NotFound):
        maas.revoke_link(NOBODY)
    assert stack.client.get("/ui/config.json").json()["link_days"] == 0


def test_a_temporary_conversation_is_not_remembered(maas: MaaS, name: str) -> None:
    opened = maas.open_conversation(user_id=name, is_remembered=False)
    assert not opened["is_remembered"]
    maas.ask("My cat is called Pixel.", user_id=name, conversation_id=opened["id"])
    assert maas.search("Pixel", user_id=name)["results"] == []
    assert [one["is_remembered"] for one in maas.conversations(user_id=name)] == [False]


def test_a_schedule_sends_a_request_when_it_is_due(maas: MaaS, stack: Stack, name: str) -> None:
    """Its time comes earlier here; nobody waits for a minute to end."""
    assert maas.schedules(user_id=name) == []
    added = maas.add_schedule("My cat is called Pixel.", "0 3 1 1 *", user_id=name, timezone="Europe/Lisbon")
    assert added["next_at"] and added["next_at"].endswith("-01-01T03:00:00Z")
    assert maas.change_schedule(added["id"], paused=True)["paused_at"]
    resumed = maas.change_schedule(added["id"], cron=" 30 4  2 1 * ", paused=False)
    assert (resumed["cron"], resumed["paused_at"]) == ("30 4 2 1 *", None)
    stack.rows("update schedules set next_at = now() where id = %s", UUID(added["id"]))
    runs = {"attributes": json.dumps({"schedule": added["id"]}), "user_id": added["user_id"]}
    (run,) = poll(lambda: stack.client.get("/v1/runs", params=runs).json()["results"])
    assert maas.wait(run["request_id"]).status == "COMPLETED"
    (shown,) = maas.schedules(user_id=name)
    assert shown["last_at"] and shown["next_at"] == resumed["next_at"] and shown["error"] is None
    for cron, cause in (("0 25 * * *", "cron: Bad hour"), ("", "cron: must have five fields")):
        with pytest.raises(InvalidRequest, match=cause):
            maas.change_schedule(added["id"], cron=cron)
    with pytest.raises(InvalidRequest, match="unknown time zone"):
        maas.add_schedule("hello", "0 3 * * *", user_id=name, timezone="Nowhere/Town")
    with pytest.raises(InvalidRequest, match="assistant"):
        maas.add_schedule("hello", "0 3 * * *", user_id=name, assistant="nobody")
    maas.delete_schedule(added["id"])
    assert maas.schedules(user_id=name) == []
    with pytest.raises(NotFound):
        maas.delete_schedule(added["id"])


def test_an_action_is_edited_and_approved_as_it_was_shown(maas: MaaS, stack: Stack, user: UUID) -> None:
    action_id = propose(stack, maas, user)
    (shown,) = maas.actions(user_id=user, status="pending")
    assert_type(shown, Action)
    assert (shown["id"], shown["arguments"], shown["status"]) == (action_id, {"to": "Ann"}, "pending")
    assert maas.actions(user_id=user, request_id=shown["run_id"], conversation_id=NOBODY) == []
    edited = maas.edit_action(action_id, {"to": "Ben"}, user_id=user)
    with pytest.raises(InvalidRequest) as changed:
        maas.approve(action_id, user_id=user, fingerprint=shown["fingerprint"])
    assert (changed.value.code, changed.value.status) == ("changed", 409)
    assert maas.get_action(action_id, user_id=user)["status"] == "pending"
    approved = maas.approve(action_id, user_id=user, fingerprint=edited["fingerprint"])
    assert approved["decided_by"] and approved["action_run_id"]
    assert maas.wait(approved["action_run_id"]).text
    assert maas.get_action(action_id)["status"] == "failed"  # no assistant here has this tool
    with pytest.raises(InvalidRequest, match="already"):
        maas.reject(action_id, user_id=user)


def test_an_action_is_rejected_by_its_user_only(maas: MaaS, stack: Stack, user: UUID, name: str) -> None:
    action_id = propose(stack, maas, user)
    for stranger in (name, NOBODY):
        with pytest.raises(NotFound):
            maas.approve(action_id, user_id=stranger)
    assert maas.reject(action_id, user_id=user)["status"] == "rejected"
    assert maas.actions(user_id=user, status="pending") == maas.actions(user_id=name) == []


def test_a_lost_decision_is_not_an_error_and_not_turned(maas: MaaS, stack: Stack, url: str, user: UUID) -> None:
    first, second = propose(stack, maas, user), propose(stack, maas, user)
    with breaking_proxy(url) as proxy, MaaS(proxy.url) as unlucky:
        proxy.faults += ["lost"]
        assert unlucky.reject(first, user_id=user)["status"] == "rejected"
        maas.reject(second, user_id=user)
        proxy.faults += ["unsent"]
        with pytest.raises(InvalidRequest) as decided:
            unlucky.approve(second, user_id=user)
    assert (decided.value.code, decided.value.details) == ("already_decided", {"status": "rejected"})


def test_several_are_decided_at_once(maas: MaaS, stack: Stack, url: str, user: UUID) -> None:
    """All as they were shown, or none; a lost reply is not an error."""
    shown = [maas.get_action(propose(stack, maas, user)) for _ in range(2)]
    with pytest.raises(InvalidRequest) as changed:
        maas.decide([shown[0], {**shown[1], "fingerprint": "0" * 32}], "approve", user_id=user)
    assert changed.value.code == "changed" and len(maas.actions(user_id=user, status="pending")) == 2
    with breaking_proxy(url) as proxy, MaaS(proxy.url) as unlucky:
        proxy.faults += ["lost"]
        decided = unlucky.decide(shown, "reject", user_id=user)
    assert [(one["id"], one["status"]) for one in decided] == [(one["id"], "rejected") for one in shown]


def test_a_lost_opening_is_not_repeated(maas: MaaS, url: str, user: UUID) -> None:
    with breaking_proxy(url) as proxy, MaaS(proxy.url) as unlucky:
        proxy.faults += ["limited", "lost"]
        with pytest.raises(Unavailable):
            unlucky.open_conversation(user_id=user)
        assert proxy.seen == ["POST /v1/conversations"] * 2
    assert len(maas.conversations(user_id=user)) == 1


def test_a_memory_is_corrected(maas: MaaS, name: str) -> None:
    added = maas.add("My cat is called Basil.", user_id=name)["results"][0]
    correction = maas.correct(added["id"], "My cat is called Pepper.", user_id=name)
    assert correction == maas.correct(added["id"], "My cat is called Pepper.", user_id=name)
    assert maas.search("What is my cat called?", user_id=name)["results"][0]["id"] == correction["id"]
    maas.wait(correction["request_id"])
    with pytest.raises(NotFound):
        maas.correct(added["id"], "It is a dog.", user_id=NOBODY)


def test_a_request_is_cancelled(maas: MaaS, stack: Stack, url: str, user: UUID) -> None:
    stack.rows(
        f"""begin;
        insert into pipeline_runs (id, user_id, user_query) values ('{user}', '{user}', 'nobody claims me');
        update pipeline_runs set queue_state = 0 where id = '{user}';
        commit"""
    )
    maas.cancel(user)
    with pytest.raises(RunFailed, match="cancelled"):
        maas.wait(user)
    with pytest.raises(InvalidRequest, match="already_finished"):
        maas.cancel(user)


def test_an_image_is_stored_once_read_and_deleted(maas: MaaS, url: str, name: str) -> None:
    data = picture("PNG")
    with breaking_proxy(url) as proxy, MaaS(proxy.url) as unlucky:
        assert unlucky.conversations(user_id=name) == []
        proxy.faults += ["unsent", "lost", "lost"]
        made = unlucky.upload_image(data, user_id=name)
    assert (made["width"], made["height"], made["media_type"]) == (40, 20, "image/png")
    assert maas.get_image(made["id"], user_id=name) == made
    assert maas.download_image(made["id"], user_id=name).startswith(b"\x89PNG")
    answer = maas.ask("What is this?", user_id=name, attachment_ids=[made["id"]])
    assert answer.status == "COMPLETED"
    with pytest.raises(NotFound):
        maas.delete_image(made["id"], user_id=NOBODY)
    maas.delete_image(made["id"], user_id=name)
    with pytest.raises(NotFound):
        maas.get_image(made["id"], user_id=name)
    with pytest.raises(InvalidRequest, match="bad_image"):
        maas.upload_image(b"no image", user_id=name)


def test_a_document_is_added_found_and_removed(maas: MaaS, stack: Stack, name: str) -> None:
    assert not maas.documents(user_id=name) and not maas.search_documents("millstone", user_id=name)
    assert not stack.rows("select from user_identities where external_id = %s", name)
    added = maas.add_document("canteen.md", PAGE, user_id=name)
    assert (added["outcome"], added["status"]) == ("added", "processed")
    assert maas.add_document("canteen.md", PAGE.encode(), user_id=name)["outcome"] == "unchanged"
    (listed,) = maas.documents(user_id=name)
    assert_type(listed, Document)
    assert listed == maas.get_document(added["id"], user_id=name)
    found = maas.search_documents("when is the millstone turned?", user_id=name, limit=1, mode="local")
    assert [(one["name"], one["heading"]) for one in found] == [("canteen.md", "Canteen")]
    with pytest.raises(InvalidRequest, match="at least 3"):
        maas.search_documents("a", user_id=name)
    with pytest.raises(InvalidRequest):
        maas.add_document("canteen.exe", b"MZ", user_id=name)
    assert maas.delete_document(added["id"], user_id=name, answers=True)["total"] == 0
    with pytest.raises(NotFound):
        maas.get_document(added["id"], user_id=name)


async def test_the_other_client_awaits_the_same(maas: MaaS, stack: Stack, url: str, user: UUID) -> None:
    action_id = propose(stack, maas, user)
    async with AsyncMaaS(url) as other:
        assert (await other.reject(action_id, user_id=user))["status"] == "rejected"
        opened = await other.open_conversation(user_id=user)
        assert opened["id"] in [one["id"] for one in await other.conversations(user_id=user)]
        assert await other.conversations(user_id=user, q="zeppelin") == []
        image = await other.upload_image(picture("JPEG"), user_id=user)
        assert (await other.download_image(image["id"], user_id=user)).startswith(b"\xff\xd8")
        document = await other.add_document("canteen.md", PAGE, user_id=user)
        assert (await other.search_documents("millstone", user_id=user))[0]["document_id"] == document["id"]
