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
from maas.conversations import MessageRole
from maas.conversations.actions import ActionStatus
from maas.http import attachments, conversations, knowledge
from tests.breaking_proxy import breaking_proxy
from tests.pictures import picture
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
        (of_actions.Action, conversations.Action),
        (of_conversations.Conversation, conversations.Conversation),
        (of_conversations.ConversationSummary, conversations.ConversationSummary),
        (of_conversations.OpenedConversation, conversations.OpenedConversation),
        (of_conversations.ConversationMessage, conversations.ConversationMessage),
        (of_files.Attachment, attachments.Attachment),
        (of_files.Document, knowledge.DocumentState),
        (of_files.AddedDocument, knowledge.AddedDocument),
        (of_files.RemovedDocument, knowledge.DocumentRemoved),
        (of_files.Passage, knowledge.FoundPassage),
    ],
)
def test_values_have_the_fields_of_the_server(shown: type, sent: Any) -> None:
    assert list(get_type_hints(shown)) == list(sent.model_fields)


def test_words_are_those_of_the_server() -> None:
    assert get_args(of_actions.ActionStatus) == tuple(ActionStatus)
    assert get_args(of_conversations.Role) == tuple(MessageRole)
    assert get_args(of_files.SearchMode) == knowledge.MODES


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
    answer, question = maas.messages(opened["id"])
    assert (question["role"], question["content"], answer["role"]) == ("user", "My cat is called Pixel.", "assistant")
    assert maas.messages(opened["id"], role="tool") == [] and len(maas.messages(opened["id"], limit=1)) == 1
    assert maas.clear_conversation(opened["id"]) == 2 and maas.messages(opened["id"]) == []
    with pytest.raises(InvalidRequest, match="send mode or title"):
        maas.change_conversation(opened["id"])
    with pytest.raises(NotFound):
        maas.messages(NOBODY)


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
        image = await other.upload_image(picture("JPEG"), user_id=user)
        assert (await other.download_image(image["id"], user_id=user)).startswith(b"\xff\xd8")
        document = await other.add_document("canteen.md", PAGE, user_id=user)
        assert (await other.search_documents("millstone", user_id=user))[0]["document_id"] == document["id"]
