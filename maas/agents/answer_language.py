"""The language of answers: what a model says in another than its assistant's is said again, else marked as degraded."""

from __future__ import annotations

import re
from dataclasses import replace

import structlog

from maas.agents.definition import Definition
from maas.agents.tool_loop import ResponderModel
from maas.conversations.language import Spoken
from shared.models import Message, Request
from shared.text import clean, is_blank

DEGRADED = "language"
MIN_LETTERS = 20  # of a text that is checked: a shorter one may be a name and a number
MIN_SHARE = 0.5
MAX_READ_CHARS = 10_000  # what a longer answer begins with says enough
SAY_AGAIN = {
    "ru": "Скажи то же самое по-русски. Имена, цитаты и код оставь как есть.",
    "en": "Say the same in English. Leave names, quotations and code as they are.",
}
# What may be in any language: code, quotations, addresses. One pass, without backtracking.
_FOREIGN = re.compile(
    r"```[^`]*```|`[^`\n]*`|«[^«»]*»|“[^“”]*”|\"[^\"\n]*\"|https?://\S+|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,255}"
)
_LETTERS = {"ru": re.compile("[А-Яа-яЁё]"), "en": re.compile("[A-Za-z]")}
_LETTER = re.compile(r"[^\W\d_]")
log = structlog.get_logger()


def is_in(language: Spoken, text: str) -> bool:
    """Whether at least half of the letters outside of code, quotations and addresses are those of the language."""
    own_words = _FOREIGN.sub(" ", text[:MAX_READ_CHARS])
    letters = len(_LETTER.findall(own_words))
    return letters < MIN_LETTERS or len(_LETTERS[language].findall(own_words)) >= MIN_SHARE * letters


async def in_own_language(definition: Definition, model: ResponderModel, request: Request, text: str) -> str:
    """Return the text of a reply to `request` if it is in the language of the assistant.

    Else the model is asked once to say it in that language; if that does not help, its first text stays and the answer
    is marked as degraded. Raises MaasError, LostRun.
    """
    language = definition.language
    if not definition.strict_language or language == "auto" or is_in(language, text):
        return text
    log.warning("answer_in_wrong_language", assistant=definition.name, wanted=language)
    await model.pin()
    again = (Message("assistant", text), Message("user", SAY_AGAIN[language]))
    asked = replace(request, messages=(*request.messages, *again), tools=(), tool_choice="auto")
    repaired = clean((await model.without_listener().ask(asked)).text)
    if is_blank(repaired) or not is_in(language, repaired):
        model.run.log.degraded = DEGRADED
        return text
    if model.listener is not None:
        model.listener.begin()
        model.listener.text(repaired)
    return repaired
