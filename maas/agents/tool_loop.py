"""The tool loop of one answer: ask the model, make the calls of its reply, ask again, until it replies in words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import structlog

from maas.agents.written_calls import Translate, ask_with_tools, no_other_call, offered_call
from maas.conversations.language import Language, dialogue_language
from maas.engine.run import Run
from maas.engine.stages import Deps, Prompt
from maas.model_options import options_of
from maas.prompting.model_calls import ask, pin
from maas.prompting.now import with_now
from maas.prompting.result_room import result_room
from maas.runs.debug_info import debug_log
from maas.tools.bounds import MAX_DIALOGUE_TOKENS
from maas.tools.calls import ToolResult, tag_safe_json
from maas.tools.executor import Executor
from maas.tools.ledger import add_messages
from maas.tools.shown_results import ShownResults, WholeResult
from maas.tools.tool import Tool
from shared.models import Message, Reply, Request, ToolCall, spec_of
from shared.models.calls import StreamListener
from shared.text import clean, is_blank

STAGE = "final_responder"
ASK_FOR_WORDS = "Tell the user in words what came of it."
NO_WORDS = {
    "ru": "Я выполнил запрос, но не могу описать результат словами. Спросите меня о нём ещё раз.",
    "en": "I have worked on your request but found no words for the result. Please ask me about it again.",
}
Announce = Callable[[ToolCall, Tool | None], Awaitable[None]]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ResponderModel:
    """The Responder's model, asked on behalf of one run until `deadline` of the monotonic clock.

    `listener` receives the text as it is generated; `translate` a call of a tool that was not offered.
    """

    run: Run
    deps: Deps
    prompt: Prompt
    deadline: float
    listener: StreamListener | None = None
    translate: Translate = no_other_call

    async def ask(self, request: Request) -> Reply:
        """Raises MaasError, LostRun."""
        if request.tools:
            return await ask_with_tools(self._ask, request, self.listener, self._writes_calls, self.pin, self.translate)
        return await self._ask(request, self.listener)

    async def _ask(self, request: Request, listener: StreamListener | None) -> Reply:
        time_left = self.deadline - monotonic()
        request = await with_now(request, self.run, self.deps)
        return await ask(self.run, self.deps, STAGE, self.prompt, request, time_left, listener)

    def executed(self, calls: Sequence[ToolCall], request: Request) -> list[ToolCall]:
        """The calls of a reply to `request` as they are made: a call of a tool that was not offered by one that was."""
        offered = {tool.name for tool in request.tools}
        return [offered_call(call, offered, self.translate, is_written=False) or call for call in calls]

    def _writes_calls(self, reply: Reply) -> bool:
        """Whether the model of a reply is known to write its calls as text: by MAAS_MODELS, or as models at home do."""
        spec = spec_of(self.deps.models["FinalResponder"])
        if "model" in reply.raw:  # a fallback may have answered
            spec = f"{reply.raw['provider']}:{reply.raw['model']}"
        options = options_of(self.deps.settings, "FinalResponder", spec)
        return options.is_own_server if options.text_calls is None else options.text_calls

    def without_listener(self) -> ResponderModel:
        """The same model for replies that are not the answer."""
        return replace(self, listener=None)

    async def pin(self) -> None:
        """Store the replies so far, so that a crash repeats none of them. Raises LostRun."""
        await pin(self.run, self.deps)


@dataclass(frozen=True, slots=True)
class LoopResult:
    """How a tool loop ended: the last reply, all messages that were sent for it, and the number of rounds.

    `is_final`: the text of the reply is that of a tool, to be passed on as it is.
    """

    reply: Reply
    messages: tuple[Message, ...]
    rounds: int
    is_final: bool = False


async def run_tool_loop(
    model: ResponderModel,
    request: Request,
    executor: Executor,
    announce: Announce,
    max_rounds: int,
    language: Language,
    is_over: Callable[[], bool],
    first: Tool | None = None,
    say_preamble: Callable[[Reply, int], Awaitable[None]] | None = None,
    chosen: tuple[ToolCall, ...] = (),
) -> LoopResult:
    """Ask at most `max_rounds` times, or until `is_over` after a round of calls. Replies are pinned before their calls.

    `first` is a tool of the first round alone. `chosen` are calls that are made before the model is asked, which is a
    round more: the model that is asked once can still answer from their results.

    A model that has no words after its calls is asked once more if a round is left; otherwise NO_WORDS is the answer.
    """
    shown = ShownResults()
    max_rounds += bool(chosen)
    for number in range(1, max_rounds + 1):
        if number == max_rounds:
            request = replace(request, tool_choice="none")
        offered, making = request, executor
        if first is not None and number == 1:
            offered, making = replace(request, tools=(*request.tools, first.spec)), executor.with_tool(first)
        is_chosen = bool(chosen) and number == 1
        reply = Reply("", finish="tool_calls", calls=chosen) if is_chosen else await model.ask(offered)
        if not reply.calls or request.tool_choice == "none":
            break
        await model.pin()
        await debug_log().info(3, "round", {"number": number, "calls": [call.name for call in reply.calls]})
        if say_preamble is not None:
            await say_preamble(reply, number)
        executed = model.executed(reply.calls, offered)
        for call in executed:
            await announce(call, making.tools.get(call.name))
        results = await making.run(executed)
        await add_messages(model.run, results, reply)
        results = [replace(result, call=call) for result, call in zip(results, reply.calls, strict=True)]
        request = await with_results(model, request, reply, results, shown)
        if (final := final_text(results)) is not None:
            return LoopResult(tell(model, reply, final), request.messages, number, is_final=True)
        if is_over():
            return LoopResult(reply, request.messages, number)
    if number == 1 or not is_blank(clean(reply.text)):
        return LoopResult(reply, request.messages, number)
    return await _ask_for_words(model, request, reply, number, max_rounds, language)


async def _ask_for_words(
    model: ResponderModel, request: Request, reply: Reply, number: int, max_rounds: int, language: Language
) -> LoopResult:
    """Ask a model that had no words after its calls once more if a round is left; else the answer is NO_WORDS."""
    messages = request.messages
    if number < max_rounds:
        await model.pin()
        messages = (*messages, Message("user", ASK_FOR_WORDS))
        reply = await model.ask(replace(request, messages=messages, tool_choice="none"))
    if is_blank(clean(reply.text)):
        log.warning("no_answer_after_tools", assistant=model.run.assistant)
        spoken = await dialogue_language(model.deps.db, model.run.id, language, model.run.user_query)
        reply = replace(reply, text=NO_WORDS[spoken])
    return LoopResult(reply, messages, number)


def final_text(results: Sequence[ToolResult]) -> str | None:
    """Return the answer that a tool gave word for word; the first, if several did."""
    return next((result.final for result in results if result.final is not None), None)


@dataclass(frozen=True)
class ToolReply(Reply):
    """A reply whose words are those of a tool, to be passed on as they are."""


def tell(model: ResponderModel, reply: Reply, text: str) -> Reply:
    """Return a reply with the text of a tool in place of its own, streamed once."""
    if model.listener is not None:
        model.listener.begin()
        model.listener.text(text)
    return ToolReply(text, reply.finish, (), reply.usage, reply.raw)


async def with_results(
    model: ResponderModel, request: Request, reply: Reply, results: Sequence[ToolResult], shown: ShownResults
) -> Request:
    """The request with a reply and the results of its calls, as far as the model's room for results of tools goes."""
    messages = (*request.messages, reply.message())
    said = replace(request, messages=tuple(one for one in messages if one.role != "tool"))
    room = await result_room(model.deps, said, MAX_DIALOGUE_TOKENS)
    whole = [WholeResult(one.call, one.untimed(), one.tool) for one in results]
    return replace(request, messages=await shown.add(messages, whole, room))


def fenced_json(tag: str, value: Any, *, is_sorted: bool = True) -> str:
    """A JSON value between tags, as untrusted data for a model: nothing in it can close the tag."""
    return f"<{tag}>\n{tag_safe_json(value, is_sorted=is_sorted)}\n</{tag}>"
