"""Messages of A2A: the first one begins a task; to one that waits, others decide or say more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from maas import queries
from maas.conversations.actions import Decision, decide_action, read_action
from maas.conversations.agent_tasks import SOURCE, Task, find_task
from maas.http.a2a.errors import A2AError, Code, task_not_found, unsupported
from maas.http.a2a.schemas import A2AMessage, DecisionPart
from maas.http.action_edits import edit
from maas.http.chats import conversation_named, decode_images, key_of, read_query, store_images
from maas.http.state import AppState
from maas.runs.submit import Submission
from shared.errors import problems_of
from shared.text import as_uuid


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends to whom."""

    user_id: UUID
    assistant: str
    caller: str


async def read_task(state: AppState, sender: Sender, task_id: str) -> Task:
    """Return a task of this user and assistant. Raises A2AError."""
    found = as_uuid(task_id)
    task = await find_task(state.db, sender.user_id, sender.assistant, found) if found is not None else None
    if task is None:
        raise task_not_found(task_id)
    return task


async def take_message(state: AppState, sender: Sender, message: A2AMessage) -> Task:
    """Begin a task with a message, or go on with the one that it names. Raises A2AError, MaasError."""
    if not message.task_id:
        context_id = _read_context(sender, message)
        return await _ask(state, sender, message, context_id, None)
    task = await read_task(state, sender, message.task_id)
    if message.context_id not in ("", str(task.context_id)):
        raise A2AError(Code.INVALID_PARAMS, "message.contextId: is not that of the task")
    if task.state != "INPUT_REQUIRED":
        raise unsupported(f"task {task.id} is {task.state} and takes no message; send one without taskId")
    decisions = [_read_decision(part.data) for part in message.parts if part.data is not None]
    if not decisions:
        return await _ask(state, sender, message, task.context_id, task)
    await _decide(state, sender, task, decisions)
    return await read_task(state, sender, message.task_id)


def _read_context(sender: Sender, message: A2AMessage) -> UUID:
    """Return the conversation of a message; without one it is made of the id of the message, which may come again."""
    if not message.context_id:
        return conversation_named(sender.user_id, f"a2a {sender.assistant} {message.message_id}")
    context_id = as_uuid(message.context_id)
    if context_id is None:
        raise A2AError(Code.INVALID_PARAMS, "message.contextId: must be a UUID, or left out")
    return context_id


async def _ask(state: AppState, sender: Sender, message: A2AMessage, context_id: UUID, task: Task | None) -> Task:
    query, images = _read(message)
    names: dict[str, str] = {"message": message.message_id} | ({} if task is None else {"task": str(task.id)})
    key = key_of("a2a", [str(sender.user_id), sender.assistant, str(context_id), names, query, images])
    run_id = await state.submissions.submit(
        Submission(
            user_id=sender.user_id,
            query=query,
            assistant=sender.assistant,
            conversation_id=context_id,
            metadata={"a2a": names},
            source=SOURCE,
            caller=sender.caller,
            idempotency_key=key,
            attachment_ids=await store_images(state, sender.user_id, decode_images(images)),
        )
    )
    return await read_task(state, sender, str(task.id if task else run_id))


def _read(message: A2AMessage) -> tuple[str, list[str]]:
    """Return the text of a message, and its images in base64; the server fetches nothing for a client."""
    texts, images = [], []
    for part in message.parts:
        if part.text is not None:
            texts.append(part.text)
        elif part.raw is not None and part.media_type.startswith("image/"):
            images.append(part.raw)
        else:
            raise A2AError(Code.CONTENT_TYPE_NOT_SUPPORTED, "a part must be text or a raw image; nothing is fetched")
    return read_query(texts), images


def _read_decision(data: object) -> DecisionPart:
    try:
        return DecisionPart.model_validate(data)
    except ValidationError as error:
        problem = problems_of(error)[0]
        raise A2AError(Code.INVALID_PARAMS, f"message.parts: data.{problem.field}: {problem.message}") from error


async def _decide(state: AppState, sender: Sender, task: Task, parts: Sequence[DecisionPart]) -> None:
    """Decide the actions that the parts name; one that names none is about all that wait."""
    waiting = [UUID(one["id"]) for one in task.waiting]
    if unknown := [str(part.action) for part in parts if part.action is not None and part.action not in waiting]:
        raise A2AError(Code.INVALID_PARAMS, f"message.parts: the task has no action {unknown[0]} that waits")
    if len(waiting) > 1 and any(part.action is None and (part.arguments or part.fingerprint) for part in parts):
        raise A2AError(Code.INVALID_PARAMS, "message.parts: data.action is required; several actions wait")
    for part in parts:
        for action_id in waiting if part.action is None else [part.action]:
            fingerprint = part.fingerprint
            if part.approved and part.arguments is not None:
                action, is_looked_up = await _edit(state, sender, action_id, part.arguments)
                if is_looked_up:  # it waits as it is now, and the task says so
                    continue
                fingerprint = action["fingerprint"]
            decision: Decision = "approve" if part.approved else "reject"
            limit = state.submissions.queue_limit
            await decide_action(state.db, action_id, sender.user_id, decision, sender.caller, limit, fingerprint)


async def _edit(
    state: AppState, sender: Sender, action_id: UUID, arguments: dict[str, Any]
) -> tuple[queries.ActionRow, bool]:
    """Return the action with these arguments, and whether they were looked up and have to be shown again."""
    action = await read_action(state.db, action_id, sender.user_id)
    if action["arguments"] == arguments:
        return action, False
    return await edit(state, action_id, sender.user_id, arguments, sender.caller)
