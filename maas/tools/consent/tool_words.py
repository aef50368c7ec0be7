"""What tools do and work on, in the words of people who consent to it, in both languages: closed tables, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maas.tools.consent.phrases import phrases


@dataclass(frozen=True, slots=True)
class Verb:
    """What a tool does, in the words of people who consent to it.

    `keep`: phrases that refuse it by saying what shall stay as it is; `keep to` may be followed by the present value.
    `adverbs`: they say nothing about it that is not so anyway. `light` and `particles`: words that say it
    together, around its object, as in "put the campaign on hold".
    """

    forms: frozenset[str]
    keep: frozenset[str] = frozenset()
    light: frozenset[str] = frozenset()
    particles: frozenset[str] = frozenset()
    adverbs: frozenset[str] = frozenset()

    @property
    def participles(self) -> frozenset[str]:
        """How its English forms are called as something done: "deleted"."""
        forms = {form for one in self.forms if one.isascii() and " " not in one for form in _participles(one)}
        return frozenset(forms) | {_IRREGULAR[one] for one in self.forms & _IRREGULAR.keys()}

    @property
    def gerunds(self) -> frozenset[str]:
        """How its English forms are called as something being done: "sending"."""
        return frozenset(form for one in self.forms if one.isascii() and " " not in one for form in _gerunds(one))


_IRREGULAR = {
    "send": "sent",
    "put": "put",
    "set": "set",
    "make": "made",
    "pay": "paid",
    "cut": "cut",
    "write": "written",
}


def _participles(verb: str) -> tuple[str, ...]:
    return (f"{verb}d" if verb.endswith("e") else f"{verb}ed", f"{verb}{verb[-1]}ed")


def _gerunds(verb: str) -> tuple[str, ...]:
    stem = verb[:-1] if verb.endswith("e") else verb
    return (f"{verb}ing", f"{stem}ing", f"{verb}{verb[-1]}ing")


def _forms(english: str, imperatives: str, others: str = "") -> frozenset[str]:
    """Russian imperatives get the forms of the plural, too."""
    plural = (f"{one}те" for one in phrases(imperatives) if " " not in one)
    return phrases(english, imperatives, others) | frozenset(plural)


_KEEP = phrases(
    "keep it; keep that; keep this; keep it as is; keep it as it is; keep as is; keep; leave it in; сохрани; сохраняем",
    "оставляй; оставляем; не меняй ничего; keep it like that; keep it the way it is; keep them; пусть будет; сохраните",
)
_KEEP_RUNNING = phrases(
    "keep it running; leave it running; let it run; keep it on; leave it on; keep it going; keep running; let it be",
    "it should keep running; should keep running; it should run; it should stay on; it should keep going; "
    "keep it active; leave it active; leave it up; keep it up; keep it live; пусть работает; пусть идет; "
    "пусть крутится",
    "пусть продолжает; пусть продолжается; оставь включенной; оставь включенным; оставь работать; продолжай показ",
    "пусть живет; пусть крутится дальше; пусть работает дальше; пусть идет дальше; keep them running; "
    "leave them running",
)
# What a verb is called as a noun: it is named, and neither consents nor refuses.
NOUNS = phrases(
    "отправку; отправка; отправки; рассылку; запуск; запуска; удаление; удаления; публикацию; публикация; "
    "публикации; паузу",
    "пауза; остановку; изменение; изменения; создание; sending; deletion; publication; pausing; the change; "
    "the pause; бронь",
)
VERBS: Mapping[str, Verb] = {
    "send": Verb(_forms(
        "send; mail; email; forward; hit send; press send; click send; submit; send it along; send it on; "
        "fire it off; off it goes; away it goes; let it go out; let it out; let them go out; send off; "
        "shoot it; shoot it over; deliver; dispatch; ship; get it out",
        "отправь; отправляй; пошли; посылай; шли; вышли; высылай; отсылай; отошли; кидай; кинь; скинь; скидывай; "
        "пуляй",
        "отправить; отправлять; слать; отправляется; отправится; отправь адресату; отправим; отправляем; послать; "
        "посылать; выслать; высылать; шлем; пусть уходит; пусть уйдет; пусть летит; пусть отправляется; "
        "отправку; отправлю; посылаем; высылаем",
    ), light=phrases("get; let; fire; shoot"), particles=phrases("out; go out; fly; be sent")),
    "broadcast": Verb(_forms(
        "broadcast; blast; blast it; blast it out; launch; start; release; send it out; spread; roll it out; "
        "roll out",
        "рассылай; разошли; запускай; запусти; начинай; начни; стартуй; разослай; выпускай; выпусти",
        "разослать; рассылать; рассылаем; разошлем; запускаем; запустить; запускать; начинаем; запуск; рассылку",
    )),
    "delete": Verb(_forms(
        "delete; remove; erase; wipe; purge; trash; destroy; get rid of; clear; kill; drop; bin; nuke; "
        "scrap; toss; "
        "take down",
        "удали; удаляй; сноси; снеси; сотри; стирай; убери; убирай; уничтожь; уничтожай; грохни; выкидывай; "
        "выкинь; "
        "выбрасывай; выброси; вычеркни; ликвидируй; очисти; очищай; чисти; мочи; сотрите; зачищай",
        "удалить; удалять; удалим; удаляем; снести; сносим; стереть; убрать; убираем; уничтожить; стираем; "
        "удаление; очистить",
    ), _KEEP | _KEEP_RUNNING | phrases(
        "i want to keep it; i want to keep; id like to keep it; lets keep it; i still need it; i need it; "
        "we still need it; "
        "we need it; still need it; она мне нужна; она нужна; она еще нужна; мне она нужна; еще пригодится; "
        "пригодится; жалко"
    ), adverbs=phrases("for good; permanently; forever; completely; entirely; навсегда; насовсем; полностью; "
        "окончательно; "
                       "целиком; с концами")),
    "pause": Verb(_forms(
        "pause; stop; hold; halt; suspend; freeze; turn off; switch off; shut off; shut down; disable; "
        "deactivate; "
        "put on hold; "
        "put it on hold; put it on pause; put on pause; take it offline; turn it off; switch it off; "
        "shut it down; "
        "shut it off; stop running",
        "приостанови; приостанавливай; останови; останавливай; тормози; притормози; стопай; стопни; стопори; "
        "выключи; "
        "выключай; отключи; отключай; паузь; замораживай; заморозь; глуши; вырубай; выруби; деактивируй; гаси; "
        "погаси",
        "поставь на паузу; ставь на паузу; поставьте на паузу; ставьте на паузу; ставим на паузу; "
        "поставим на паузу; "
        "поставить на паузу; ставить на паузу; на паузу; приостановить; остановить; приостанавливаем; "
        "останавливаем; "
        "выключаем; отключаем; выключить; отключить; паузу; приостановим; остановим; тормозим; заморозить; пауза; "
        "стопаем; ставь паузу; поставь паузу; ставим паузу; поставим паузу; поставить паузу; сделай паузу; "
        "делай паузу; "
        "делаем паузу; ставьте паузу; поставьте паузу; бери паузу; нажми паузу; жми паузу; нажми на паузу; "
        "жми на паузу",
    ), _KEEP_RUNNING | phrases("keep it; не меняй ничего"),
        phrases("put; turn; switch; take; shut; поставь; ставь; ставим; поставим; поставьте; ставьте; "
        "поставить; ставить"),
        phrases("on hold; on pause; keep it on hold; leave it on hold; keep it on pause; leave it on pause; "
        "off; offline; down; on ice; на паузу; на стоп"),
        phrases("for now; for the moment; for the time being; temporarily; пока; пока что; на время; временно")),
    "resume": Verb(_forms(
        "resume; restart; reactivate; activate; enable; turn on; switch on; turn it on; switch it on; unpause; "
        "go on; carry on; continue; "
        "turn it back on; switch it back on; start; launch; relaunch",
        "возобнови; возобновляй; включи; включай; запусти; запускай; активируй; продолжай; продолжи; восстанови; "
        "стартуй",
        "сними с паузы; снимай с паузы; возобновить; включить; включаем; запускаем; возобновляем; запустить; "
        "снимаем с паузы",
    ), phrases("keep it paused; leave it paused; keep it off; leave it off; пусть стоит; оставь на паузе; "
        "пусть стоит на паузе")),
    "publish": Verb(_forms(
        "publish; post; ship; release; upload; share; go live; make it live; put it up; put it out; get it out; "
        "push it; off it goes; let it go out; let it out; let it go live; "
        "put it live; push it live; make it public; set it live; get it up; launch",
        "публикуй; опубликуй; выкладывай; выложи; пости; запости; размещай; размести; выпускай; выпусти; заливай; "
        "залей; "
        "запускай; запусти; вывешивай; вешай; кидай; выставляй",
        "опубликовать; публиковать; публикуем; выложить; выкладываем; постим; запостить; разместить; размещаем; "
        "выпускаем; "
        "в эфир; публикация; публикацию; опубликуем; выложим; запостим; заливаем; в прод; в ленту",
    ), light=phrases("put; push; set; make; get"), particles=phrases("up; out; live; public; online; out there"),
        keep=phrases("keep it private; keep it as a draft; leave it as a draft; keep it in drafts; "
        "keep it unpublished; leave it unpublished; keep it offline; оставь в черновиках; "
        "пусть полежит")),
    "create": Verb(_forms(
        "create; make; add; set up; set it up; put; put it; book; schedule; arrange; plan; organize; organise; "
        "insert; enter",
        "создай; создавай; добавь; добавляй; внеси; вноси; заведи; заводи; сделай; оформи; оформляй; записывай; "
        "запиши; "
        "поставь; ставь; впиши; вписывай; заноси; занеси",
        "создать; создавать; создаем; создадим; добавить; добавляем; вносим; заводим; ставим; поставим; "
        "записываем; "
        "внести",
    )),
    "schedule": Verb(_forms(
        "schedule; book; arrange; plan; set up; set it up; set; put; put it; pencil it in; lock it in; organize; "
        "organise; invite; "
        "reserve; send the invite; send the invites; send out the invites; send the invitation; "
        "send the invitations",
        "назначай; назначь; планируй; запланируй; бронируй; забронируй; ставь; поставь; организуй; собирай; "
        "собери; "
        "созывай; "
        "приглашай; пригласи; резервируй; зарезервируй; вписывай; вноси; внеси; бронь",
        "назначить; назначаем; запланировать; планируем; бронируем; забронировать; ставим; поставить; зови; "
        "зовем; "
        "поставим; "
        "организуем; приглашаем; организовать",
    )),
    "change": Verb(_forms(
        "change; update; set; adjust; edit; modify; apply; switch; move; change it over; make the change; "
        "apply the change; save",
        "меняй; поменяй; измени; изменяй; обнови; обновляй; правь; поправь; исправь; исправляй; ставь; поставь; "
        "установи; "
        "устанавливай; выставляй; выставь; корректируй; скорректируй; применяй; примени; переноси; перенеси; "
        "сохраняй; двигай",
        "изменить; менять; меняем; обновить; обновляем; поменять; поменяем; изменим; ставим; выставляем; "
        "применить; "
        "применяем; "
        "правим; переносим; перенести; выставить; установить",
    ), light=phrases("make; put; bring; get; пусть будет; пускай будет; сделай; делай; "
        "сделаем"), keep=_KEEP | phrases("keep the old one; leave the old one; оставь прежний; оставь старый; "
        "пусть будет как было; "
        "как было")),
    "raise": Verb(_forms(
        "raise; increase; bump; bump up; bump it up; up; up it; boost; boost it; crank it up; turn it up; "
        "jack it up; lift; hike",
        "поднимай; подними; повышай; повысь; увеличь; увеличивай; наращивай; прибавь; прибавляй; добавь; "
        "добавляй; "
        "задирай; накинь",
        "поднять; повысить; увеличить; поднимаем; повышаем; увеличиваем; поднимать; повышать; увеличивать; "
        "поднимем; повысим",
    )),
    "lower": Verb(_forms(
        "lower; decrease; reduce; cut; cut it; trim; bring it down; turn it down; drop; drop it; cut it down; "
        "slash; shrink",
        "снижай; снизь; уменьшай; уменьши; понижай; понизь; опускай; опусти; урежь; срезай; срежь; сокращай; "
        "сократи; убавь; режь",
        "снизить; уменьшить; понизить; снижаем; уменьшаем; понижаем; урезать; урезаем; сократить; снижать; "
        "уменьшать",
    )),
    "write": Verb(_forms(
        "write; write it down; note; note it; record; log; save; store; jot it down", "пиши; запиши; записывай; "
        "сохрани; "
        "сохраняй; фиксируй; зафиксируй; занеси; заноси", "записать; записываем; сохранить; запишем",
    )),
    "start": Verb(_forms(
        "start; launch; run; begin; kick it off; kick off; fire it up; start it up; get it started; get started; "
        "initiate",
        "запускай; запусти; начинай; начни; стартуй; приступай; приступи; заводи",
        "запустить; начать; запускаем; начинаем; запуск; стартуем; приступаем; начнем",
    )),
    "pay": Verb(_forms(
        "pay; transfer; buy; order; purchase; charge; wire it; checkout", "плати; оплати; оплачивай; переведи; "
        "переводи; купи; "
        "покупай; закажи; заказывай; списывай", "оплатить; заплатить; перевести; купить; заказать; оплачиваем; "
        "покупаем",
    )),
}  # fmt: skip
# What would undo a verb consents to nothing where that verb waits: "go on", where pausing waits.
OPPOSITES: Mapping[str, str] = {"pause": "resume", "resume": "pause"}
OBJECTS: Mapping[str, frozenset[str]] = {
    "email": phrases(
        "email; e mail; mail; letter; message; reply; answer; письмо; имейл; емейл; мейл; почту; сообщение; "
        "ответ; "
        "письмецо"
    ),
    "message": phrases("message; text; reply; answer; сообщение; текст; ответ; смс; сообщения; messages"),
    "broadcast": phrases(
        "broadcast; newsletter; mailing; message; messages; blast; campaign; to everyone; to all; to everybody; "
        "to all of them; "
        "everyone; everybody; all; всех; на всех; для всех; people; recipients; contacts; subscribers; "
        "of them; человек; людям; получателям; "
        "контактам; подписчикам; адресатам; to the whole list; to them all; to the list; to all clients; "
        "to all customers; "
        "рассылку; рассылка; сообщение; сообщения; всем; по всем; по списку; по всей базе; по базе; "
        "всем клиентам; "
        "им всем; "
        "всем им; клиентам; по всему списку; to the clients; to the customers; to clients; to customers"
    ),
    "campaign": phrases(
        "campaign; ads; ad; advertising; promo; кампанию; кампания; рекламу; реклама; рекламную кампанию; компанию; рк"
    ),
    "post": phrases(
        "post; article; publication; story; piece; entry; пост; публикацию; статью; запись; новость; постик; текст"
    ),
    "meeting": phrases(
        "meeting; event; appointment; call; that time; this time; the time; that day; the day; that slot; "
        "invite; invitation; slot; in the calendar; in my calendar; "
        "on the calendar; "
        "on my calendar; to the calendar; to my calendar; into the calendar; calendar; встречу; встреча; событие; "
        "созвон; "
        "в календарь; в календаре; звонок; митинг; совещание; в расписание; приглашение; приглашения; слот; "
        "встречку"
    ),
    "budget": phrases(
        "budget; daily budget; spend; limit; the amount; бюджет; дневной бюджет; лимит; сумму; бюджетик; ставку"
    ),
    "adset": phrases("ad set; adset; ad group; ads; группу; группу объявлений; адсет; объявления"),
    "direction": phrases("direction; направление"),
    "creative": phrases("creative; ad; ads; video; креатив; ролик; объявление; объявления; видео"),
    "test": phrases("test; experiment; тест; эксперимент; проверку"),
    "lead": phrases("lead; client; customer; лид; лида; клиента; заявку"),
    "task": phrases("task; work; job; plan; steps; задачу; работу; план; задание"),
    "line": phrases("line; строку; строчку; запись"),
    "file": phrases("file; document; doc; файл; документ"),
    "note": phrases("note; memo; заметку; запись"),
    "order": phrases("order; purchase; заказ; покупку"),
    "account": phrases("account; profile; аккаунт; профиль; учетную запись"),
    "status": phrases("status; stage; статус; этап; стадию"),
}
# Parts of a tool's name -> what it does and what it works on. Names of tools that say nothing of themselves use it.
NAMED_VERBS: Mapping[str, tuple[str, ...]] = {
    "send": ("send",), "mail": ("send",), "forward": ("send",), "reply": ("send",), "broadcast": ("send", "broadcast"),
    "bulk": ("send", "broadcast"), "mailing": ("send", "broadcast"), "delete": ("delete",), "remove": ("delete",),
    "erase": ("delete",), "wipe": ("delete",), "purge": ("delete",), "drop": ("delete",), "pause": ("pause",),
    "stop": ("pause",), "suspend": ("pause",), "disable": ("pause",), "resume": ("resume",), "enable": ("resume",),
    "activate": ("resume",), "publish": ("publish",), "post": ("publish",), "release": ("publish",),
    "upload": ("publish",),
    "share": ("publish",), "create": ("create",), "add": ("create",), "make": ("create",), "insert": ("create",),
    "meeting": ("schedule", "create"), "event": ("schedule", "create"), "appointment": ("schedule", "create"),
    "schedule": ("schedule",), "book": ("schedule",), "plan": ("schedule",), "invite": ("schedule",),
    "change": ("change",), "update": ("change",), "set": ("change",), "edit": ("change",), "modify": ("change",),
    "move": ("change",), "write": ("write",), "save": ("write",), "record": ("write",), "start": ("start",),
    "launch": ("start",), "run": ("start",), "begin": ("start",), "trigger": ("start",), "delegate": ("start",),
    "pay": ("pay",), "buy": ("pay",), "order": ("pay",), "transfer": ("pay",), "raise": ("raise",),
    "increase": ("raise",),
    "lower": ("lower",), "decrease": ("lower",), "reduce": ("lower",),
}  # fmt: skip
NAMED_OBJECTS: Mapping[str, str] = {
    "email": "email", "mail": "email", "letter": "email", "message": "message", "sms": "message",
    "broadcast": "broadcast",
    "bulk": "broadcast", "mailing": "broadcast", "newsletter": "broadcast", "campaign": "campaign", "post": "post",
    "article": "post", "meeting": "meeting", "event": "meeting", "appointment": "meeting", "calendar": "meeting",
    "budget": "budget", "adset": "adset", "direction": "direction", "creative": "creative", "test": "test",
    "lead": "lead",
    "task": "task", "line": "line", "file": "file", "document": "file", "note": "note", "order": "order",
    "account": "account", "status": "status", "stage": "status",
}  # fmt: skip
