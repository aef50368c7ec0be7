"""What the built-in model says by itself; constant lines, so that they are never taken for something remembered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.models.extractive.words import Language, words


@dataclass(frozen=True, slots=True)
class Voice:
    """The constant lines of one language."""

    opening: str
    found: str
    nothing: str
    advice: str
    noted: str
    greeting: str
    user: str
    assistant: str
    you: str
    quoted: str
    unanswered: str


VOICES: dict[Language, Voice] = {
    "ru": Voice(
        opening="Отвечает встроенная модель MaaS: она не рассуждает, а только цитирует память.",
        found="Вот что нашлось:",
        nothing="В памяти нет ответа на этот вопрос.",
        advice="Чтобы получать связные ответы, подключите модель, например MAAS_MODEL=openai:gpt-4o.",
        noted="Сообщение сохранено в памяти.",
        greeting="Здравствуйте! Спросите меня о том, что мы уже обсуждали.",
        user="Пользователь",
        assistant="Ассистент",
        you="вы",
        quoted="В ответ приведены цитаты из памяти.",
        unanswered="Ответа в памяти не нашлось.",
    ),
    "en": Voice(
        opening="This is the built-in model of MaaS: it does not reason, it only quotes memory.",
        found="Here is what I found:",
        nothing="Memory holds no answer to this question.",
        advice="For real answers connect a model, for instance MAAS_MODEL=openai:gpt-4o.",
        noted="Your message is kept in memory.",
        greeting="Hello! Ask me about anything that we have talked about.",
        user="User",
        assistant="Assistant",
        you="you",
        quoted="The answer quoted memory.",
        unanswered="Memory held no answer.",
    ),
}

_SMALL = """
привет приветик приветствую здравствуй здравствуйте здорово добрый доброе доброго доброй день дня утро утра вечер
вечера ночи хай хеллоу салют спасибо спасибки благодарю большое огромное пасиб спс ок окей окэй хорошо ладно понятно
понял поняла ясно да нет угу ага пока прощай до свидания свиданья встречи скорой завтра как дела ты вы у тебя вас
супер отлично класс классно круто прекрасно договорились ха хаха хахах хе лол пожалуйста давай ну и а тебе вам за
помощь все удачи спокойной рад рада извини извините прости точно конечно ура вау ого ой эх хм ммм hi hello hey hiya yo
greetings good morning afternoon evening night thanks thank thx ty you u ok okay k kk fine cool great nice awesome
perfect sure yes yeah yep no nope bye goodbye cya see later soon take care how are is it going doing what's up sup
there so very much a lot for the your help lol haha hahaha hmm wow oh well alright right got sorry please welcome and
too everyone all again today have day
"""
_SMALL_WORDS = frozenset(_SMALL.split())
_COURTEOUS = re.compile(
    r"привет|здравств|добр(?:ый|ое|ого)|помочь|помог|пожалуйста|обращай|рад\b|рада\b|удачи|хорош\w{1,4}\s+дня|спасибо|свидан|до\s+встреч|"
    r"чем\s+могу|всегда\s+(?:рад|готов)|дела\b|"
    r"\b(?:hi|hello|hey|welcome|glad|happy\s+to|help|assist|thank|bye|good(?:bye|\s+(?:morning|day|evening|night))|take\s+care|"
    r"have\s+a|pleasure|anytime|no\s+problem|how\s+are)\b"
)
_SMALL_LENGTH = 8
_DIGIT = re.compile(r"\d")


def is_own(text: str) -> bool:
    """Whether `text` is an answer of the built-in model: nothing in it is new."""
    start = text.lstrip()
    return any(start.startswith((voice.opening, voice.greeting)) for voice in VOICES.values())


def is_small_talk(text: str) -> bool:
    """Whether a user's `text` is a greeting, thanks, a nod or only signs."""
    said = words(text)
    return not said or (len(said) <= _SMALL_LENGTH and all(word in _SMALL_WORDS for word in said))


def is_courtesy(sentence: str) -> bool:
    """Whether a `sentence` of an assistant only keeps up manners; one with a digit never does."""
    said = words(sentence)
    if _DIGIT.search(sentence):
        return False
    return len(said) <= 3 or is_small_talk(sentence) or (len(said) <= 14 and bool(_COURTEOUS.search(sentence.lower())))
