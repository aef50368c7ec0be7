"""Approvals: an action that the user approved is executed once, and its outcome is reported to the user in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, cast

import structlog

from maas import queries
from maas.agents.definition import Definition
from maas.agents.tool_loop import ResponderModel
from maas.conversations.language import Spoken, dialogue_language, is_russian
from maas.engine.events import RunEvents
from maas.engine.run import LostRun, Outcome, Run
from maas.engine.stages import Deps, Prompt
from maas.prompting.prompts import prompt_language, read_prompts, read_role_name, role_text
from maas.tools.arguments import fingerprint, read_arguments
from maas.tools.calls import ToolResult, refused
from maas.tools.executor import Executor
from maas.tools.ledger import CallLog, add_messages
from maas.tools.models import RunModels
from maas.tools.openers import OpenDomains
from maas.tools.permissions import Permissions
from maas.tools.tool import Tool, ToolContext, Toolset
from maas.tools.waiting_actions import describe_in_line, values_in_line
from shared import tokens
from shared.errors import MaasError
from shared.json import json_object
from shared.models import Message, Request, ToolCall
from shared.text import clean, escape, is_blank, shorten

MAX_RESULT_TOKENS = 4000
MAX_REQUEST_TOKENS = 500
MAX_RESULT_CHARS = 1000  # of a result in a built-in sentence
TASK = (
    "The user has approved the call above and it was attempted once; <outcome> holds its status and what it gave. Tell "
    "the user in words what came of it, in {language}, without JSON and without names of fields. `failed`: say why. "
    "`in_doubt`: nobody knows whether it took effect, it is not repeated, the user should look."
)
LANGUAGES: Mapping[Spoken, str] = {"en": "English", "ru": "Russian"}
SENTENCES: Mapping[Spoken, Mapping[str, str]] = {
    "en": {
        "done": "Done, as you approved: {call}.",
        "failed": "What you approved failed: {call}. {why}",
        "in_doubt": "Nobody knows whether what you approved took effect: {call}. I do not repeat it; please check.",
        "result": "Result: {result}.",
    },
    "ru": {
        "done": "Сделано, как вы одобрили: {call}.",
        "failed": "То, что вы одобрили, не удалось: {call}. {why}",
        "in_doubt": "Неизвестно, подействовало ли то, что вы одобрили: {call}. Я этого не повторяю; проверьте сами.",
        "result": "Результат: {result}.",
    },
}
REASONS = {
    "en": {
        "unknown_tool": "Nothing was done: the tool no longer exists.",
        "tool_changed": "Nothing was done: the tool has changed since it was proposed. Ask for it again.",
        "arguments_changed": "Nothing was done: the arguments are not those that were approved. Ask for it again.",
        "validation_error": "Nothing was done: the tool refuses these arguments.",
        "not_connected": "Nothing was done: what it works with is not connected.",
        "no_data": "Nothing was done: there are no data for it yet.",
    },
    "ru": {
        "unknown_tool": "Ничего не сделано: такого инструмента больше нет.",
        "tool_changed": "Ничего не сделано: с тех пор инструмент изменился. Попросите об этом ещё раз.",
        "arguments_changed": "Ничего не сделано: аргументы не те, что были одобрены. Попросите об этом ещё раз.",
        "validation_error": "Ничего не сделано: инструмент не принимает таких аргументов.",
        "not_connected": "Ничего не сделано: то, с чем он работает, не подключено.",
        "no_data": "Ничего не сделано: данных для этого ещё нет.",
    },
}
ActionStatus = Literal["done", "failed", "in_doubt"]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """The end of an approved action: `body` is the result of the call of `tool`, which `agent` made.

    `request` is the user's request that led to it; `wording` is how it is described to people. `is_of_task`: a step of
    a task made the call.
    """

    tool: str
    arguments: Mapping[str, Any]
    wording: Mapping[str, Any]
    agent: str | None
    status: ActionStatus
    body: Mapping[str, Any]
    request: str
    is_of_task: bool


async def execute_approved(run: Run, deps: Deps, tools: Toolset, calls: CallLog, domains: OpenDomains) -> ActionOutcome:
    """Execute the action of a run of kind `action`, unless that was done before.

    Raises LostRun, MaasError('no_action').
    """
    db = deps.db
    row = await db.row(queries.open_action, run.id, run.attempt)
    assert row is not None
    match row["verdict"]:
        case "lost":
            raise LostRun
        case "missing":
            raise MaasError("no_action", f"run {run.id} executes no action; approve one with maas_decide_action")
        case "ended":
            status, body = row["status"], row["result"] or {}
        case _:
            body = await _execute(run, deps, row, tools, calls, domains)
            status = await db.value(queries.end_action, run.id, run.attempt, _status(body), body)
            if status is None:
                raise LostRun
    if body:
        await add_messages(run, [ToolResult(_call_of(row), body)])
    shown = {part: value for part, value in body.items() if part != "_meta"}
    return ActionOutcome(
        tool=row["tool"],
        arguments=row["arguments"],
        wording=row["wording"],
        agent=row["agent"],
        status=cast(ActionStatus, status),
        body=shown,
        request=row["asked"],
        is_of_task=row["is_of_task"],
    )


def _call_of(row: queries.OpenActionRow) -> ToolCall:
    return ToolCall(row["call_id"], row["tool"], json.dumps(row["arguments"], ensure_ascii=False))


async def _execute(
    run: Run, deps: Deps, row: queries.OpenActionRow, tools: Toolset, calls: CallLog, domains: OpenDomains
) -> Mapping[str, Any]:
    """The result of the call, refused if tool or arguments are not those that the user approved."""
    name = row["tool"]
    tool = tools.get(name)
    if tool is None:
        return refused("unknown_tool", f"{name} no longer exists")
    if tool.version != row["version"]:
        return refused("tool_changed", f"{name} is not what it was when this was proposed")
    if not row["is_intact"]:
        return refused("arguments_changed", f"the arguments of {name} are not those that were approved")
    call = _call_of(row)
    permissions = Permissions(frozenset({name}), "ask", 1, approved_fingerprints(tool, call))
    context = ToolContext(run.user_id, run.id, run.conversation_id, models=RunModels(run, deps))
    via = deps.settings.assistants.tools_via
    executor = Executor(tools, permissions, context, calls.ledger.count, calls.record, calls.ledger, domains, via)
    await calls.announce(call, tool)
    (result,) = await executor.run([call])
    return result.body


def approved_fingerprints(tool: Tool, call: ToolCall) -> frozenset[str]:
    """The fingerprints that permit exactly this call; none if the tool refuses its arguments."""
    with suppress(Exception):
        return frozenset({fingerprint(tool, read_arguments(tool, call.arguments).values)})
    return frozenset()


def _status(body: Mapping[str, Any]) -> ActionStatus:
    """The status where the ledger of writes has no other."""
    if body["success"]:
        return "done"
    return "in_doubt" if body["error_code"] == "in_doubt" else "failed"


async def narrate_outcome(
    run: Run, deps: Deps, outcome: ActionOutcome, definition: Definition | None, events: RunEvents
) -> Outcome:
    """The answer in the words of the tool or of the model that made the call, or a built-in sentence without either.

    Many calls of a task may be approved at once: no model is asked about each.

    Raises LostRun.
    """
    if outcome.status == "done" and (final := outcome.body.get("final")) is not None:
        return Outcome(answer=final)
    language = definition.language if definition else "auto"
    spoken = await dialogue_language(deps.db, run.id, language, outcome.request)
    built_in = outcome_sentence(outcome, spoken)
    if outcome.is_of_task:
        return Outcome(answer=built_in)
    try:
        deps = deps.with_responder_model(_model_of(definition, outcome.agent))
        if deps.models["FinalResponder"].provider == "extractive":
            return Outcome(answer=built_in)  # the built-in model quotes memory and knows of nothing else
        answer = await _ask_model(run, deps, outcome, definition, spoken, events)
    except MaasError as error:
        log.warning("outcome_reported_by_rules", cause=str(error))
        answer = ""
    is_answer = not is_blank(answer) and json_object(answer) is None
    return Outcome(answer=answer) if is_answer else Outcome(answer=built_in, degraded="FinalResponder")


def _model_of(definition: Definition | None, agent: str | None) -> str | None:
    """The model of the agent that made the call, else that of its assistant: another provider reads nothing of it."""
    if definition is None:
        return None
    own = next((one.model for one in definition.agents if one.name == agent), None)
    return own or definition.model


async def _ask_model(
    run: Run, deps: Deps, outcome: ActionOutcome, definition: Definition | None, spoken: Spoken, events: RunEvents
) -> str:
    name = await read_role_name(deps.db, run.assistant, run.user_id, run.assistants_version)
    language = await prompt_language(deps, run.assistant, run.assistants_version)
    prompts = await read_prompts(deps.db, "FinalResponder", name, version=run.assistants_version, language=language)
    base = prompts["FinalResponder"]
    prompt = Prompt(base.role, role_text(prompts, name), base.version)
    result = json.dumps({"status": outcome.status, "result": outcome.body}, ensure_ascii=False, sort_keys=True)
    call = describe_in_line(outcome.tool, outcome.wording, outcome.arguments, spoken)
    text = (
        f"<request>\n{escape(tokens.fit(outcome.request, MAX_REQUEST_TOKENS))}\n</request>\n"
        f"<call>\n{escape(call)}\n</call>\n"
        f"<outcome>\n{escape(tokens.fit(result, MAX_RESULT_TOKENS))}\n</outcome>\n"
        f"{TASK.format(language=LANGUAGES[spoken])}"
    )
    temperature = definition.temperature if definition else None
    request = Request(
        role="FinalResponder",
        system=prompt.text,
        messages=(Message("user", text),),
        temperature=deps.settings.answers.temperature if temperature is None else temperature,
        max_tokens=(definition.limits.tokens if definition else None) or deps.settings.answers.max_tokens,
        inputs={"user_query": call, "memory": []},
    )
    deadline = monotonic() + deps.settings.models.responder_timeout
    is_streamed = deps.settings.answers.stream and (definition is None or definition.stream)
    reply = await ResponderModel(run, deps, prompt, deadline, events if is_streamed else None).ask(request)
    return clean(reply.text).strip()


def outcome_sentence(outcome: ActionOutcome, language: Spoken) -> str:
    """The built-in sentences for an outcome: words and values, no JSON."""
    sentences, body = SENTENCES[language], outcome.body
    code = body.get("error_code", "")
    why = shorten(readable_reason(body, language), MAX_RESULT_CHARS)
    call = describe_in_line(outcome.tool, outcome.wording, outcome.arguments, language)
    text = sentences[outcome.status].format(call=call, why=REASONS[language].get(code, why)).rstrip()
    if outcome.status == "done" and (result := values_in_line(body.get("data"), language, outcome.wording)):
        text += " " + sentences["result"].format(result=result)
    return text


def readable_reason(body: Mapping[str, Any], language: Spoken) -> str:
    """Why a call gave nothing, in a language that the user reads; what a server says in another is for developers."""
    said, message = str(body.get("say", "")), str(body.get("message", ""))
    if language == "en":
        return message if is_russian(said) else said or message
    return next((one for one in (said, message) if is_russian(one)), "")
