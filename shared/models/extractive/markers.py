"""Marker words: what refers to an earlier talk, and how long ago it was."""

from __future__ import annotations

import re
from typing import Literal

Scope = Literal["hot", "warm", "cold"]

_NOUN = (
    r"(?:проект|задач|план|разговор|бесед|иде|вопрос|тем[аеуыо]|файл|документ|код|стать|книг|человек|люд|день|дня|случа|"
    r"список|списк|вариант|решени|встреч|рецепт|поездк|фильм|сериал|песн|игр|ошибк|функци|баз|отчет|письм|врач|отел|ресторан)"
)
_RECALL_RU = (
    r"(?:по|вс|на|за|при)?помн(?:ишь|ите|им|ишься|ил[аи]?|и|ить|ю)|напомин\w*|вспомина\w+",
    r"(?:мы|ты|вы|я)\s+(?:\w+\s+){0,3}?(?:обсу(?:жда|ди)л\w*|говорил\w*|сказал\w*|рассказ(?:ыва)?л\w*|писал\w*|упом(?:ина|яну)л\w*|"
    r"решил\w*|решал\w*|договорил\w*|договаривал\w*|останов\w+|совето?вал\w*|посовето?вал\w*|предл(?:ага|ожи)л\w*|планировал\w*|"
    r"просил\w*|спрашивал\w*|начал[аи]?|начинал\w*|делал\w*|обещал\w*|рекомендовал\w*|объяснял\w*)",
    r"(?:обсуждал[аио]?|обсуждавш\w+|обсудил[аи]|обговаривал[аи]|договорились|договаривались)",
    r"как\s+(?:и\s+)?(?:тогда|раньше|прежде|в\s+прошлый\s+раз|обычно\s+у\s+нас|всегда\s+у\s+нас)|в\s+(?:прошлый|тот|последний)\s+раз",
    r"(?:прошл|предыдущ|последн)\w+\s+(?:разговор|бесед|диалог|встреч|переписк|обсуждени|сообщени)\w*",
    r"продолж(?:и|ите|им|ай|айте|аем|ить|ать|ение|ения)|верн(?:емся|ись|итесь)\s+к|на\s+чем\s+мы\s+остановились",
    r"(?:ранее|до\s+этого|выше)\s+(?:\w+\s+)?(?:обсужд|говор|упом|сказа|писа|реш)\w*|из\s+нашей\s+переписки|наша\s+переписка",
    r"(?:обо?\s+мне|про\s+меня)|как\s+меня\s+зовут|кто\s+я|где\s+я\s+(?:живу|работаю|учусь)",
)
_OWN_RU = (
    r"мо(?:й|я|е|и|его|ей|ему|им|их|ими|ю|ем)|наш(?:а|е|и|его|ей|ему|им|их|ими|у|ем)?",
    r"(?:тот|та|ту|той|те|тех|теми)\s+(?:сам\w+\s+)?(?!же\b|кто\b|что\b|котор|или\b|и\b|не\b|самы|самой|стороны?\b)\w{3,}",
    r"(?:то|того|тому|тем|том|этот|эта|эту|этой|этого|этому|этим|этом|эти|этих)\s+(?:сам\w+\s+|же\s+)?" + _NOUN + r"\w*",
)
_RECALL_EN = (
    r"remember(?:ed|s|ing)?|recall(?:ed)?|remind(?:ed)?(?:\s+me)?",
    r"(?:we|you|i|we've|you've|i've)\s+(?:\w+\s+){0,2}?(?:discuss(?:ed)?|talk(?:ed|ing)?|spoke|chat(?:ted)?|mention(?:ed)?|said|told|"
    r"decid(?:e|ed)|agree(?:d)?|suggest(?:ed)?|recommend(?:ed)?|advis(?:ed)?|promis(?:ed)?|plann?ed|wrote|asked|started|left\s+off)",
    r"(?:last|previous|other|that|first)\s+(?:time|talk|chat|conversation|discussion|session|message)s?|like\s+before|as\s+before|"
    r"as\s+(?:usual|then)|like\s+then|back\s+then|(?:as|like)\s+(?:i|we|you)\s+(?:said|did)|earlier\s+(?:we|you|i)|(?:we|you|i)\s+earlier",
    r"continue|carry\s+on|go\s+on\s+with|pick\s+up\s+where|keep\s+going|where\s+were\s+we|let's\s+(?:get|go)\s+back\s+to|resume",
    r"(?:did|have|had|was)\s+(?:i|we)|about\s+me|who\s+am\s+i|where\s+do\s+i\s+(?:live|work|study)|do\s+you\s+know\s+(?:me|what\s+i)",
)
_OWN_EN = (
    r"my|mine|our|ours",
    r"(?:that|those)\s+(?:project|task|plan|idea|chat|conversation|file|document|code|article|book|person|guy|list|option|decision|"
    r"meeting|recipe|trip|movie|film|show|song|game|bug|error|function|report|email|letter|doctor|hotel|restaurant|place|one)s?",
)

