"""The words of consent and refusal, in English and Russian: closed tables, as data.

A phrase may have several words; phrases of one entry are separated by `;`. Letters are folded, without apostrophes, and
ё is е. A form that is not here says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


def phrases(*texts: str) -> frozenset[str]:
    """The phrases of some texts."""
    return frozenset(one.strip() for text in texts for one in text.split(";") if one.strip())


# Says yes whatever else is said, if that is no refusal.
YES = phrases(
    "y; ya; yes; yeah; yea; yep; yup; yah; aye; sure; sure thing; for sure; of course; certainly; absolutely; definitely",
    "affirmative; agreed; i agree; agree; confirm; confirmed; i confirm; approve; approved; i approve; accepted; granted",
    "mhm; uh huh; im sure; i am sure; pretty sure; right; correct; exactly; indeed; thats right; that is right",
    "thats correct; that is correct; thats it; thats the one; by all means; why not; no problem; no problems; no worries",
    "no objections; no objection; i have no objections; i dont mind; dont mind; fine by me; fine with me; ok by me",
    "ok with me; okay by me; okay with me; good with me; im ok with that; im fine with that; im good with that",
    "im happy with that; im happy with it; happy with that; happy with it; im ok with it; im fine with it; im good with it; i am happy with it; works; works for me; that works; that works for me",
    "it works; it works for me; this works; sounds good; sounds good to me; that sounds good; that sounds good to me",
    "sounds great; sounds fine; sounds perfect; sounds right; sounds like a plan; looks good; looks good to me",
    "that looks good; it looks good; this looks good; looks great; looks fine; looks right; looks correct; looks perfect",
    "that looks right; that looks great; its good; its fine; thats fine; thats good; thats great; thats ok; thats perfect",
    "that is fine; that is ok; that is good; its ok; all good; all fine; all right; alrighty; all clear; good to go",
    "were good to go; youre good to go; im in; im on board; lgtm; deal; done deal; green light; you have my approval",
    "you have my permission; you have my ok; you have my go ahead; permission granted; be my guest; suits me; go right ahead; right away sir; yessir; yes sir; yes maam; with pleasure",
    "okey dokey; okie dokie; okie dokey; okey; okie; roger; roger that; make it so; so be it; gladly; do so",
    "да; дада; ага; угу; мгм; так точно; точно; верно; именно; именно так; конечно; конечно же; разумеется; безусловно",
    "естественно; обязательно; непременно; само собой; само собой разумеется; можно; согласен; согласна; согласны",
    "я согласен; я согласна; мы согласны; полностью согласен; полностью согласна; договорились; по рукам",
    "подтверждаю; подтверждаем; подтверждено; я подтверждаю; одобряю; одобряем; одобрено; я одобряю; разрешаю; я разрешаю",
    "разрешаем; утверждаю; утверждаем; утверждено; поддерживаю; принимается; не против; я не против; не возражаю",
    "я не возражаю; нет возражений; возражений нет; без возражений; без проблем; нет проблем; не вопрос; без вопросов",
    "почему бы и нет; почему бы нет; почему нет; я за; годится; подходит; мне подходит; это подходит; меня устраивает",
    "устраивает; все устраивает; меня все устраивает; идет; пойдет; так пойдет; все верно; все так; все правильно",
    "правильно; все хорошо; все отлично; все ок; все норм; все нормально; все супер; все в порядке; все подходит",
    "все корректно; все точно; уверен; уверена; я уверен; я уверена; точно уверен; точно уверена; абсолютно; добро",
    "даю добро; лады; пусть так; пусть будет так; да будет так; заметано; решено; ес; йес; поддерживаем",
)
# Says yes by itself; before a refusal it only opens the sentence.
SOFT_YES = phrases(
    "ok; okay; k; kk; fine; alright; ok then; okay then; fine then; very well; well ok; ok cool; ok great; okay cool",
    "ок; окей; оке; оки; оки доки; окей доки; хорошо; ладно; норм; нормально; ладненько; хорош; ну ок; ну ладно",
)
# Verbs of consent for whatever waits; a refusal before them takes them in.
DO = phrases(
    "do; do it; do that; do this; go; go ahead; go on; go for it; go with it; go with that; proceed; execute; execute it",
    "go ahead and do it; go ahead with it; go ahead with that; carry on; carry it out; fire away; let it rip; hit it",
    "get it done; get on with it; lets go; lets do it; lets do that; lets do this; lets go for it; lets go ahead",
    "lets; lets proceed; you may; you may proceed; you may go ahead; you can; you can do it; you can go ahead",
    "you can proceed; do go ahead; perform it; full steam ahead; have at it; knock yourself out; go go go; gogogo",
    "делай; делайте; сделай; сделайте; делаем; сделаем; сделать; делать; так и сделай; так и делай; выполняй",
    "выполняйте; выполни; выполните; выполняем; выполнить; выполнять; действуй; действуйте; действуем; приступай",
    "приступайте; приступаем; давай; давайте; жми; жмите; жги; валяй; валяйте; вперед; погнали; поехали; го; гоу; пошел",
    "можешь; можете; можешь делать; можете делать; можешь действовать; проводи; исполняй; исполняйте",
    "дай ход; двигай; двигаем; полный вперед; с богом; пускай",
)
NO = phrases(
    "n; no; nope; nah; nay; no way; no thanks; no thank you; not now; not yet; not today; not right now; no need",
    "theres no need; there is no need; no need to; not necessary; thats not necessary; hold off; hold off on it",
    "hold off on that; hold off for now; hold that; hold it; leave it; leave it be; leave it alone; leave that",
    "leave it as is; leave it as it is; leave it like that; leave it like this; leave it for now; leave as is",
    "leave it the way it is; leave everything as is; never mind; nevermind; nvm; forget it; forget that; forget about it",
    "forget about that; scratch that; scratch it; changed my mind; i changed my mind; ive changed my mind",
    "i have changed my mind; id rather not; i would rather not; rather not; better not; best not; id better not",
    "please no; lets not; lets not do it; lets not do that; absolutely not; definitely not; certainly not; of course not",
    "sure not; by no means; not a chance; no chance; under no circumstances; negative; i disagree; disagree; disagreed",
    "denied; declined; rejected; i refuse; i decline; i reject; not ok; not okay; not approved; i dont agree; i do not agree",
    "i dont approve; i dont confirm; i dont want it; i dont want that; i dont want to; i dont want this; dont bother",
    "not interested; too early; its too early; too soon; its too soon; not like this; not like that; i said no; pass",
    "ill pass; i pass; skip; skip it; skip that; skip this; no go; call it off; call it all off; dont touch it; hands off",
    "dont touch; dont touch it; back off; stand down; nothing doing; no deal; no no; hell no; stay put; void it; veto",
    "нет; неа; не а; не; нет нет; нетушки; пока нет; еще нет; не сейчас; сейчас не; сейчас нет; не сегодня; рано; рано еще",
    "еще рано; пока рано; рановато; не время; сейчас не время; не к спеху; отбой; отставить; ни в коем случае; ни за что",
    "никак нет; ни в коем разе; никоим образом; нельзя; передумал; передумала; передумали; я передумал; я передумала",
    "не согласен; не согласна; не согласны; я не согласен; я не согласна; несогласен; несогласна; против; я против",
    "не подтверждаю; не одобряю; не разрешаю; я не подтверждаю; я не одобряю; я не разрешаю; не утверждаю; возражаю",
    "конечно нет; точно нет; разумеется нет; однозначно нет; нет конечно; нет спасибо; оставь; оставьте; оставь так",
    "оставь как есть; оставьте как есть; пусть остается; пусть останется; пусть будет как есть; оставим как есть",
    "оставим; оставляем как есть; оставляй как есть; пусть все будет как есть; все оставь; оставь все как есть",
    "оставь в покое; не трогай; не трогайте; не трожь; забудь; забудьте; забудь об этом; забей; проехали; не хочу",
    "не хочется; не буду; не будем; давай не будем; давайте не будем; лучше нет; лучше не надо; обойдемся; обойдусь",
    "отказ; отказываюсь; я отказываюсь; не вариант; не пойдет; не годится; не подходит; не устраивает; не дело",
    "только не это; не так; не то; пас; ну нет; ну нафиг; нафиг; фигушки; дудки; не судьба; повременим; повремени",
    "не торопись; не спеши; не спешите; пока оставь; пока оставим; пока повременим; пока подождем; пока воздержусь",
    "воздержусь; воздержимся; притормози",
)
# Refuses what follows it, or all by itself.
NOT = phrases(
    "dont; do not; dont you dare; never; please dont; no dont; you shouldnt; you should not; you must not; you mustnt",
    "i dont want you to; i do not want you to; id rather you didnt; no need to; there is no need to; theres no need to",
    "не; не надо; не нужно; не стоит; не смей; не вздумай; не хочу; не следует; незачем; не требуется; пока не",
    "пока не надо; пока не нужно; пока не стоит; лучше не; лучше не надо; давай не; давайте не; давай пока не; нельзя",
    "ни в коем случае не; ни за что не; больше не надо; ничего не надо; ничего не нужно; не стоит пока; сейчас не надо",
    "только не; точно не надо; точно не; конечно не; конечно не надо; не надо пока; не нужно пока; еще не; никогда не",
)
# Counts in a refusal only.
ONLY_NO = phrases(
    "yet; for now; at all; anymore; any more; ever; just yet; at this time; at the moment; no one; nobody; anyone; anybody",
    "пока; пока что; никому; никуда; никак; больше; ничего; никогда; никого; вообще никому; на сегодня; сегодня",
)
# Verbs of refusal, with or without an object. One that is a verb of the tool decides nothing by itself.
STOP = phrases(
    "cancel; stop; abort; reject; decline; discard; scrap; drop; withdraw; halt",
    "отмена; отмени; отмените; отменить; отменяй; отменяйте; отменяем; отклони; отклоните; отклонить; отклоняю; отклоняй",
    "отклоняем; стоп; стой; стойте; остановись; остановитесь; прекрати; прекратите; отзови; отзывай; откажись; откати",
)
# Refuses only together with a refusal; alone it asks for time.
HOLD = phrases(
    "wait; hold on; one moment; hang on; whoa; подожди; подождите; погоди; погодите; постой; секунду; минутку; минуту"
)
# Alone it says nothing: it may praise anything.
PRAISE = phrases(
    "cool; great; perfect; good; nice; awesome; excellent; super; brilliant; wonderful; lovely; amazing; fantastic; neat",
    "very good; very nice; well done; good job; great job; great idea; good idea; love it; i love it; i like it; like it",
    "отлично; супер; прекрасно; замечательно; здорово; класс; круто; шикарно; чудесно; великолепно; идеально; отличная идея",
    "хорошая идея; молодец; превосходно; классно; мне нравится; нравится; огонь; красота; прелестно; бомба; топ",
)
FILLERS = phrases(
    "please; pls; plz; thanks; thank you; thank you very much; thanks a lot; thanks so much; many thanks; thx; ty; tysm",
    "much appreciated; oh; ah; well; um; uh; hmm; hm; so; just; then; now; right now; right away; straight away; at once",
    "immediately; asap; as soon as possible; quickly; already; really; actually; simply; kindly; you know; god; hell; heck",
    "hey; hi; man; bro; buddy; mate; dear; sir; assistant; bot; up; off; out; over; ready; im ready; all set; the; that; this; those; these",
    "with it; with that; with this; away; as planned; as proposed; as shown; as is; like that; like this",
    "пожалуйста; пож; плиз; пжлст; спасибо; спс; спасибо большое; большое спасибо; благодарю; ну; вот; так; тогда; уже; же",
    "то; прямо; прямо сейчас; сейчас; сразу; немедленно; поскорее; скорее; быстрее; быстро; смело; спокойно; просто",
    "ой; эм; хм; ох; бот; друг; дружище; дорогой; дорогая; бро; брат; ассистент; как есть; как предложено; так и; вообще",
    "совсем; вовсе; не стесняйся; не сомневайся; без сомнений; будь добр; будь добра; будьте добры; будь другом; бери и",
)  # fmt: skip
# Opens a sentence whose verb is the tool's.
OPENERS = phrases(
    "go ahead and; please go ahead and; you can; you may; you can go ahead and; lets; let us; do; i want you to; id like you to",
    "i would like you to; feel free to; you can now; can; you should; we can; want to; yes to; i want to; by all means",
    "давай; давайте; можешь; можете; можно; надо; нужно; пора; пусть; хочу; прошу; разрешаю; пошли и; бери и; иди и; время",
    "можно уже; можешь уже; надо бы; нужно бы; стоит; одобряю; прошу тебя; я хочу; я прошу",
)
ITEMS = phrases(
    "it; this; that; them; this one; that one; the thing; everything as is; его; ее; это; эту; этот; их; оно; вот это",
    "его же; ее же; эти; данную; данное; данный",
)
ARTICLES = phrases("the; this; that; my; our; a; an; these; those; эту; это; этот; эти; данную; данное; данный; мою; мое; мой; наше; нашу; наш")  # fmt: skip
PREPOSITIONS = phrases("to; at; for; in; on; with; of; by; в; на; до; для; к; с; по; о; об")
SARCASM = phrases(
    "да ну; да уж; да ладно; ну да конечно; да да конечно щас; ага щас; ага сейчас; как же; да конечно щас; yeah right; yeah sure right; as if"
)
SIGNS: Mapping[str, str] = {
    **dict.fromkeys("👍✅👌🆗💯☑✔", "yes"), **dict.fromkeys("👎❌🚫⛔🛑✖🙅", "no"),
    **dict.fromkeys("🙏🙂😊😀😃😄😁😉🚀🎉❤☺🔥💪🤝🥳✨😎🫡👏🤗😍🙌", "filler"), "+": "yes",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verb:
    """What a tool does, in the words of people who consent to it.

    `keep`: phrases that refuse it by saying what shall stay as it is; `keep to` may be followed by the present value.
    """

    forms: frozenset[str]
    keep: frozenset[str] = frozenset()


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
    "keep it active; leave it active; leave it up; keep it up; keep it live; пусть работает; пусть идет; пусть крутится",
    "пусть продолжает; пусть продолжается; оставь включенной; оставь включенным; оставь работать; продолжай показ",
    "пусть живет; пусть крутится дальше; пусть работает дальше; пусть идет дальше; keep them running; leave them running",
)
KEEP_AT = phrases(
    "keep it at; leave it at; keep at; stay at; оставь на; оставим на; оставь; пусть остается; пусть будет"
)
VERBS: Mapping[str, Verb] = {
    "send": Verb(_forms(
        "send; mail; email; forward; fire it off; shoot it; shoot it over; deliver; dispatch; ship; get it out",
        "отправь; отправляй; пошли; посылай; шли; вышли; высылай; отсылай; отошли; кидай; кинь; скинь; скидывай; пуляй",
        "отправить; отправлять; отправим; отправляем; послать; посылать; выслать; высылать; шлем; пусть уходит; "
        "отправку; отправлю; посылаем; высылаем",
    )),
    "broadcast": Verb(_forms(
        "broadcast; blast; blast it; blast it out; launch; start; release; send it out; spread; roll it out; roll out",
        "рассылай; разошли; запускай; запусти; начинай; начни; стартуй; разослай; выпускай; выпусти",
        "разослать; рассылать; рассылаем; разошлем; запускаем; запустить; запускать; начинаем; запуск; рассылку",
    )),
    "delete": Verb(_forms(
        "delete; remove; erase; wipe; purge; trash; destroy; get rid of; clear; kill; drop; bin; nuke; scrap; toss; take down",
        "удали; удаляй; сноси; снеси; сотри; стирай; убери; убирай; уничтожь; уничтожай; грохни; выкидывай; выкинь; "
        "выбрасывай; выброси; вычеркни; ликвидируй; очисти; очищай; чисти; мочи; сотрите; зачищай",
        "удалить; удалять; удалим; удаляем; снести; сносим; стереть; убрать; убираем; уничтожить; стираем; удаление; очистить",
    ), _KEEP | _KEEP_RUNNING),
    "pause": Verb(_forms(
        "pause; stop; halt; suspend; freeze; turn off; switch off; shut off; shut down; disable; deactivate; put on hold; "
        "put it on hold; put it on pause; put on pause; take it offline; turn it off; switch it off; shut it down; "
        "shut it off; stop running",
        "приостанови; приостанавливай; останови; останавливай; тормози; притормози; стопай; стопни; стопори; выключи; "
        "выключай; отключи; отключай; паузь; замораживай; заморозь; глуши; вырубай; выруби; деактивируй; гаси; погаси",
        "поставь на паузу; ставь на паузу; поставьте на паузу; ставьте на паузу; ставим на паузу; поставим на паузу; "
        "поставить на паузу; ставить на паузу; на паузу; приостановить; остановить; приостанавливаем; останавливаем; "
        "выключаем; отключаем; выключить; отключить; паузу; приостановим; остановим; тормозим; заморозить; пауза; стопаем",
    ), _KEEP_RUNNING | phrases("keep it; не меняй ничего")),
    "resume": Verb(_forms(
        "resume; restart; reactivate; activate; enable; turn on; switch on; turn it on; switch it on; unpause; continue; "
        "turn it back on; switch it back on; start; launch; relaunch",
        "возобнови; возобновляй; включи; включай; запусти; запускай; активируй; продолжай; продолжи; восстанови; стартуй",
        "сними с паузы; снимай с паузы; возобновить; включить; включаем; запускаем; возобновляем; запустить; снимаем с паузы",
    ), phrases("keep it paused; leave it paused; keep it off; leave it off; пусть стоит; оставь на паузе; пусть стоит на паузе")),
    "publish": Verb(_forms(
        "publish; post; ship; release; upload; share; go live; make it live; put it up; put it out; get it out; push it; "
        "put it live; push it live; make it public; set it live; get it up; launch",
        "публикуй; опубликуй; выкладывай; выложи; пости; запости; размещай; размести; выпускай; выпусти; заливай; залей; "
        "запускай; запусти; вывешивай; вешай; кидай; выставляй",
        "опубликовать; публиковать; публикуем; выложить; выкладываем; постим; запостить; разместить; размещаем; выпускаем; "
        "в эфир; публикация; публикацию; опубликуем; выложим; запостим; заливаем; в прод; в ленту",
    ), phrases("keep it private; keep it as a draft; leave it as a draft; keep it in drafts; оставь в черновиках; пусть полежит")),
    "create": Verb(_forms(
        "create; make; add; set up; set it up; put; put it; book; schedule; arrange; plan; organize; organise; insert; enter",
        "создай; создавай; добавь; добавляй; внеси; вноси; заведи; заводи; сделай; оформи; оформляй; записывай; запиши; "
        "поставь; ставь; впиши; вписывай; заноси; занеси",
        "создать; создавать; создаем; создадим; добавить; добавляем; вносим; заводим; ставим; поставим; записываем; внести",
    )),
    "schedule": Verb(_forms(
        "schedule; book; arrange; plan; set up; set it up; set; put; put it; pencil it in; lock it in; organize; organise; invite; "
        "reserve; send the invite; send the invites; send out the invites; send the invitation; send the invitations",
        "назначай; назначь; планируй; запланируй; бронируй; забронируй; ставь; поставь; организуй; собирай; собери; созывай; "
        "приглашай; пригласи; резервируй; зарезервируй; вписывай; вноси; внеси; бронь",
        "назначить; назначаем; запланировать; планируем; бронируем; забронировать; ставим; поставить; зови; зовем; поставим; "
        "организуем; приглашаем; организовать",
    )),
    "change": Verb(_forms(
        "change; update; set; adjust; edit; modify; apply; switch; move; change it over; make the change; apply the change; save",
        "меняй; поменяй; измени; изменяй; обнови; обновляй; правь; поправь; исправь; исправляй; ставь; поставь; установи; "
        "устанавливай; выставляй; выставь; корректируй; скорректируй; применяй; примени; переноси; перенеси; сохраняй; двигай",
        "изменить; менять; меняем; обновить; обновляем; поменять; поменяем; изменим; ставим; выставляем; применить; применяем; "
        "правим; переносим; перенести; выставить; установить",
    ), _KEEP | phrases("keep the old one; leave the old one; оставь прежний; оставь старый; пусть будет как было; как было")),
    "raise": Verb(_forms(
        "raise; increase; bump; bump up; bump it up; up; up it; boost; boost it; crank it up; turn it up; jack it up; lift; hike",
        "поднимай; подними; повышай; повысь; увеличь; увеличивай; наращивай; прибавь; прибавляй; добавь; добавляй; задирай; накинь",
        "поднять; повысить; увеличить; поднимаем; повышаем; увеличиваем; поднимать; повышать; увеличивать; поднимем; повысим",
    )),
    "lower": Verb(_forms(
        "lower; decrease; reduce; cut; cut it; trim; bring it down; turn it down; drop; drop it; cut it down; slash; shrink",
        "снижай; снизь; уменьшай; уменьши; понижай; понизь; опускай; опусти; урежь; срезай; срежь; сокращай; сократи; убавь; режь",
        "снизить; уменьшить; понизить; снижаем; уменьшаем; понижаем; урезать; урезаем; сократить; снижать; уменьшать",
    )),
    "write": Verb(_forms(
        "write; write it down; note; note it; record; log; save; store; jot it down", "пиши; запиши; записывай; сохрани; "
        "сохраняй; фиксируй; зафиксируй; занеси; заноси", "записать; записываем; сохранить; запишем",
    )),
    "start": Verb(_forms(
        "start; launch; run; begin; kick it off; kick off; fire it up; start it up; get it started; get started; initiate",
        "запускай; запусти; начинай; начни; стартуй; приступай; приступи; заводи",
        "запустить; начать; запускаем; начинаем; запуск; стартуем; приступаем; начнем",
    )),
    "pay": Verb(_forms(
        "pay; transfer; buy; order; purchase; charge; wire it; checkout", "плати; оплати; оплачивай; переведи; переводи; купи; "
        "покупай; закажи; заказывай; списывай", "оплатить; заплатить; перевести; купить; заказать; оплачиваем; покупаем",
    )),
}  # fmt: skip
OBJECTS: Mapping[str, frozenset[str]] = {
    "email": phrases(
        "email; e mail; mail; letter; message; reply; answer; письмо; имейл; емейл; мейл; почту; сообщение; ответ; письмецо"
    ),
    "message": phrases("message; text; reply; answer; сообщение; текст; ответ; смс; сообщения; messages"),
    "broadcast": phrases(
        "broadcast; newsletter; mailing; message; messages; blast; campaign; to everyone; to all; to everybody; to all of them; "
        "everyone; everybody; all; to the whole list; to them all; to the list; to all clients; to all customers; "
        "рассылку; рассылка; сообщение; сообщения; всем; по всем; по списку; по всей базе; по базе; всем клиентам; им всем; "
        "всем им; клиентам; по всему списку; to the clients; to the customers; to clients; to customers"
    ),
    "campaign": phrases("campaign; ads; ad; advertising; promo; кампанию; кампания; рекламу; реклама; рекламную кампанию; компанию; рк"),
    "post": phrases("post; article; publication; story; piece; entry; пост; публикацию; статью; запись; новость; постик; текст"),
    "meeting": phrases(
        "meeting; event; appointment; call; invite; invitation; slot; in the calendar; in my calendar; on the calendar; "
        "on my calendar; to the calendar; to my calendar; into the calendar; calendar; встречу; встреча; событие; созвон; "
        "в календарь; в календаре; звонок; митинг; совещание; в расписание; приглашение; приглашения; слот; встречку"
    ),
    "budget": phrases("budget; daily budget; spend; limit; the amount; бюджет; дневной бюджет; лимит; сумму; бюджетик; ставку"),
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
}  # fmt: skip
# Parts of a tool's name -> what it does and what it works on. Names of tools that say nothing of themselves use it.
NAMED_VERBS: Mapping[str, tuple[str, ...]] = {
    "send": ("send",), "mail": ("send",), "forward": ("send",), "reply": ("send",), "broadcast": ("send", "broadcast"),
    "bulk": ("send", "broadcast"), "mailing": ("send", "broadcast"), "delete": ("delete",), "remove": ("delete",),
    "erase": ("delete",), "wipe": ("delete",), "purge": ("delete",), "drop": ("delete",), "pause": ("pause",),
    "stop": ("pause",), "suspend": ("pause",), "disable": ("pause",), "resume": ("resume",), "enable": ("resume",),
    "activate": ("resume",), "publish": ("publish",), "post": ("publish",), "release": ("publish",), "upload": ("publish",),
    "share": ("publish",), "create": ("create",), "add": ("create",), "make": ("create",), "insert": ("create",),
    "meeting": ("schedule", "create"), "event": ("schedule", "create"), "appointment": ("schedule", "create"),
    "schedule": ("schedule",), "book": ("schedule",), "plan": ("schedule",), "invite": ("schedule",),
    "change": ("change",), "update": ("change",), "set": ("change",), "edit": ("change",), "modify": ("change",),
    "move": ("change",), "write": ("write",), "save": ("write",), "record": ("write",), "start": ("start",),
    "launch": ("start",), "run": ("start",), "begin": ("start",), "trigger": ("start",), "delegate": ("start",),
    "pay": ("pay",), "buy": ("pay",), "order": ("pay",), "transfer": ("pay",), "raise": ("raise",), "increase": ("raise",),
    "lower": ("lower",), "decrease": ("lower",), "reduce": ("lower",),
}  # fmt: skip
NAMED_OBJECTS: Mapping[str, str] = {
    "email": "email", "mail": "email", "letter": "email", "message": "message", "sms": "message", "broadcast": "broadcast",
    "bulk": "broadcast", "mailing": "broadcast", "newsletter": "broadcast", "campaign": "campaign", "post": "post",
    "article": "post", "meeting": "meeting", "event": "meeting", "appointment": "meeting", "calendar": "meeting",
    "budget": "budget", "adset": "adset", "direction": "direction", "creative": "creative", "test": "test", "lead": "lead",
    "task": "task", "line": "line", "file": "file", "document": "file", "note": "note", "order": "order",
    "account": "account", "status": "status", "stage": "status",
}  # fmt: skip
