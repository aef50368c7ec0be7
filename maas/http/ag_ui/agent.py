"""/v1/ag-ui/{model}: a thread of AG-UI as a conversation, and the stream of what an assistant answers in it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from structlog.contextvars import bind_contextvars

from maas import queries
from maas.conversations.actions import ActionStatus, read_action
from maas.conversations.language import language_of
from maas.http.ag_ui.events import AgentEvents
from maas.http.ag_ui.resume import Rejected, Reviewed, Shown, decide
from maas.http.ag_ui.schemas import AgentInput, AgentMessage
from maas.http.authorize import hold_stream, principal_of, read_body
from maas.http.chats import bad_message, conversation_named, decode_images, key_of, read_query, store_images
from maas.http.runs import with_marks
from maas.http.server_sent_events import EVENT_STREAM, EVENT_STREAM_HEADERS, KEEP_ALIVE_COMMENT, still_answering
from maas.http.state import AppState, app_state
from maas.http.users import read_user_header, resolve_user
from maas.runs.answers import read_answer
from maas.runs.submit import Submission
from shared.db import CONNECTION_LOST
from shared.errors import MaasError

BUSY = "the database does not answer; the answer is complete: GET /v1/runs/{}"


async def post_ag_ui(request: Request) -> Response:
    """Answer the last message of the user, or go on after its decisions, and stream the events of AG-UI.

    The same run of a thread again is the same request. Disconnecting does not cancel it.
    """
    state, principal = app_state(request), principal_of(request)
    body = await read_body(request, AgentInput)
    user_id = await resolve_user(request, body.user or read_user_header(request))
    hold_stream(request)
    conversation_id = conversation_named(user_id, body.thread_id)
    shown: Sequence[Shown | Rejected | Reviewed]
    if body.resume:
        shown = await decide(state, user_id, conversation_id, body.resume, principal.name)
    else:
        assistant = request.path_params["model"]
        run_id = await _ask(state, body, user_id, conversation_id, assistant, principal.name)
        bind_contextvars(run_id=run_id)  # for the log line of this request
        shown = [Shown(run_id)]
    events = stream_events(state, AgentEvents(body.thread_id, body.run_id), shown)
    return StreamingResponse(events, media_type=EVENT_STREAM, headers=EVENT_STREAM_HEADERS)


async def _ask(
    state: AppState, body: AgentInput, user_id: UUID, conversation_id: UUID, assistant: str, caller: str
) -> UUID:
    """Submit the last message of the user."""
    said = next((one for one in reversed(body.messages) if one.role == "user"), None)
    if said is None:
        raise bad_message("none of them has the role user")
    query, images = _read(said)
    wishes = body.forwarded_props.maas if body.forwarded_props else None
    mode, marks = (wishes.mode, wishes.marks) if wishes else (None, None)
    names = [str(conversation_id), body.run_id, said.id, query, assistant, mode, marks, images]
    return await state.submissions.submit(
        Submission(
            user_id=user_id,
            query=query,
            assistant=assistant,
            conversation_id=conversation_id,
            mode=mode,
            metadata=with_marks(None, marks),
            caller=caller,
            idempotency_key=key_of("ag-ui", names),
            attachment_ids=await store_images(state, user_id, decode_images(images)),
        )
    )


def _read(message: AgentMessage) -> tuple[str, list[str]]:
    """The text of a message, and its images in base64; of others the server fetches nothing for a client."""
    if not isinstance(message.content, list):
        return read_query([message.content]), []
    texts, images = [], []
    for part in message.content:
        source = part.get("source")
        if part.get("type") == "text":
            texts.append(part.get("text"))
        elif part.get("type") == "image" and isinstance(source, dict) and source.get("type") == "data":
            images.append(str(source.get("value")))
        else:
            raise bad_message("a part must be text, or an image with a source of the type data; nothing is fetched")
    return read_query(texts), images


async def stream_events(
    state: AppState, events: AgentEvents, shown: Sequence[Shown | Rejected | Reviewed]
) -> AsyncGenerator[str, None]:
    """Yield the events of a run of the protocol, up to its end. Disconnecting does not cancel what it shows."""
    yield events.begin()
    last: UUID | None = None
    for one in shown:
        if not isinstance(one, Shown):
            yield events.answer(one)
            continue
        events.show(one)
        last, is_answered = one.run_id, False
        async with state.follow_run(last) as pages:
            async for page in pages:
                if not page:
                    yield KEEP_ALIVE_COMMENT
                for event in page:
                    if event.type == "done":
                        is_answered = True
                        yield "".join(events.close(json.loads(event.data)["final_answer"]))
                    elif event.type == "error":
                        data = json.loads(event.data)
                        yield events.fail(data["message"] or "the run failed", data["code"])
                        return
                    else:
                        yield "".join(events.events_of(event))
        if not is_answered:
            yield events.fail(still_answering(last), None)
            return
    try:
        answer = None if last is None else await read_answer(state.db, last)
        waiting = await _waiting(state, events)
        proposed_in = waiting[0]["run_id"] if waiting else None
        said = answer if answer or proposed_in is None else await read_answer(state.db, proposed_in)
    except (MaasError, *CONNECTION_LOST):
        yield events.fail(BUSY.format(last), None)
        return
    yield events.finish(answer, waiting, language_of(said.answer or "") if said else "en")


async def _waiting(state: AppState, events: AgentEvents) -> list[queries.ActionRow]:
    """The actions that were proposed in this run and wait for a decision."""
    actions = [await read_action(state.db, UUID(one)) for one in dict.fromkeys(events.action_ids)]
    return [one for one in actions if one["status"] == ActionStatus.PENDING]
