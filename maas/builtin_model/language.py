"""Russian and English for the built-in model: words, stems, stop words, its constant replies, small talk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Language = Literal["ru", "en"]

_WORD = re.compile(r"[^\W_]+(?:[-'’.+#][^\W_]+)*[+#]*")
_CYRILLIC = re.compile("[а-яёА-ЯЁ]")
_LATIN = re.compile("[a-zA-Z]")
ONE_LANGUAGE, MIN_LETTERS = 0.8, 10  # share of the letters of a text that is in one language, and how many it needs

_STOP_TEXT = """
а без более больше бы был была были было быть в вам вами вас ваш ваша ваше ваши весь во вот все всегда всего всей всем
всех всю вы где да даже для до его ее ей если есть еще ж же за зачем и из или им ими их к как какая какие какой каким
каких какого какую ко когда который которая которое которые которого которой которых кто кого кому ли либо лучше между
меня мне много может можно мои мой моя мое моего моей моему моим моих мою моими моем мы на над надо нам нами нас наш
наша наше наши нашего нашей нашему нашим наших нашу нашем не него нее ней нет нибудь никогда ним них ничего но ну о об
один обо он она они оно от очень перед по под пожалуйста после потом потому почему почти при про просто раз разве с
сам сама сами свой своя свое свои своего своей своих свою себе себя сейчас сколько со совсем так также такая такие
такое такой там тебе тебя тем то того той только том тот ту ты тут у уж уже хорошо хоть чего чей чем через что чтоб
чтобы чуть эта эти этих это этого этой этом этот эту я скажи скажите расскажи расскажите напомни напомните назови
подскажи подскажите покажи хочу нужно нужен нужна знаешь знаете a about after again all also am an and any are as at
be because been before being between both but by can could did do does doing done don't for from get give had has have
having he her here hers him his how i i'd i'll i'm i've if in into is it it's its just know let like ll many may me
might mine more most much must my need no nor not now of off on once one only or other our ours out over own please re
s same shall she should so some such t tell than that that's the their them then there these they this those through
to too under until up us ve very want was we were what what's when where where's which while who who's whom whose why
will with would yes you your yours
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())

_RU_ENDING = re.compile(
    r"(.{3,}?)(?:(?:ованн|ирован|ующ|ющ|вш|енн|нн)(?:ый|ая|ое|ые|ого|ой|ому|ым|ых|ую|ом|ыми)|"
    r"ировать|ировал[аи]?|овать|овал[аио]?|ывать|ывал[аи]?|ивать|ивал[аи]?|"
    r"ость|ости|остью|иями|иях|иям|ием|ией|ия|ии|ию|ие|"
    r"ыми|ими|ого|его|ому|ему|ами|ями|ая|яя|ое|ее|ые|ый|ий|ую|юю|ых|их|ым|им|"
    r"уешь|ует|уют|аешь|ает|ают|аем|аете|яешь|яет|яют|еет|еют|ешь|ишь|ете|ите|ала|яла|ила|ела|ыла|ало|яло|ило|ело|али|яли|или|ели|ыли|ать|ять|ить|еть|ыть|"
    r"ал|ял|ил|ел|ыл|ут|ют|ат|ят|ет|ит|"
    r"ах|ях|ам|ям|ов|ев|ей|ой|ом|ем|ью|[аяоеиыуюьй]|)$"
)
_EN_IRREGULAR = {
    "bought": "buy", "came": "come", "children": "child", "did": "do", "ate": "eat", "found": "find", "gave": "give",
    "gone": "go", "got": "get", "grew": "grow", "kept": "keep", "knew": "know", "left": "leave", "lost": "lose",
    "made": "make", "men": "man", "met": "meet", "moved": "move", "named": "name", "paid": "pay", "people": "person",
    "ran": "run", "read": "read", "said": "say", "sang": "sing", "sat": "sit", "saw": "see", "sent": "send",
    "sold": "sell", "spoke": "speak", "spent": "spend", "taught": "teach", "thought": "think", "told": "tell",
    "took": "take", "went": "go", "women": "woman", "won": "win", "wrote": "write",
}  # fmt: skip