_MONTH = (
    r"(?:январ|феврал|март|апрел|ма[йяею]\b|июн|июл|август|сентябр|октябр|ноябр|декабр|"
    r"january|february|march|april|may\b|june|july|august|september|october|november|december|"
    r"jan\b|feb\b|mar\b|apr\b|jun\b|jul\b|aug\b|sept?\b|oct\b|nov\b|dec\b)\w*"
)
_COLD = (
    r"(?:в\s+)?(?:прошл|позапрошл)\w+\s+(?:месяц|год|лет|зим|весн|осен)\w*|(?:месяц|полгода|год)\s+назад|(?:давно|давным-давно)|"
    r"(?:прошл\w+\s+)(?:летом|зимой|весной|осенью)|(?:в\s+начале|в\s+конце)\s+(?:прошлого\s+)?(?:года|месяца)",
    r"(?:last|previous)\s+(?:month|year|summer|winter|spring|autumn|fall)|(?:a|one)\s+(?:month|year)\s+ago|long\s+(?:time\s+)?ago|ages\s+ago",
    r"(?:в|за|с|до)\s+" + _MONTH + r"|(?:in|since|during|of)\s+(?:last\s+)?" + _MONTH,
    r"\d{1,2}(?:-?(?:го|е|ого)|st|nd|rd|th)?\s+(?:of\s+)?" + _MONTH + r"|" + _MONTH + r"\s+\d{1,2}(?:st|nd|rd|th)?\b",
    r"\d{4}-\d{2}(?:-\d{2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|(?:19|20)\d\d",
)
_WARM = (
    r"на\s+(?:\w+\s+)?неделе|неделю\s+назад|(?:прошл|эт)\w+\s+недел\w+|в\s+прошл\w+\s+(?:понедельник|вторник|сред|четверг|пятниц|суббот|воскресень)\w*",
    r"(?:this|last|past|previous|earlier\s+this)\s+week(?:end)?|(?:a|one)\s+week\s+ago|during\s+the\s+week|"
    r"last\s+(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)",
)
_HOT = (
    r"вчера|вчерашн\w+|позавчера\w*|недавно|недавн\w+|сегодня|сегодняшн\w+|только\s+что|утром|на\s+днях|в\s+последние\s+дни|день\s+назад",
    r"yesterday|recent(?:ly)?|today|just\s+now|this\s+(?:morning|afternoon|evening)|last\s+night|tonight|the\s+other\s+day|"
    r"(?:a|one)\s+day\s+ago|the\s+day\s+before",
)
_AGO = re.compile(
    r"\b(\d{1,3}|дв[аеу]х?|тр[иех]+|четыре|пять|шесть|семь|несколько|пару|two|three|four|five|six|seven|ten|few|several|couple\s+of)\s+"
    r"(дн|ден|день|недел|месяц|лет|год|day|week|month|year)\w*\s+(?:тому\s+)?(?:назад|ago)\b"
)
_NUMBERS = {
    "четыре": 4, "пять": 5, "шесть": 6, "семь": 7, "несколько": 4, "пару": 2, "two": 2, "three": 3, "four": 4, "five": 5,
    "six": 6, "seven": 7, "ten": 10, "few": 3, "several": 4,
}  # fmt: skip
_DAYS = {"дн": 1, "ден": 1, "день": 1, "day": 1, "недел": 7, "week": 7, "месяц": 30, "month": 30}


def _any(*groups: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(pattern for group in groups for pattern in group) + r")\b")


_CONTEXT = _any(_RECALL_RU, _OWN_RU, _RECALL_EN, _OWN_EN)
_RECALL = _any(_RECALL_RU, _RECALL_EN)
_SCOPES: tuple[tuple[Scope, re.Pattern[str]], ...] = (("cold", _any(_COLD)), ("warm", _any(_WARM)), ("hot", _any(_HOT)))
_LONGEST = 4000


def refers_back(query: str) -> bool:
    """Whether the query refers to an earlier talk or to what is the user's own."""
    return _CONTEXT.search(_plain(query)) is not None


def time_scope(query: str) -> Scope | None:
    """How long ago the query's time markers point: hot 3 days, warm 14, cold more. The farthest wins; None without one."""
    text = _plain(query)
    if ago := _AGO.search(text):
        days = _DAYS.get(ago[2], 365) * _number(ago[1])
        return "hot" if days <= 3 else "warm" if days <= 14 else "cold"
    return next((scope for scope, pattern in _SCOPES if pattern.search(text)), None)


def without_markers(query: str) -> str:
    """The query without phrases of recall and of time: what it is about. Lower case."""
    text = _RECALL.sub(" ", _plain(query))
    text = _AGO.sub(" ", text)
    for _, pattern in _SCOPES:
        text = pattern.sub(" ", text)
    return text


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _NUMBERS.get(word, 3 if word.startswith("тр") else 2)


def _plain(query: str) -> str:
    if len(query) > _LONGEST:
        query = query[: _LONGEST // 2] + " " + query[-_LONGEST // 2 :]
    return query.lower().replace("ё", "е").replace("’", "'")
