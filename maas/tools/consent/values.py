"""The values of a call as people say them: names in both alphabets, numbers in words, days and hours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from maas.conversations.phrases import words_of

MAX_NAME_CHARS, MAX_NAME_WORDS = 60, 5
_MAX_VALUE_CHARS = 200  # of a text that is read
MAX_LISTED = 10  # values of a list that are names, each
_EMAIL = "@"
_ADDRESSED = re.compile(r'"?([^"<>]++)"? *<[^<>]++>$')
_NUMBER = re.compile(r"([$€₽£]?) ?(\d{1,9})(?:[.,]0{1,2})? ?([$€₽£]|[a-zа-я]*)\.?")
_HOUR = re.compile(r"\b(\d{1,2})[:.](\d\d)(?::\d\d)?(?!\d)")
_TWELVE = re.compile(r"\b(\d{1,2})(?:h(\d\d))? ?([ap])\.?m\b\.?")
_LATIN_NAME = re.compile("[a-z]+")
_RUSSIAN_NAME = re.compile("[а-я]+")
CURRENCIES = {
    "dollars": "$ usd dollar dollars bucks доллар доллара долларов долларах баксов бакса",
    "euros": "€ eur euro euros евро",
    "pounds": "£ gbp pound pounds фунт фунта фунтов",
    "rubles": "₽ rub ruble rubles roubles рубль рубля рублей рублях руб р",
}
_CURRENCY_OF = {word: name for name, words in CURRENCIES.items() for word in words.split()}
_DAYS = (
    ("monday mon понедельник"),
    ("tuesday tue tues вторник"),
    ("wednesday wed среда"),
    ("thursday thu thurs четверг"),
    ("friday fri пятница"),
    ("saturday sat суббота"),
    ("sunday sun воскресенье"),
)
_DAY_FORMS = {"среда": "среду среды среде", "суббота": "субботу субботы", "пятница": "пятницу пятницы"}
_DAY_OF = {
    word: number
    for number, words in enumerate(_DAYS)
    for one in words.split()
    for word in (one, *_DAY_FORMS.get(one, "").split())
}
_MONTHS = (
    "january января",
    "february февраля",
    "march марта",
    "april апреля",
    "may мая",
    "june июня",
    "july июля",
    "august августа",
    "september сентября",
    "october октября",
    "november ноября",
    "december декабря",
)
_ONES = (
    "zero ноль", "one один одного одному", "two два двух двум двоим", "three три трех трем троим",
    "four четыре четырех четырем", "five пять пяти пятерым", "six шесть шести", "seven семь семи",
    "eight восемь восьми", "nine девять девяти", "ten десять десяти", "eleven одиннадцать одиннадцати",
    "twelve двенадцать двенадцати", "thirteen тринадцать тринадцати", "fourteen четырнадцать четырнадцати",
    "fifteen пятнадцать пятнадцати", "sixteen шестнадцать шестнадцати", "seventeen семнадцать семнадцати",
    "eighteen восемнадцать восемнадцати", "nineteen девятнадцать девятнадцати",
)  # fmt: skip
_TENS = (
    "",
    "",
    "twenty двадцать двадцати",
    "thirty тридцать тридцати",
    "forty сорок сорока",
    "fifty пятьдесят пятидесяти",
    "sixty шестьдесят шестидесяти",
    "seventy семьдесят семидесяти",
    "eighty восемьдесят восьмидесяти",
    "ninety девяносто девяноста",
    "hundred сто ста",
)
_SPELT = (  # longest first
    "shch=щ,zh=ж,kh=х,ts=ц,ch=ч,sh=ш,ya=я,yu=ю,yo=е,ye=е,iy=ий,yy=ый,a=а,b=б,v=в,g=г,d=д,e=е,z=з,i=и,j=й,k=к,l=л,m=м,"
    "n=н,o=о,p=п,r=р,s=с,t=т,u=у,f=ф,h=х,c=к,y=ы,x=кс,w=в,q=к"
)
_LETTERS = tuple((one.partition("=")[0], one.partition("=")[2]) for one in _SPELT.split(","))
_GLIDE = re.compile(r"(?<=[aeou])[iy](?![aeou])")


def in_russian_letters(text: str) -> str:
    """Return a Latin text as it would be written in Russian letters: `otpravlyai` is отправляй."""
    text = _GLIDE.sub("j", text)
    for latin, russian in _LETTERS:
        text = text.replace(latin, russian)
    return text


def _in_latin_letters(text: str) -> str:
    for latin, russian in _LETTERS:
        text = text.replace(russian, latin)
    return text


def plain_values(text: str) -> str:
    """Return a folded message with hours and amounts as single words: 15:00 is 15h00, $30 is 30 dollars."""
    text = re.sub(r"([$€₽£]) ?(\d+)\b", r"\2\1", text)
    text = re.sub(r"(?<=\d) ?([$€₽£])", lambda match: f" {_CURRENCY_OF[match[1]]}", text)
    text = _HOUR.sub(lambda match: f"{int(match[1])}h{match[2]}", text)
    return _TWELVE.sub(lambda match: f"{int(match[1])}h{match[2] or '00'}{match[3]}m", text)


def names_of(value: object) -> list[str]:
    """The names that a value gives its object: a short text, of an address what is before the @, in both alphabets."""
    if isinstance(value, list):
        return [name for one in value[:MAX_LISTED] for name in names_of(one)]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return []
    text = str(value).strip()
    if len(text) > _MAX_VALUE_CHARS or amounts_of(value) or times_of(value):
        return []
    parts: list[str] = []
    if match := _ADDRESSED.match(text):
        text = match[1].strip()
        parts = text.split()
    elif " " not in text and _EMAIL in text:
        text = text.partition(_EMAIL)[0]
        parts = [one for one in re.split(r"[._+-]|\d+", text) if len(one) > 2]
    if not 0 < len(text) <= MAX_NAME_CHARS or len(text.split()) > MAX_NAME_WORDS:
        return []
    return [spelt for one in dict.fromkeys((text, *parts)) for spelt in _spelt(one)]


def _spelt(name: str) -> list[str]:
    folded = name.casefold()
    if _LATIN_NAME.fullmatch(folded):
        return [name, in_russian_letters(folded)]
    if _RUSSIAN_NAME.fullmatch(folded):
        return [name, _in_latin_letters(folded)]
    return [name]


def amounts_of(value: object) -> list[str]:
    """How people say a number, alone or with the currency that its value names; a list says how many it has."""
    if isinstance(value, list) and len(value) > 1:
        return [*_numbers(len(value)), *(one for part in value[:MAX_LISTED] for one in amounts_of(part))]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return []
    match = _NUMBER.fullmatch(str(value)[:_MAX_VALUE_CHARS].strip().casefold())
    if match is None:
        return []
    number = _numbers(int(match[2]))
    unit = match[1] or match[3]
    return number if not unit or unit in _CURRENCY_OF else []


def currencies_of(value: object) -> list[str]:
    """The words of the currency that a value names, or is."""
    if not isinstance(value, str):
        return []
    text = value[:_MAX_VALUE_CHARS].strip().casefold()
    match = _NUMBER.fullmatch(text)
    name = _CURRENCY_OF.get((match[1] or match[3]) if match else text)
    return [one for one in CURRENCIES[name].split() if one.isalpha()] if name else []


def _numbers(number: int) -> list[str]:
    return [str(number), *_in_words(number)]


def _in_words(number: int) -> Iterator[str]:
    if number < len(_ONES):
        yield from _ONES[number].split()
    elif number <= 100 and number % 10 == 0:
        yield from _TENS[number // 10].split()
    elif number < 100:
        tens, ones = _TENS[number // 10].split(), _ONES[number % 10].split()
        yield from (f"{tens[0]} {ones[0]}", f"{tens[1]} {ones[1]}", *(f"{tens[2]} {one}" for one in ones[2:]))


def times_of(value: object) -> list[str]:
    """How people say a day, an hour, or both; nothing of a text that says more."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME_CHARS:
        return []
    text = value.strip()
    if re.match(r"\d{4}-\d\d-\d\d", text):
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            return []
        return [
            *_days(at.weekday()),
            *_dates(at.day, at.month),
            *(_hours(at.hour, at.minute) if len(text) > 10 else ()),
        ]
    return _times_in_words(plain_values(text.casefold()))


