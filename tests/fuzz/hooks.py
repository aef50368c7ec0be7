"""What schemathesis must know of MaaS that no schema can say; loaded through SCHEMATHESIS_HOOKS."""

from __future__ import annotations

import json
import os
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.core.failures import Failure, ServerError
from schemathesis.openapi.checks import EnsureResourceAvailability, UseAfterFree

from maas.http.knowledge import DOCUMENT_TYPES
from tests.fuzz.runs import PIECES
from tests.http_calls import A2A_MESSAGE
from tests.pictures import picture

OWN = os.environ.get("FUZZ_USER")  # whom the key of this run is bound to
FOREIGN = [word for word in os.environ.get("FUZZ_FOREIGN", "").split(",") if word]
LONG = [one * (60_000 // len(one.encode())) + "?" for one in PIECES]
USER = "2b4a0c1e-8f2f-4f0e-9d6a-2f6a3f1f7a11"
SAID: Any = {"role": "user", "content": "hello"}
SHOWN: Any = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
A2A: Any = {"method": "SendMessage", "params": A2A_MESSAGE}
ASKED: Any = {"id": "m1", "role": "user", "content": "hello"}
WHO: Any = {"assistant": "mentor", "user": OWN or USER}
VALID: dict[str, dict[str, Any]] = {  # fields of good bodies
    "POST /v1/knowledge/texts": {"name": "a.txt"},
    "PUT /v1/users/{id}/profile": {"timezone": "Europe/Moscow"},
    # schemathesis itself fails at a reply that names https://[
    "POST /v1/webhooks": {"url": "https://hooks.example/maas"},
    "PATCH /v1/webhooks/{id}": {"url": "https://hooks.example/maas"},
    "POST /v1/admin/webhooks": {"url": "https://hooks.example/maas"},
    "POST /v1/schedules": {"cron": "30 8 * * 1-5", "timezone": "Europe/Moscow"},
    "PATCH /v1/schedules/{id}": {"cron": "30 8 * * 1-5", "timezone": "Europe/Moscow"},
    "POST /v1/chat/completions": {
        "model": "mentor",
        "user": OWN or USER,
        "metadata": None,
        "messages": [SAID],
        "response_format": None,
    },
    "POST /v1/responses": {
        "model": "mentor",
        "user": OWN or USER,
        "metadata": None,
        "input": "hello",
        "previous_response_id": None,
        "background": None,
        "tools": None,
        "text": None,
    },
    "POST /v1/memories/search": {"filters": None},
    "POST /mem0/v3/memories/add/": {"messages": [SAID], "user_id": OWN or USER, "filters": None},
    "POST /mem0/v3/memories/search/": {"user_id": OWN or USER, "filters": None},
    "POST /mem0/v3/memories/": {"user_id": OWN or USER, "filters": None},
    "POST /v1/ui/chat": WHO | {"messages": [SHOWN]},
    "POST /v1/ag-ui/{model}": {"user": OWN or USER, "messages": [ASKED], "resume": None, "forwardedProps": None},
    "POST /v1/a2a/{model}": A2A,
    # services that no test reaches: the address of Facebook leads nowhere, amoCRM's is left out
    "POST /v1/users/{id}/ads/check": {"facebook": {"token": "EAAB0123456789"}, "crm": None},
    "POST /v1/users/{id}/ads/connections": {
        "business": "Kitchens",
        "facebook": {"token": "EAAB0123456789", "accounts": ["act_1"]},
        "crm": None,
    },
    "POST /api/brain/chat": WHO,
    "POST /api/brain/chat/stream": WHO,
    "POST /api/brain/telegram/chat": {"assistant": "mentor", "adAccountId": None},
}
ASKING_FACEBOOK = ("POST /v1/users/{id}/ads/check", "POST /v1/users/{id}/ads/connections")
IMPORT_TYPES = ("application/x-ndjson", "application/ndjson", "application/jsonl")


DOCUMENT = b"The mill is closed."
DOCUMENT_UPLOADS = ("POST /v1/knowledge", "POST /v1/admin/knowledge")
PICTURES = [picture("JPEG"), picture("PNG"), picture("WEBP")]
runs = st.sampled_from([one * (2_000 // len(one)) + "?" for one in PIECES])
words = st.one_of(st.text("abcя ", min_size=1), runs)
turns = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": words})
lines = st.lists(turns.filter(lambda turn: turn["content"].strip()), max_size=4).map(
    lambda whole: "\n".join(map(json.dumps, whole)).encode()
)
schemathesis.openapi.format("assistant", st.just("mentor"))  # one that is there
schemathesis.openapi.format(
    "attributes", st.dictionaries(st.text("abя", min_size=1, max_size=64), st.booleans(), max_size=16).map(json.dumps)
)
schemathesis.openapi.format("event-id", st.tuples(*[st.integers(0, 9)] * 3).map(lambda n: ".".join(map(str, n))))
schemathesis.openapi.format("user-event-id", st.integers(0, 10**18 - 1).map(str))
for kind, content in zip(("jpeg", "png", "webp"), PICTURES, strict=True):
    schemathesis.openapi.media_type(f"image/{kind}", st.just(content))
for name in DOCUMENT_TYPES:
    schemathesis.openapi.media_type(name, st.just(DOCUMENT))
for name in IMPORT_TYPES:
    schemathesis.openapi.media_type(name, lines)


@schemathesis.hook
def filter_case(context: HookContext, case: Case[Any]) -> bool:
    """Runs are listed of a user or in a status: that one of two parameters is needed, OpenAPI cannot say."""
    return case.operation.label != "GET /v1/runs" or bool({"user_id", "status"} & (case.query or {}).keys())


@schemathesis.hook
def map_case(context: HookContext, case: Case[Any]) -> Case[Any]:
    """Make valid what only looks so.

    Of a form with a file, schemathesis takes files of any kind and name, and leaves other fields empty. Of a completion
    and of a chat no schema can say that the last message is the user's, that the model is there, and that the key is
    bound to nobody; nor of other messages that the assistant who answers by default is not configured.
    """
    is_good = case.meta is not None and case.meta.generation.mode.is_positive
    if is_good and case.operation.label == "POST /v1/attachments" and isinstance(case.body, dict):
        body: dict[str, Any] = case.body
        body["user_id"] = body.get("user_id") or USER
        if body.get("file") not in PICTURES:
            body["file"] = PICTURES[0]
    if is_good and case.operation.label in DOCUMENT_UPLOADS and isinstance(case.body, dict):
        form: dict[str, Any] = case.body
        form |= {"name": "a.txt"}
        if case.operation.label == "POST /v1/knowledge":
            form |= {"user_id": form.get("user_id") or USER}
        if form.get("file") != DOCUMENT:
            form["file"] = DOCUMENT
    if is_good and isinstance(case.body, dict) and (valid := VALID.get(case.operation.label)):
        case.body |= valid
    if is_good and isinstance(case.body, dict) and len(query := str(case.body.get("query", ""))) % 5 == 1:
        case.body["query"] = LONG[len(query) % len(LONG)]
    if is_good and OWN is not None:
        _name_own_user(case)
    return case


def _name_own_user(case: Case[Any]) -> None:
    for part in (case.body, case.query):
        if isinstance(part, dict):
            part.update({name: OWN for name in ("user_id", "userId") if name in part})


@schemathesis.check
def tells_nothing_of_others(ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """No word that only somebody else knows."""
    assert not [word for word in FOREIGN if word.encode() in response.content]


owners: dict[str, str] = {}  # of what was made here
erased: set[str] = set()


@schemathesis.hook
def after_call(context: HookContext, case: Case[Any], response: Response) -> None:
    """Remember whose a new thing is, and who was erased."""
    if case.operation.label == "DELETE /v1/users/{id}" and response.status_code == 200:
        erased.add(response.json()["user_id"])
    if case.method == "POST" and response.status_code in (201, 202) and isinstance(case.body, dict):
        body = response.json()
        for name in ("id", "request_id"):
            owners[str(body.get(name))] = str(case.body.get("user_id"))


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """A user takes everything along when erased, and is nothing that could be missing: the export is empty then.

    To another user than its own a thing is not there. Facebook, which tests cannot reach, is said to be away by 503.
    """
    if isinstance(failure, ServerError) and case.operation.label in ASKING_FACEBOOK:
        return response.status_code != 503
    if isinstance(failure, UseAfterFree) and case.operation.label == "GET /v1/users/{id}/export":
        return response.text.count("\n") > 1
    if isinstance(failure, EnsureResourceAvailability):
        owner = owners.get(str(case.path_parameters["id"]))
        asking = case.body.get("user_id", owner) if isinstance(case.body, dict) else owner
        return owner not in erased and str(asking) == str(owner)
    return True
