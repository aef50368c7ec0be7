"""Words, stems and stop lists of Russian and English, as far as the built-in model needs them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Language = Literal["ru", "en"]

_WORD = re.compile(r"[^\W_]+(?:[-'’.+#][^\W_]+)*[+#]*")
_CYRILLIC = re.compile("[а-яёА-ЯЁ]")
_LATIN = re.compile("[a-zA-Z]")

_STOP = """
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
STOP = frozenset(_STOP.split())

_RU_ENDING = re.compile(
    r"(.{3,}?)(?:(?:ованн|ирован|ующ|ющ|вш|енн|нн)(?:ый|ая|ое|ые|ого|ой|ому|ым|ых|ую|ом|ыми)|"
    r"ировать|ировал[аи]?|овать|овал[аио]?|ывать|ывал[аи]?|ивать|ивал[аи]?|"
    r"ость|ости|остью|иями|иях|иям|ием|ией|ия|ии|ию|ие|"
    r"ыми|ими|ого|его|ому|ему|ами|ями|ая|яя|ое|ее|ые|ый|ий|ую|юю|ых|их|ым|им|"
    r"уешь|ует|уют|аешь|ает|ают|аем|аете|яешь|яет|яют|еет|еют|ешь|ишь|ете|ите|ала|яла|ила|ела|ыла|ало|яло|ило|ело|али|яли|или|ели|ыли|ать|ять|ить|еть|ыть|"
    r"ал|ял|ил|ел|ыл|ут|ют|ат|ят|ет|ит|"
    r"ах|ях|ам|ям|ов|ев|ей|ой|ом|ем|ью|[аяоеиыуюьй]|)$"
)
_EN_PAST = {
    "bought": "buy", "came": "come", "children": "child", "did": "do", "ate": "eat", "found": "find", "gave": "give",
    "gone": "go", "got": "get", "grew": "grow", "kept": "keep", "knew": "know", "left": "leave", "lost": "lose",
    "made": "make", "men": "man", "met": "meet", "moved": "move", "named": "name", "paid": "pay", "people": "person",
    "ran": "run", "read": "read", "said": "say", "sang": "sing", "sat": "sit", "saw": "see", "sent": "send",
    "sold": "sell", "spoke": "speak", "spent": "spend", "taught": "teach", "thought": "think", "told": "tell",
    "took": "take", "went": "go", "women": "woman", "won": "win", "wrote": "write",
}  # fmt: skip

_EN_ENDINGS = (("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))


def words(text: str) -> list[str]:
    """The words of `text` in order, lower case, ё as е."""
    return _WORD.findall(text.lower().replace("ё", "е").replace("’", "'"))


def content(text: str) -> list[str]:
    """The words that carry meaning, in order: no stop words, no single letters."""
    return [word for word in words(text) if word not in STOP and (len(word) > 1 or word.isdigit())]


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """A crude stem: enough to let forms of one word meet. `word` is lower case."""
    if _CYRILLIC.search(word):
        if len(word) > 5 and word.endswith(("ся", "сь")):
            word = word[:-2]
        match = _RU_ENDING.match(word)
        return match[1] if match else word
    return _english(word)


def stems(text: str) -> frozenset[str]:
    """The stems of all content words of `text`."""
    return frozenset(map(stem, content(text)))


def language(text: str) -> Language:
    """`ru` when Cyrillic letters are not outnumbered by Latin ones, else `en`."""
    cyrillic = len(_CYRILLIC.findall(text))
    return "ru" if cyrillic and cyrillic >= len(_LATIN.findall(text)) else "en"


def _english(word: str) -> str:
    word = word.removesuffix("'s").removesuffix("'")
    word = _EN_PAST.get(word, word)
    if len(word) <= 3:
        return word
    for ending, instead in _EN_ENDINGS:
        head = word.removesuffix(ending)
        if head == word or len(head) < 3 or not re.search("[aeiouy]", head):
            continue
        if ending == "s" and word.endswith(("ss", "us", "is")):
            break
        word = head + instead
        if ending in ("ing", "ed") and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
            word = word[:-1]
        break
    return word.removesuffix("e") if len(word) > 3 else word
