"""Patterns of facts in Russian."""

from __future__ import annotations

import re

from maas.facts.patterns import pattern

_UNSURE = r"""
если|бы|может|могла?|возможно|наверное|вероятно|кажется|вроде|будто|представь\w*|допустим|чуть\sне|почти|шучу|шутка|
мечта\w+|хочу|хотел\w*|надеюсь|собираюсь|планиру\w+|думаю|считаю|сказал\w*|говор\w+|спросил\w*|пиш\w+|написал\w*|
слышал\w*|читал\w*|повест\w+|фильм\w*|игр[аеуы]|сказк\w+|песн\w+|приснил\w+|раньше|буду|будем|будет|ли
"""
UNSURE = re.compile(rf"[\"“”:()]|\b(?:{''.join(_UNSURE.split())})\b", re.IGNORECASE)
JOINTS = re.compile(r"[,;]\s|\s(?:и|а|но|потому что|так что|где|который|которая|которые)\s", re.IGNORECASE)
FILLERS = re.compile(
    r"(?:(?:ну|да|нет|привет|здравствуйте|кстати|вообще|и|а|но|ещё|еще|так вот|знай|учти|в общем|между прочим|"
    r"напомню|имей в виду)\s+)+",
    re.IGNORECASE,
)
DEPENDENT = (
    (re.compile(r"(?i)\b(?:сосед\w*|арендодател\w+|хозя(?:ин|йка) квартиры)\b"), "residence"),
    (re.compile(r"(?i)\bмо\w+ (?:начальни\w+|коллег\w+|руководител\w+|офис\w*|зарплат\w+)\b"), "work"),
)

_SINGLE_KIN = (
    "жен[ау]|мужа?|начальника?|начальниц[ау]|руководител[ья]|девушк[ау]|парня|парень|врача?|стоматолога?|"
    "мам[ау]|пап[ау]|мать|отца|отец"
)
_KIN = (
    "сестр[ау]|брата?|сына?|дочь|дочк[ау]|тёт[яю]|дяд[яю]|племянник[а]?|племянниц[ау]|бабушк[ау]|"
    "дедушк[ау]|друга?|подруг[ау]|коллег[ау]|сосед[а]?|соседк[ау]|тренера?"
)
_PET = "собак[ау]|пёс|пса|кошк[ау]|кота?|щен(?:ок|ка)|котён(?:ок|ка)|кролик[а]?|попугая?|хомяка?|черепах[ау]|лошадь"
_NAME = r"(?P<name>[А-ЯЁA-Z][\w-]+(?: [А-ЯЁA-Z][\w-]+)?)"
_MY = r"(?i:мо[яйюё]|моего|мо[её]му|наш[ау]?|нашего)"
_NOBODY = "Он|Она|Оно|Они|Мы|Вы|Ты|Кто|Никто|Все|Каждый|Там|Тут|Это|Который"
_PERSON = rf"(?P<who>(?!(?:{_NOBODY})\b)[А-ЯЁ][а-яё-]+(?: [А-ЯЁ][а-яё-]+)?)"
_WHO = rf"(?:(?:{_MY} (?:{_SINGLE_KIN}|{_KIN}) )?{_PERSON}|{_MY} (?P<kin>{_SINGLE_KIN}|{_KIN}))"
_PLACE = r"(?P<value>[«]?[А-ЯЁA-Z][\w.-]*[»]?(?: (?:на )?[«]?[А-ЯЁA-Z][\w.-]*[»]?){0,3})"
_TAIL = r"(?: .{1,60})?"
_NOW = r"(?i:(?:теперь|сейчас|уже|снова|опять|недавно|только что|всё ещё|все еще) )*"
_I = r"(?:(?i:я) )?"
_WE = r"(?:(?i:я|мы) )?"
_NO_THING = (
    r"это\w*|этот|тот|тебя|вас|его|её|ее|их|ему|ей|себя|когда|что|как|чтобы|то|тем|так\w*|всё|все|всех|тво\w+|ваш\w*"
)
_THING = rf"(?!(?:{_NO_THING})\b)(?P<value>[\w-]+(?: [\w-]+){{0,4}})"
_DAY = r"(?P<value>\d{1,2}(?:-?го)? [а-яё]+(?: \d{4}(?: года)?)?|\d{1,2}\.\d{1,2}(?:\.\d{2,4})?|\d{4}-\d\d-\d\d)"
_JOB = r"(?!(?:днём|днем|вечером|утром|ночью|целым|каждый)\b)(?P<value>[а-яё-]+(?:ом|ем|ём|ой|ей|ью))"
_DWELLING = r"(?:\w+ )?(?:квартиру|комнату|дом|студию|жиль[её])"
_KEYS = r"(?i:получил[аи]?|забрал[аи]?) ключи от (?:(?:нов|наш|сво|мо)\w+ )*(?:квартиры|комнаты|дома|студии|жилья)"
_CONTRACT = rf"{_I}{_NOW}(?:(?i:сегодня|вчера) )?(?i:подписал[а]?)"