_EN_ENDINGS = (("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))


def words(text: str) -> list[str]:
    """Return the words of `text` in order, in lower case, with ё written as е."""
    return _WORD.findall(text.lower().replace("ё", "е").replace("’", "'"))


def content_words(text: str) -> list[str]:
    """Return the words of `text` that carry meaning, in order: no stop words, no single letters."""
    return [word for word in words(text) if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]


def stems_of(text: str) -> set[str]:
    """Return the stems of the words of `text` that carry meaning."""
    return set(map(stem, content_words(text)))


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Return a crude stem, so that inflected forms of one word compare equal. `word` must be lower case."""
    if _CYRILLIC.search(word):
        if len(word) > 5 and word.endswith(("ся", "сь")):
            word = word[:-2]
        match = _RU_ENDING.match(word)
        return match[1] if match else word
    return _english_stem(word)


def language(text: str) -> Language:
    """Return `ru` if `text` has at least as many Cyrillic letters as Latin ones, and any; else `en`."""
    cyrillic = len(_CYRILLIC.findall(text))
    return "ru" if cyrillic and cyrillic >= len(_LATIN.findall(text)) else "en"


def is_other_language(text: str, than: str) -> bool:
    """Return whether one text is in Russian and the other in a language with Latin letters, four fifths of each."""
    shares = [_cyrillic_share(one) for one in (text, than)]
    return None not in shares and abs((shares[0] or 0.0) - (shares[1] or 0.0)) > ONE_LANGUAGE


def _cyrillic_share(text: str) -> float | None:
    cyrillic, latin = len(_CYRILLIC.findall(text)), len(_LATIN.findall(text))
    return cyrillic / (cyrillic + latin) if cyrillic + latin >= MIN_LETTERS else None


def _english_stem(word: str) -> str:
    word = word.removesuffix("'s").removesuffix("'")
    word = _EN_IRREGULAR.get(word, word)
    if len(word) <= 3:
        return word
    for ending, replacement in _EN_ENDINGS:
        head = word.removesuffix(ending)
        if head == word or len(head) < 3 or not re.search("[aeiouy]", head):
            continue
        if ending == "s" and word.endswith(("ss", "us", "is")):
            break
        word = head + replacement
        if ending in ("ing", "ed") and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
            word = word[:-1]
        break
    return word.removesuffix("e") if len(word) > 3 else word


@dataclass(frozen=True, slots=True)
class Phrases:
    """The fixed sentences of the built-in model in one language; they are recognised and never archived."""

    opening: str
    results_heading: str
    nearest_heading: str
    no_result: str
    advice: str
    noted: str
    greeting: str
    user: str
    assistant: str
    you: str
    quoted: str
    unanswered: str


PHRASES: dict[Language, Phrases] = {
    "ru": Phrases(
        opening="Отвечает встроенная модель MaaS: она не рассуждает, а только цитирует память.",
        results_heading="Вот что нашлось:",
        nearest_heading="Ближайшее, что в ней есть:",
        no_result="В памяти нет ответа на этот вопрос.",
        advice="Чтобы получать связные ответы, подключите модель, например MAAS_MODEL=openai:gpt-4o.",
        noted="Сообщение сохранено в памяти.",
        greeting="Здравствуйте! Спросите меня о том, что мы уже обсуждали.",
        user="Пользователь",
        assistant="Ассистент",
        you="вы",
        quoted="В ответ приведены цитаты из памяти.",
        unanswered="Ответа в памяти не нашлось.",
    ),
    "en": Phrases(
        opening="This is the built-in model of MaaS: it does not reason, it only quotes memory.",
        results_heading="Here is what I found:",
        nearest_heading="The closest match:",
        no_result="Memory holds no answer to this question.",
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

_SMALL_TALK_TEXT = """
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
_SMALL_TALK = frozenset(_SMALL_TALK_TEXT.split())
_COURTEOUS = re.compile(
    r"привет|здравств|добр(?:ый|ое|ого)|помочь|помог|пожалуйста|обращай|рад\b|рада\b|удачи|хорош\w{1,4}\s+дня|спасибо|свидан|до\s+встреч|"
    r"чем\s+могу|всегда\s+(?:рад|готов)|дела\b|"
    r"\b(?:hi|hello|hey|welcome|glad|happy\s+to|help|assist|thank|bye|good(?:bye|\s+(?:morning|day|evening|night))|take\s+care|"
    r"have\s+a|pleasure|anytime|no\s+problem|how\s+are)\b"
)
MAX_SMALL_TALK_WORDS = 8
MAX_BARE_COURTESY_WORDS, MAX_COURTESY_WORDS = 3, 14
_DIGIT = re.compile(r"\d")


def is_builtin_answer(text: str) -> bool:
    """Return whether `text` is an answer of the built-in model, which holds nothing new."""
    start = text.lstrip()
    return any(start.startswith((phrases.opening, phrases.greeting)) for phrases in PHRASES.values())


def is_small_talk(text: str) -> bool:
    """Return whether a user's `text` is only a greeting, thanks, an acknowledgement or punctuation."""
    text_words = words(text)
    return not text_words or (
        len(text_words) <= MAX_SMALL_TALK_WORDS and all(word in _SMALL_TALK for word in text_words)
    )


def is_courteous(sentence: str) -> bool:
    """Return whether a sentence greets, thanks or wishes well, and holds no digit."""
    return (
        len(words(sentence)) <= MAX_COURTESY_WORDS
        and not _DIGIT.search(sentence)
        and bool(_COURTEOUS.search(sentence.lower()))
    )


def is_courtesy(sentence: str) -> bool:
    """Return whether an assistant's `sentence` is only a courtesy; a sentence with a digit never is."""
    if _DIGIT.search(sentence):
        return False
    return len(words(sentence)) <= MAX_BARE_COURTESY_WORDS or is_small_talk(sentence) or is_courteous(sentence)
