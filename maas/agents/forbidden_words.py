"""Forbidden words of an assistant: a text that holds one is said again without it, else not at all."""

from __future__ import annotations

from dataclasses import replace

import structlog

from maas.agents.definition import Definition
from maas.agents.tool_loop import ResponderModel
from maas.conversations.language import dialogue_language
from maas.conversations.phrases import find_phrases
from shared.models import Message, Request
from shared.text import clean, is_blank

SAY_AGAIN = "Say the same to the user again in the same language, without these words and what they mean: {words}."
NOT_SAID = {
    "ru": "Об этом я не рассказываю. Давайте вернёмся к делу.",
    "en": "I do not talk about that. Let us get back to what you came for.",
}
log = structlog.get_logger()


async def without_forbidden_words(definition: Definition, model: ResponderModel, request: Request, text: str) -> str:
    """Return the text of a reply to `request` if it holds no forbidden word.

    Else the model is asked once to say it otherwise; if that does not help, the text is NOT_SAID. Raises MaasError,
    LostRun.
    """
    if not (found := find_phrases(text, definition.forbidden_words)):
        return text
    log.warning("forbidden_words", assistant=definition.name, words=found)
    await model.pin()
    again = (Message("assistant", text), Message("user", SAY_AGAIN.format(words=", ".join(found))))
    reply = await model.ask(replace(request, messages=(*request.messages, *again), tools=(), tool_choice="auto"))
    repaired = clean(reply.text)
    if not is_blank(repaired) and not find_phrases(repaired, definition.forbidden_words):
        return repaired
    run = model.run
    return NOT_SAID[await dialogue_language(model.deps.db, run.id, definition.language, run.user_query)]