SENTENCES = (  # whole, because their second half says what the first one means
    pattern(
        "state",
        "work",
        rf"{_CONTRACT} (?:договор|контракт) (?:во?|со?) {_PLACE},? (?:и )?(?:выхожу|начинаю|приступаю) .{{1,40}}",
        "begins",
    ),
    pattern("state", "work", rf"{_CONTRACT} трудовой (?:договор|контракт) (?:во?|со?) {_PLACE}{_TAIL}", "begins"),
)
PATTERNS = (
    pattern("identity", "name", rf"(?i:меня зовут|моё имя|мое имя|зовите меня|зови меня) {_NAME}"),
    pattern(
        "identity",
        "birthday",
        rf"(?i:мой день рождения|у меня день рождения|день рождения у меня)(?: —| -)? {_DAY}",
    ),
    pattern("identity", "birthday", rf"{_I}(?i:родился|родилась) {_DAY}{_TAIL}"),
    pattern("identity", "origin", rf"{_I}(?i:родом )?(?i:из) {_PLACE}"),
    pattern("identity", "age", r"(?i:мне) (?:уже )?(?P<value>\d{1,3}) (?:год|года|лет)"),
    pattern(
        "identity",
        "email",
        r"(?i:моя почта|мой email|мой e-mail|моя электронная почта)(?: —| -)? (?P<value>[^\s@]+@[^\s@]+)",
    ),
    pattern("identity", "phone", r"(?i:мой (?:номер )?телефона?)(?: —| -)? (?P<value>[+\d][\d ()-]{5,20})"),
    pattern("state", "residence", rf"{_WE}{_NOW}(?i:живу|живём|живем) (?:во?|на|под) {_PLACE}{_TAIL}"),
    pattern(
        "state",
        "residence",
        rf"{_WE}{_NOW}(?i:переехал[аи]?|перебрал(?:ся|ась|ись)) (?:жить )?(?:во?|на) {_PLACE}{_TAIL}",
        "begins",
    ),
    pattern("state", "residence", rf"(?i:(?:мой )?дом(?: у меня)?(?: теперь)?(?: —| -)?) (?:во?|на) {_PLACE}{_TAIL}"),
    pattern(
        "state", "residence", rf"{_WE}{_NOW}(?i:снима(?:ю|ем)|аренду(?:ю|ем)) {_DWELLING} (?:во?|на) {_PLACE}{_TAIL}"
    ),
    pattern("state", "residence", rf"{_WE}{_NOW}{_KEYS} (?:во?|на) {_PLACE}{_TAIL}", "begins"),
    pattern("state", "residence", rf"{_I}(?i:больше не живу) (?:во?|на) {_PLACE}{_TAIL}", "ends"),
    pattern("state", "residence", rf"{_WHO} {_NOW}(?:живёт|живет) (?:во?|на) {_PLACE}{_TAIL}"),
    pattern("state", "residence", rf"{_WHO} {_NOW}переехал[аи]? (?:жить )?(?:во?|на) {_PLACE}{_TAIL}", "begins"),
    pattern("state", "residence", rf"{_WHO} больше не жив[её]т (?:во?|на) {_PLACE}{_TAIL}", "ends"),
    pattern("state", "work", rf"{_I}{_NOW}(?i:работаю) (?:во?|на) {_PLACE}{_TAIL}"),
    pattern(
        "state",
        "work",
        rf"{_I}{_NOW}(?i:устроил(?:ся|ась)) (?:работать |на работу )?(?:во?|на) {_PLACE}{_TAIL}",
        "begins",
    ),
    pattern(
        "state",
        "work",
        rf"(?i:(?:сегодня |вчера )?(?:был )?(?:мой )?первый (?:рабочий )?день) (?:во?|на) {_PLACE}{_TAIL}",
        "begins",
    ),
    pattern("state", "work", rf"{_I}(?i:больше не работаю) (?:во?|на) {_PLACE}{_TAIL}", "ends"),
    pattern("state", "work", rf"{_I}{_NOW}(?i:уволил(?:ся|ась)){_TAIL}", "ends"),
    pattern("state", "work", rf"{_WHO} {_NOW}работает (?:во?|на) {_PLACE}{_TAIL}"),
    pattern("state", "profession", rf"{_I}{_NOW}(?i:работаю) {_JOB}"),
    pattern("state", "profession", rf"{_WHO} {_NOW}работает {_JOB}"),
    pattern(
        "state",
        "marriage",
        rf"{_I}(?P<value>(?i:женат|замужем|холост|вышла замуж|женился|разв[её]л(?:ся|ась)|развед[её]н[а]?)){_TAIL}",
    ),
    pattern("state", "allergy:{value}", rf"(?i:у меня) (?:сильная )?аллергия на {_THING}"),
    pattern("state", "life", rf"{_WHO} (?P<value>умер(?:ла|ли)?|скончал(?:ся|ась)){_TAIL}"),
    pattern("preference", "diet", rf"{_I}{_NOW}(?P<value>(?i:вегетариан(?:ец|ка)|веган(?:ка)?))"),
    pattern("preference", "diet", rf"{_I}(?i:больше не) (?P<value>вегетариан(?:ец|ка)|веган(?:ка)?)", "ends"),
    pattern(
        "preference", "eats:{value}", rf"{_I}(?i:больше не (?:ем|пью)|перестал[а]? (?:есть|пить)) {_THING}", "ends"
    ),
    pattern("preference", "eats:{value}", rf"{_I}(?i:не (?:ем|пью)) {_THING}"),
    pattern("state", "smokes", rf"{_I}(?i:больше не курю|бросил[а]? курить){_TAIL}", "ends"),
    pattern(
        "preference",
        "favourite:{thing}",
        r"(?i:мой любимый|моя любимая|мо[её] любимое) (?P<thing>\w+)(?: —| -) (?P<value>[\w-]+(?: [\w-]+){0,4})",
    ),
    pattern("preference", "likes:{value}", rf"{_I}(?i:больше не люблю|разлюбил[а]?) {_THING}", "ends"),
    pattern(
        "preference",
        "likes:{value}",
        rf"{_I}(?:(?i:очень|больше всего|просто) )?(?i:люблю|обожаю|предпочитаю) {_THING}",
    ),
    pattern("preference", "likes:{value}", rf"{_I}(?i:не люблю|ненавижу|терпеть не могу|не переношу) {_THING}"),
    pattern("relation", "{rel}", rf"{_MY} (?P<rel>{_SINGLE_KIN}) (?:зовут|звать) {_NAME}"),
    pattern("relation", "{rel}:{name}", rf"{_MY} (?P<rel>{_KIN}) (?:зовут|звать) {_NAME}"),
    pattern("relation", "{rel}", rf"{_MY} (?P<rel>{_SINGLE_KIN})(?: —| -)? {_NAME}(?: [а-яё].{{1,80}})?"),
    pattern("relation", "{rel}:{name}", rf"{_MY} (?P<rel>{_KIN})(?: —| -)? {_NAME}(?: [а-яё].{{1,80}})?"),
    pattern("relation", "{rel}:{name}", rf"(?i:у меня)(?: есть)? (?P<rel>{_KIN}) {_NAME}"),
    pattern("possession", "{pet}:{name}", rf"{_MY} (?P<pet>{_PET}) (?:зовут|звать) {_NAME}"),
    pattern("possession", "{pet}:{name}", rf"(?i:у меня)(?: есть)? (?P<pet>{_PET}) (?:по (?:кличке|имени) )?{_NAME}"),
    pattern("possession", "{pet}:{name}", rf"{_MY} (?P<pet>{_PET}) {_NAME} [а-яё].{{1,80}}"),
)
