"""Answers of an assistant of figures: one that was made up, or made without a look where it asks, is asked for again.

What stands in neither results nor anything else that the model was given is invented. If no tool gave any data and
the second answer is no better, no figure is said; after data, with which a model may have reckoned, it is marked.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

import structlog

from maas.agents.answer_context import CONTEXT_TAG, AnswerContext
from maas.agents.chosen_call import asks_with_arguments, choose_call, is_elsewhere, ordered_tools
from maas.agents.figures import GivenFigures
from maas.agents.meta_tools import META_TOOLS
from maas.agents.slot_loop import CheckedReply
from maas.agents.tool_loop import ToolReply, tell
from maas.conversations.language import Spoken, dialogue_language
from shared.models import Message, Reply
from shared.text import clean, is_blank

DEGRADED = "figures"
MAX_NAMED = 8  # figures in what the model is told
ASK_AGAIN: dict[Spoken, str] = {
    "ru": "Этих цифр нет в данных: {figures}. Вызови инструмент, который даёт ответ, и бери цифры только из его "
    "результата. Если такого нет, скажи об этом и цифр не называй.",
    "en": "These figures are not in the data: {figures}. Call the tool that gives the answer and take figures from its "
    "result alone. If there is none, say so and name no figures.",
}
NOT_SAID: dict[Spoken, str] = {
    "ru": "Данных для ответа я не получил, а придумывать цифры не буду. Спросите ещё раз, назвав период и объект.",
    "en": "I was given no data for an answer and will not make figures up. Ask again and name the period and the "
    "object.",
}
NOT_DONE: dict[Spoken, str] = {
    "ru": "Я ничего не изменил: не понял, что именно сделать. Назовите объект и новое значение.",
    "en": "I have changed nothing: I did not understand what to do. Name the object and the new value.",
}
_ASKS_FOR_DATA = re.compile(
    r"\b(?:сколько|почём|почем|как(?:ой|ая|ое|ие|ую|их|ого|ов|ова|ово|овы)|покажи|сравни|топ|"
    r"how (?:many|much)|which|what (?:is|are|was|were)|show|compare|top)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_ASKS_BACK_OR_REFUSES = re.compile(
    r"\b(?:уточни|укажи|назови|напиши|выбери|не (?:могу|смог|буду|измен|понял|наш)|нельзя|невозможно|specify|tell me|"
    r"name the|choose|which|cannot|can't|could not|couldn't|unable|not (?:found|changed|possible))",
    re.IGNORECASE,
)
Route = Callable[[AnswerContext], Awaitable[Reply]]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Flaws:
    """Why an answer is not sent: figures from nowhere, a call written as text, a question of data without a look.

    `is_elsewhere`: the data are of another period or object than was asked for. `is_undone`: an act was ordered, and no
    tool was called, but the answer neither asks back nor says that nothing was done.
    """

    figures: tuple[str, ...] = ()
    is_call: bool = False
    is_unseen: bool = False
    is_elsewhere: bool = False
    is_undone: bool = False

    def __bool__(self) -> bool:
        return bool(self.figures) or self.is_call or self.is_unseen or self.is_elsewhere or self.is_undone


async def with_sources(context: AnswerContext, reply: Reply, route: Route) -> Reply:
    """Return the reply if its figures have a source, or else the one that the model gives when it is asked again.

    Nothing is asked twice where a tool was to change something. Raises MaasError, LostRun.
    """
    if not context.definition.sourced_figures or not (flaws := _flaws(context, reply)):
        return reply
    language = await dialogue_language(context.db, context.run.id, context.definition.language, context.run.user_query)
    log.warning("answer_without_source", assistant=context.definition.name, figures=len(flaws.figures))
    if not context.figures.has_acted:
        await context.model.pin()
        reply = await _answer_again(context, reply, flaws, language, route)
        flaws = _flaws(context, reply)
    if flaws.is_undone:
        return tell(context.model, reply, NOT_DONE[language])
    if flaws.is_call or (flaws.figures and not context.figures.has_data):
        return tell(context.model, reply, NOT_SAID[language])
    if flaws.figures or flaws.is_elsewhere:
        context.run.log.degraded = DEGRADED
    return reply


async def _answer_again(context: AnswerContext, reply: Reply, flaws: Flaws, language: Spoken, route: Route) -> Reply:
    """The answer after a look: a call that is chosen for the question, where the model has made none."""
    if flaws.is_elsewhere or not context.figures.has_called:
        call = await choose_call(context, language)
        return reply if call is None else await route(replace(context, chosen=(call,)))
    named = ", ".join(flaws.figures[:MAX_NAMED])
    said = () if is_blank(clean(reply.text)) else (Message("assistant", reply.text),)
    again = (*context.request.messages, *said, Message("user", ASK_AGAIN[language].format(figures=named)))
    return await route(replace(context, request=replace(context.request, messages=again)))


def _flaws(context: AnswerContext, reply: Reply) -> Flaws:
    if isinstance(reply, ToolReply | CheckedReply):
        return Flaws()
    names = (*META_TOOLS, *(one.name for one in context.tools))
    is_blind = not context.figures.has_called
    is_asked = _ASKS_FOR_DATA.search(context.run.user_query) is not None or asks_with_arguments(context)
    return Flaws(
        figures=tuple(context.figures.invented(reply.text, _given(context))),
        is_call=is_blind and any(name in reply.text for name in names),
        is_unseen=is_blind and is_asked and not _rests_on_context(context, reply.text),
        is_elsewhere=is_elsewhere(context),
        is_undone=is_blind and not _claims_nothing(reply.text) and bool(ordered_tools(context)),
    )


def _claims_nothing(answer: str) -> bool:
    """Whether an answer to an order begins by asking back, or by saying that nothing is done.

    What comes after counts for nothing: "It is done. Anything else?" asks, too.
    """
    first = _SENTENCE_END.split(answer.strip(), 1)[0]
    return first.endswith("?") or _ASKS_BACK_OR_REFUSES.search(first) is not None


def _rests_on_context(context: AnswerContext, answer: str) -> bool:
    """Whether all figures of an answer stand in what context providers gave, beside those of the question.

    Those of memory do not count: they may be of another day.
    """
    _, _, after = context.request.system.rpartition(f"<{CONTEXT_TAG}>\n")
    provided, _, _ = after.partition(f"\n</{CONTEXT_TAG}>")
    question, figures = context.run.user_query, GivenFigures()
    is_more = bool(figures.invented(answer, [question]))
    return is_more and not figures.invented(answer, [question, provided])


def _given(context: AnswerContext) -> Iterator[str]:
    yield context.request.system
    yield from (message.text for message in context.request.messages)
