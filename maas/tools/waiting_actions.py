"""What waits for the user's decision, shown by code at the end of an answer: no model has a word in it.

It begins with a mark that code takes out of what a model says, names the call in words, its object, old and new values,
and every argument, and says how to decide. Values are code spans of bounded length, so none of them can go on as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from maas import queries
from maas.conversations.language import Spoken, dialogue_language
from maas.engine.events import RunEvents
from maas.engine.run import LostRun, Outcome, Run
from maas.engine.stages import Deps
from maas.tools.labels import LABELS, label_of
from maas.tools.wording import in_language, value_in_language
from shared.text import clean, shorten, visible_line

MARK = "⏸"
NOTHING = "…"  # an answer of marks alone
MAX_SHOWN = 20
MAX_ARGUMENTS = 30
MAX_VALUE_CHARS, MAX_NAME_CHARS, MAX_PHRASE_CHARS = 300, 60, 200
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
WORDS: Mapping[Spoken, Mapping[str, str]] = {
    "en": {
        "one": "Waits for your decision, nothing is done yet:",
        "several": "{n} actions wait for your decision:",
        "object": "on",
        "true": "yes",
        "false": "no",
        "read": "It only reads.",
        "write": "It changes data.",
        "dangerous": "It may be impossible to undo.",
        "effect": "effect",
        "reason": "why you are asked",
        "more_arguments": "and {n} more",
        "more": "And {n} more.",
        "typed": "Type **yes** or **no**, or use the buttons.",
        "untyped": "Use the buttons, or approve or reject action {id}.",
        "several_typed": "Type **yes, all**, **no, all**, **yes, except the second** or **yes, the second**, "
        "or use the buttons; a yes or no alone decides nothing.",
        "none": "A typed yes or no decides none of several: use the buttons, or name the one that you mean.",
    },
    "ru": {
        "one": "Ждёт вашего решения, пока ничего не сделано:",
        "several": "Вашего решения ждут действия ({n}):",
        "object": "с чем",
        "true": "да",
        "false": "нет",
        "read": "Только чтение.",
        "write": "Изменит данные.",
        "dangerous": "Отменить потом может не получиться.",
        "effect": "действие",
        "reason": "почему нужен ответ",
        "more_arguments": "и ещё {n}",
        "more": "И ещё {n}.",
        "typed": "Напишите **да** или **нет** или нажмите кнопку.",
        "untyped": "Нажмите кнопку или примите решение о действии {id}.",
        "several_typed": "Напишите **да, все**, **нет, все**, **да, кроме второго** или **да, второе** или нажмите "
        "кнопки; одно «да» или «нет» ничего не решает.",
        "none": "Одно «да» или «нет» на несколько действий не действует: нажмите кнопки или назовите нужное.",
    },
}


async def with_waiting_actions(run: Run, deps: Deps, outcome: Outcome, events: RunEvents | None) -> Outcome:
    """The outcome with what waits at the end of its answer, if this run proposed it or was to decide it.

    From then on a typed yes or no is bound to what is shown here. Raises LostRun.
    """
    if outcome.answer is None or run.as_of is not None:
        return outcome
    said = outcome.answer.replace(MARK, "").strip()
    if run.log.waiting is None and run.kind != "task":
        return outcome if said == outcome.answer else replace(outcome, answer=said or NOTHING)
    rows = await deps.db.rows(queries.show_actions, run.id, run.attempt, run.log.waiting == "conversation", MAX_SHOWN)
    if not rows:
        return replace(outcome, answer=said or NOTHING)
    if rows[0]["number"] < 0:
        raise LostRun
    spoken = await dialogue_language(deps.db, run.id, run.log.language, run.user_query)
    shown = f"{_closed(said)}\n\n{describe(rows, spoken, is_dialogue=run.conversation_id is not None)}"
    if events is not None and said == outcome.answer:
        await events.extend(said, shown)
    return replace(outcome, answer=shown)


def describe(rows: Sequence[queries.ShowActionsRow], language: Spoken, *, is_dialogue: bool) -> str:
    """What waits, as Markdown that reads as plain text, too. `is_dialogue`: a typed yes or no can decide it."""
    words, number = WORDS[language], rows[0]["number"]
    if len(rows) == 1 and number == 1:
        (row,) = rows
        how = words["typed"] if is_dialogue else words["untyped"].format(id=f"`{row['id']}`")
        title, *lines = describe_call(row, language)
        return "\n".join([f"{MARK} **{words['one']}** {title}", *lines, "", how])
    lines = [f"{MARK} **{words['several'].format(n=number)}**"]
    for place, row in enumerate(rows, 1):
        title, *of_call = describe_call(row, language)
        lines += ["", f"**{place}.** {title}", *of_call]
    lines += ["", words["more"].format(n=number - len(rows))] if number > len(rows) else []
    return "\n".join([*lines, "", words["several_typed" if is_dialogue and len(rows) == number else "none"]])


class Call(TypedDict):
    """The columns of an action that say what it does."""

    tool: Any
    arguments: Any
    effect: Any
    wording: Any


def describe_call(row: Call, language: Spoken) -> list[str]:
    """The lines of Markdown that say what a call does: its title, object, changes, arguments, effect and reason."""
    return [title_of(row, language), *_lines(row, language)]


def cut_values(arguments: Mapping[str, Any], language: Spoken) -> list[str]:
    """The values of a call, as words, that `describe_call` shortens or leaves out, whole."""
    values = [_plain(value, language) for _, value in _in_items(arguments) if value not in (None, [])]
    return [text for number, text in enumerate(values) if number >= MAX_ARGUMENTS or len(text) > MAX_VALUE_CHARS]


def title_of(row: Call, language: Spoken) -> str:
    """A call in words: the title of its tool, which code gives, else what its tool says of itself, as a quotation."""
    title = row["wording"].get("title")
    name = code(row["tool"], MAX_NAME_CHARS)
    text = in_language(title, language)
    return f"{text} ({name})" if isinstance(title, Mapping) else f"{name}: {code(text, MAX_PHRASE_CHARS)}"


def describe_in_line(tool: str, wording: Mapping[str, Any], arguments: Mapping[str, Any], language: Spoken) -> str:
    """A call in one line of words."""
    parts = [f"{name} {value}" for name, value in _facts(wording, arguments, language)]
    title = wording.get("title")
    text = in_language(title, language) if isinstance(title, Mapping) else code(tool, MAX_NAME_CHARS)
    return f"{text} ({'; '.join(parts)})" if parts else text


def values_in_line(value: Any, language: Spoken, wording: Mapping[str, Any]) -> str:
    """What a call gave, in one line of words: its short values by name.

    Of a call whose object and changes were said, those alone that have a name in words, and were not said.
    """
    values = value if isinstance(value, Mapping) else {} if value is None else {"": value}
    if wording.get("object") or wording.get("changes"):
        said = {in_language(name, language) for name, _, _ in wording.get("changes") or ()}
        values = {name: one for name, one in values.items() if name in LABELS and LABELS[name][language] not in said}
    shown = {name: one for name, one in values.items() if one not in _NOTHING}
    parts = [f"{_label(name, language)} {code(one, language=language)}".strip() for name, one in shown.items()]
    return "; ".join(parts[:MAX_ARGUMENTS])


def _lines(row: Call, language: Spoken) -> list[str]:
    words, wording = WORDS[language], row["wording"]
    lines = [f"- {name}: {value}" for name, value in _facts(wording, row["arguments"], language)]
    lines.append(f"- {words['effect']}: {words[row['effect']]}")
    reason = wording.get("reason")
    if (text := in_language(reason, language)) and text != in_language(wording.get("title"), language):
        lines.append(f"- {words['reason']}: {text if isinstance(reason, Mapping) else code(text, MAX_PHRASE_CHARS)}")
    return lines


def _facts(wording: Mapping[str, Any], arguments: Any, language: Spoken) -> list[tuple[str, str]]:
    """The object, the changes and the arguments of a call: name and value."""
    words = WORDS[language]
    facts = [(words["object"], code(wording["object"]))] if wording.get("object") else []
    changes = [
        (in_language(name, language), value_in_language(old, language), value_in_language(new, language))
        for name, old, new in wording.get("changes") or ()
    ]
    facts += [
        (name, f"{code('?' if old is None else old, language=language)} → {code(new, language=language)}")
        for name, old, new in changes
    ]
    values = [
        (_label(name, language), value)
        for name, value in _in_items(arguments)
        if value is not None and value != [] and _label(name, language) not in {one for one, _, _ in changes}
    ]
    facts += [(name, code(value, language=language)) for name, value in values[:MAX_ARGUMENTS]]
    if len(values) > MAX_ARGUMENTS:
        facts.append(("…", words["more_arguments"].format(n=len(arguments) - MAX_ARGUMENTS)))
    return facts


def _in_items(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments by name; the items of a list of objects, such as steps, each by itself."""
    for name, value in arguments.items():
        if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
            yield from ((f"{name} {number}", one) for number, one in enumerate(value, 1))
        else:
            yield name, value


