"""What came of an approved action, told to its user: by the assistant's model, or in a sentence of ours."""

from __future__ import annotations

import json
from time import monotonic
from typing import Literal

import structlog

from maas.agents.approved import Settled
from maas.agents.rounds import Asker, Language, language_of
from maas.pipeline.events import RunEvents
from maas.pipeline.prompts import Prompt, read_prompts, read_role_name, role_text
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps
from shared import tokens
from shared.errors import MaasError
from shared.models.types import Message, Request
from shared.text import clean, escape, is_blank, shorten

RESULT_TOKENS = 4000
REQUEST_TOKENS = 500
SHOWN = 1000
TASK = (
    "The user has approved the call above and it was attempted once; <outcome> holds its status and what it gave. Tell "
    "the user in words what came of it, in the language of <request>. `failed`: say why. `in_doubt`: nobody knows "
    "whether it took effect, it is not repeated, the user should look."
)
SENTENCES = {
    "en": {
        "done": "Done, as you approved: {call}. Result: {result}",
        "failed": "What you approved failed: {call}. {why}",
        "in_doubt": "Nobody knows whether what you approved took effect: {call}. I do not repeat it; please check.",
    },
    "ru": {
        "done": "Сделано, как вы одобрили: {call}. Результат: {result}",
        "failed": "То, что вы одобрили, не удалось: {call}. {why}",
        "in_doubt": "Неизвестно, подействовало ли то, что вы одобрили: {call}. Я этого не повторяю; проверьте сами.",
    },
}
REASONS = {
    "en": {
        "unknown_tool": "Nothing was done: the tool is not there any more.",
        "tool_changed": "Nothing was done: the tool has changed since it was proposed. Ask for it again.",
        "arguments_changed": "Nothing was done: the arguments are not those that were approved. Ask for it again.",
        "validation_error": "Nothing was done: the tool refuses these arguments.",
    },
    "ru": {
        "unknown_tool": "Ничего не сделано: такого инструмента больше нет.",
        "tool_changed": "Ничего не сделано: с тех пор инструмент изменился. Попросите об этом ещё раз.",
        "arguments_changed": "Ничего не сделано: аргументы не те, что были одобрены. Попросите об этом ещё раз.",
        "validation_error": "Ничего не сделано: инструмент не принимает таких аргументов.",
    },
}
log = structlog.get_logger()


async def tell(run: Run, deps: Deps, settled: Settled, language: Language, events: RunEvents) -> Outcome:
    """The answer in words, whatever the model does. Raises LostRun."""
    ours = sentence(settled, language_of(language, settled.asked))
    if deps.models["FinalResponder"].provider == "extractive":
        return Outcome(answer=ours)  # it quotes memory and knows of nothing else
    try:
        answer = await _asked(run, deps, settled, events)
    except MaasError as error:
        log.warning("outcome_told_by_rule", cause=str(error))
        answer = ""
    return Outcome(answer=ours, degraded="FinalResponder") if is_blank(answer) else Outcome(answer=answer)


async def _asked(run: Run, deps: Deps, settled: Settled, events: RunEvents) -> str:
    name = await read_role_name(deps.db, run.assistant)
    prompts = await read_prompts(deps.db, "FinalResponder", name)
    prompt = Prompt("FinalResponder", role_text(prompts, name), prompts["FinalResponder"].version)
    result = json.dumps({"status": settled.status, "result": settled.body}, ensure_ascii=False)
    text = (
        f"<request>\n{escape(tokens.fit(settled.asked, REQUEST_TOKENS))}\n</request>\n"
        f"<call>\n{escape(settled.words)}\n</call>\n"
        f"<outcome>\n{escape(tokens.fit(result, RESULT_TOKENS))}\n</outcome>\n{TASK}"
    )
    request = Request(
        role="FinalResponder",
        system=prompt.text,
        messages=(Message("user", text),),
        temperature=deps.settings.temperature,
        max_tokens=deps.settings.max_tokens,
        inputs={"user_query": settled.words, "memory": []},
    )
    end = monotonic() + deps.settings.responder_timeout
    reply = await Asker(run, deps, prompt, end, events if deps.settings.stream else None).ask(request)
    return clean(reply.text).strip()


def sentence(settled: Settled, language: Literal["ru", "en"]) -> str:
    """Ours, when the model has none."""
    code = settled.body.get("error_code", "")
    return SENTENCES[language][settled.status].format(
        call=settled.words,
        result=shorten(json.dumps(settled.body.get("data"), ensure_ascii=False), SHOWN),
        why=REASONS[language].get(code, shorten(str(settled.body.get("message", "")), SHOWN)),
    )
