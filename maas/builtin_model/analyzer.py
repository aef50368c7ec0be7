"""The built-in Analyzer: patterns that refer back, how much of the query memory covers, the best candidate."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from maas.builtin_model.language import content_words, stem

MIN_MEMORY_SCORE = 0.5
MIN_CANDIDATE_SCORE = 0.3
MAX_KEYWORDS = 4
Scope = Literal["hot", "warm", "cold"]

_NOUN = (
    r"(?:проект|задач|план|разговор|бесед|иде|вопрос|тем[аеуыо]|файл|документ|код|стать|книг|человек|люд|день|дня|случа|"
    r"список|списк|вариант|решени|встреч|рецепт|поездк|фильм|сериал|песн|игр|ошибк|функци|баз|отчет|письм|врач|отел|ресторан)\w*"
)
_BETWEEN_RU = (
    r"(?:(?:с\s+тобой|с\s+вами|тебе|вам|мне|нам|его|ее|их|это|эту|об\s+этом|про\s+это|тогда|уже|вчера|позавчера|недавно|сегодня|"
    r"ранее|раньше|прежде|как-то|однажды|же|ведь|вместе|тут|там|не|только\s+что|в\s+прошлый\s+раз|на\s+\w+)\s+){0,3}"
)
_SAID_RU = (
    r"(?:говорил|сказал|рассказ(?:ыва)?л|писал|написал|упом(?:ина|яну)л|просил|спрашивал|спросил|обещал|показ(?:ыва)?л|присл?ал|"
    r"присылал)\w*"
)
_RECALL_RU = (
    r"(?:по|вс|на|при)?помн(?:ишь|ите|им|ил[аи]?|и|ить|ю)|напомин\w*|вспомина\w+",
    r"(?:мы|ты|вы|я)\s+" + _BETWEEN_RU + _SAID_RU,
    r"(?:ты|вы)\s+"
    + _BETWEEN_RU
    + r"(?:совето?вал|посовето?вал|предл(?:ага|ожи)л|рекомендовал|порекомендовал|объясн(?:я|и)л)\w*",
    r"мы\s+"
    + _BETWEEN_RU
    + r"(?:реш(?:а|и)л|договорил|договаривал|остан(?:ови|авлива)л|планировал|запланировал|начал|начинал|"
    r"делал|сделал|выбрал|выбирал|общал|болтал)\w*",
    r"(?:обсуждал[аио]?|обсуждавш\w+|обсудил[аи]|обговаривал[аи]|договорились|договаривались)",
    r"как\s+(?:и\s+)?тогда|как\s+(?:и\s+)?(?:раньше|прежде)(?=\s*(?:[,.!?]|$))|в\s+(?:прошлый|тот)\s+раз",
    r"(?:прошл|предыдущ|последн)\w+\s+(?:разговор|бесед|диалог|переписк|обсуждени|сообщени)\w*",
    r"продолж(?:и|ите|им|ай|айте|аем)|продолж(?:ить|ать|ение|ения)\s+(?:нач|разговор|бесед|диалог|обсужд|тему)\w*|"
    r"верн(?:емся|ись|итесь)\s+к|на\s+чем\s+мы\s+остановились",
    r"(?:ранее|выше)\s+(?:\w+\s+)?(?:обсужд|говор|упом|сказа|писа)\w*|(?:обо?\s+мне|про\s+меня)|как\s+меня\s+зовут|кто\s+я|"
    r"где\s+я\s+(?:живу|работаю|учусь)",
)
_OWN_RU = (
    r"мо(?:й|я|е|и|его|ей|ему|им|их|ими|ю|ем)|наш(?:а|е|и|его|ей|ему|им|их|ими|у|ем)?",
    r"(?:тот|та|ту|той|те|тех|теми)\s+(?:сам\w+\s+)?(?!же\b|кто\b|что\b|котор|или\b|и\b|не\b|самы|самой|стороны?\b)\w{3,}",
    r"(?:то|того|тому|тем|том|этот|эта|эту|этой|этого|этому|этим|этом|эти|этих)\s+(?:сам\w+\s+|же\s+)?" + _NOUN,
)
_BETWEEN_EN = r"(?:(?:just|already|once|also|previously|earlier|recently|both|all|never|actually|have|had)\s+){0,2}"
_RECALL_EN = (
    r"remember(?:ed|s|ing)?|reminds?\s+(?:me|us)|(?:you|i)\s+recall|recall\s+(?:our|my|what|when|how|that)",
    r"(?:we|we've)\s+"
    + _BETWEEN_EN
    + r"(?:discussed|talked|spoke|chatted|mentioned|said|decided|agreed|planned|started|left\s+off|"
    r"chose|picked|did)",
    r"(?:you|you've)\s+"
    + _BETWEEN_EN
    + r"(?:said|told|mentioned|suggested|recommended|advised|promised|wrote|asked|explained|"
    r"offered)",
    r"(?:i|i've)\s+"
    + _BETWEEN_EN
    + r"(?:said|told|mentioned|promised|shared|asked\s+you|showed\s+you|sent\s+you|gave\s+you)",
    r"(?:did|have|had|was)\s+i|did\s+(?:we|you)\s+(?:\w+\s+)?(?:discuss|talk|say|tell|mention|decide|agree|suggest|recommend|advise|"
    r"promise|write|ask|plan|choose|do)|did\s+we|(?:we|i|you)\s+(?:were|was)\s+(?:talking|saying|discussing)",
    r"(?:last|previous)\s+(?:time|talk|chat|conversation|discussion|session|message)s?|(?:like|as)\s+(?:before|then)|back\s+then|"
    r"(?:as|like)\s+(?:i|we|you)\s+(?:said|did)|earlier\s+(?:we|you|i)",
    r"(?:please|let's|lets|to|we|you|ok|okay|now|so|and|yes|[,.!?:;]|^)\W*continue|continue\s+(?:our|my|from|where|what|with)|carry\s+on|"
    r"go\s+on\s+with|pick\s+up\s+where|keep\s+going|where\s+were\s+we|(?:get|go|come)\s+back\s+to\s+(?:our|my|the|that|what)|"
    r"resume\s+(?:our|the\s+(?:talk|chat|conversation|discussion))",
    r"about\s+me|who\s+am\s+i|where\s+do\s+i\s+(?:live|work|study)|do\s+you\s+know\s+(?:me|what\s+i)",
)
_OWN_EN = (
    r"my|(?<!a )mine|our|ours",
    r"(?:that|those)\s+(?:project|task|plan|idea|chat|conversation|file|document|code|article|book|person|guy|list|option|"
    r"decision|meeting|recipe|trip|movie|film|show|song|game|bug|error|function|report|email|letter|doctor|hotel|"
    r"restaurant|place|one)s?",
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
    "четыре": 4,
    "пять": 5,
    "шесть": 6,
    "семь": 7,
    "несколько": 4,
    "пару": 2,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "ten": 10,
    "few": 3,
    "several": 4,
}
_DAYS = {"дн": 1, "ден": 1, "день": 1, "day": 1, "недел": 7, "week": 7, "месяц": 30, "month": 30}


def _any(*groups: tuple[str, ...]) -> re.Pattern[str]:
    # (?!\w) and not \b: a pattern may end in a look-ahead at a sign.
    return re.compile(r"\b(?:" + "|".join(pattern for group in groups for pattern in group) + r")(?!\w)")


_CONTEXT = _any(_RECALL_RU, _OWN_RU, _RECALL_EN, _OWN_EN)
_RECALL = _any(_RECALL_RU, _RECALL_EN)
_SCOPES: tuple[tuple[Scope, re.Pattern[str]], ...] = (("cold", _any(_COLD)), ("warm", _any(_WARM)), ("hot", _any(_HOT)))
MAX_QUERY_CHARS = 4000


def analyze(inputs: Mapping[str, Any]) -> str:
    """Return the Analyzer's JSON for `user_query`.

    Inputs: `candidates` (label, score), best first, `memory_score` from 0 to 1, and `asks_of_user`, whether the query
    is a question in the first person.
    """
    score, asks_of_user = float(inputs.get("memory_score", 0.0)), bool(inputs.get("asks_of_user"))
    choice = classify(str(inputs["user_query"]), inputs.get("candidates", ()), score, asks_of_user=asks_of_user)
    return json.dumps(choice, ensure_ascii=False)


def classify(
    query: str, candidates: Sequence[Mapping[str, Any]], memory_score: float, *, asks_of_user: bool = False
) -> dict[str, Any]:
    """Return what a query is about; the stage falls back to it when its model returns no usable JSON."""
    needed = asks_of_user or refers_back(query) or memory_score >= MIN_MEMORY_SCORE
    best = next((one for one in candidates if float(one["score"]) >= MIN_CANDIDATE_SCORE), None) if needed else None
    return {
        "about": "person" if needed else "world",
        "record": best["label"] if best else "none",
        "keywords": keywords(query) if needed else [],
    }


def keywords(query: str) -> list[str]:
    """Return up to four content words of the query, one per stem, without words that only refer to time or talk."""
    by_stem: dict[str, str] = {}
    for word in content_words(without_markers(query)):
        by_stem.setdefault(stem(word), word)
    return list(by_stem.values())[:MAX_KEYWORDS]


def refers_back(query: str) -> bool:
    """Return whether the query refers to an earlier conversation or to something of the user's own."""
    return _refers_back(_plain(query))