def _label(name: str, language: Spoken) -> str:
    return label_of(name, language) or (code(name, MAX_NAME_CHARS) if name else "")


def code(value: Any, chars: int = MAX_VALUE_CHARS, language: Spoken = "en") -> str:
    """A value as a code span of one line, which nothing in it can end."""
    shown = visible_line(shorten(clean(_plain(value, language)), chars)).replace("`", "ˋ").replace(MARK, "")
    return f"`{shown.strip() or ' '}`"


def _plain(value: Any, language: Spoken) -> str:
    """A JSON value as words."""
    if isinstance(value, Mapping):
        pairs = ((name, _plain(one, language)) for name, one in value.items() if one not in (None, [], {}))
        return "; ".join(f"{label_of(str(name), language) or name}: {one}" for name, one in pairs)
    if isinstance(value, list):
        return ", ".join(_plain(one, language) for one in value)
    if isinstance(value, bool):
        return WORDS[language]["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _closed(text: str) -> str:
    """A Markdown text whose last code block or comment is closed, so that what follows is not part of it."""
    fence = ""
    for line in text.splitlines():
        if (match := _FENCE.match(line)) is None:
            continue
        if not fence:
            fence = match[1]
        elif match[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
    is_hidden = text.rfind("<!--") > text.rfind("-->")  # clients that render HTML would not show what follows
    return f"{text}\n{fence}" if fence else f"{text} -->" if is_hidden else text