def _times_in_words(text: str) -> list[str]:
    said: list[str] = []
    for word in words_of(text):
        if word in _DAY_OF:
            said += _days(_DAY_OF[word])
        elif match := re.fullmatch(r"(\d{1,2})h(\d\d)([ap]m)?", word):
            late = 12 if match[3] == "pm" and int(match[1]) < 12 else 0
            said += _hours(int(match[1]) + late, int(match[2]))
        elif word not in ("at", "on", "в", "во", "на"):
            return []
    return said


def _days(number: int) -> list[str]:
    return [word for word, one in _DAY_OF.items() if one == number]


def _dates(day: int, month: int) -> list[str]:
    english, russian = _MONTHS[month - 1].split()
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day // 10 != 1 else 0, "th")
    ordinals = [str(day), f"{day}{ending}"]
    return [
        f"{day}{ending}",
        f"{day} {russian}",
        *(form for one in ordinals for form in (f"{english} {one}", f"{one} {english}", f"{one} of {english}")),
    ]


def _hours(hour: int, minute: int) -> list[str]:
    twelve = hour % 12 or 12
    half = "pm" if hour >= 12 else "am"
    said = [f"{hour}h{minute:02}", f"{twelve}h{minute:02}{half}", f"at {twelve}h{minute:02}", f"в {twelve}h{minute:02}"]
    if minute:
        return said
    for one in {hour, twelve}:
        said += [f"at {number}" for number in _numbers(one)]
        said += [
            f"{before} {number}{after}"
            for number in _numbers(one)
            for before in ("в", "на")
            for after in ("", " часов", " часа")
        ]
    words = ("дня", "вечера") if hour >= 12 else ("утра",)
    said += [f"{number} {word}" for number in _numbers(twelve) for word in words]
    return [*said, f"{_ONES[twelve].split()[0]} {half}", f"{_ONES[twelve].split()[0]} oclock"]