@lru_cache(maxsize=256)
def _refers_back(text: str) -> bool:
    return _CONTEXT.search(text) is not None


def time_scope(query: str) -> Scope | None:
    """Return how far back the time expressions point: hot up to 3 days, warm up to 14, cold beyond; None without any.

    The farthest expression wins.
    """
    text = _plain(query)
    if ago := _AGO.search(text):
        days = _DAYS.get(ago[2], 365) * _number(ago[1])
        return "hot" if days <= 3 else "warm" if days <= 14 else "cold"
    return next((scope for scope, pattern in _SCOPES if pattern.search(text)), None)


def without_markers(query: str) -> str:
    """Return the query in lower case without phrases of recall and of time: its subject."""
    return _without_markers(_plain(query))


@lru_cache(maxsize=256)  # the stages of one run ask for the same query
def _without_markers(text: str) -> str:
    text = _RECALL.sub(" ", text)
    text = _AGO.sub(" ", text)
    for _, pattern in _SCOPES:
        text = pattern.sub(" ", text)
    return text


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _NUMBERS.get(word, 3 if word.startswith("тр") else 2)


def _plain(query: str) -> str:
    if len(query) > MAX_QUERY_CHARS:
        query = query[: MAX_QUERY_CHARS // 2] + " " + query[-MAX_QUERY_CHARS // 2 :]
    return query.lower().replace("ё", "е").replace("’", "'")
