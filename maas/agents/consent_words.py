"""The words of consent and refusal, in English and Russian: closed tables, as data.

A phrase may have several words; phrases of one entry are separated by `;`. Letters are folded, without apostrophes, and
ё is е. A form that is not here says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping


def phrases(*texts: str) -> frozenset[str]:
    """The phrases of some texts."""
    return frozenset(one.strip() for text in texts for one in text.split(";") if one.strip())


# Says yes whatever else is said, if that is no refusal.
YES = phrases(
    "y; ya; yes; yeah; yea; yep; yup; yah; aye; sure; sure thing; for sure; of course; certainly; absolutely; "
    "definitely",
    "affirmative; agreed; i agree; agree; confirm; confirmed; i confirm; approve; approved; i approve; accepted; "
    "granted",
    "mhm; uh huh; im sure; i am sure; pretty sure; right; correct; exactly; indeed; thats right; that is right",
    "thats correct; that is correct; thats it; thats the one; by all means; why not; no problem; no problems; "
    "no worries",
    "no objections; no objection; i have no objections; i dont mind; dont mind; fine by me; fine with me; ok by me",
    "ok with me; okay by me; okay with me; good with me; im ok with that; im fine with that; im good with that",
    "im happy with that; im happy with it; happy with that; happy with it; im ok with it; im fine with it; "
    "im good with it; i am happy with it; works; works for me; that works; that works for me",
    "it works; it works for me; this works; sounds good; sounds good to me; that sounds good; that sounds good to me",
    "sounds great; sounds fine; sounds perfect; sounds right; sounds like a plan; looks good; looks good to me",
    "that looks good; it looks good; this looks good; looks great; looks fine; looks right; looks correct; "
    "looks perfect",
    "that looks right; that looks great; its good; its fine; thats fine; thats good; thats great; thats ok; "
    "thats perfect",
    "that is fine; that is ok; that is good; its ok; all good; all fine; all right; alrighty; all clear; good to go",
    "were good to go; youre good to go; im in; im on board; lgtm; deal; done deal; green light; you have my approval",
    "you have my permission; you have my ok; you have my go ahead; permission granted; be my guest; suits me; "
    "go right ahead; right away sir; yessir; yes sir; yes maam; with pleasure",
    "okey dokey; okie dokie; okie dokey; okey; okie; roger; roger that; make it so; so be it; gladly; do so",
    "да; дада; ага; угу; мгм; так точно; точно; верно; именно; именно так; конечно; конечно же; разумеется; безусловно",
    "естественно; обязательно; непременно; само собой; само собой разумеется; можно; согласен; согласна; согласны",
    "я согласен; я согласна; мы согласны; полностью согласен; полностью согласна; договорились; по рукам",
    "подтверждаю; подтверждаем; подтверждено; я подтверждаю; одобряю; одобряем; одобрено; я одобряю; разрешаю; "
    "я разрешаю",
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
    "do; do it; do that; do this; go; go ahead; go on; go for it; go with it; go with that; proceed; execute; "
    "execute it",
    "go ahead and do it; go ahead with it; go ahead with that; carry on; carry it out; fire away; let it rip; hit it",
    "get it done; get on with it; lets go; lets do it; lets do that; lets do this; lets go for it; lets go ahead",
    "lets; lets proceed; you may; you may proceed; you may go ahead; you can; you can do it; you can go ahead",
    "you can proceed; do go ahead; perform it; full steam ahead; have at it; knock yourself out; go go go; gogogo",
    "делай; делайте; сделай; сделайте; делаем; сделаем; сделать; делать; так и сделай; так и делай; выполняй",
    "выполняйте; выполни; выполните; выполняем; выполнить; выполнять; действуй; действуйте; действуем; приступай",
    "приступайте; приступаем; давай; давайте; жми; жмите; жги; валяй; валяйте; вперед; погнали; поехали; го; гоу; "
    "пошел",
    "можешь; можете; можешь делать; можете делать; можешь действовать; проводи; исполняй; исполняйте",
    "дай ход; двигай; двигаем; полный вперед; с богом; пускай",
)
NO = phrases(
    "n; no; nope; nah; nay; no way; no thanks; no thank you; not now; not yet; not today; not right now; no need",
    "theres no need; there is no need; no need to; not necessary; thats not necessary; hold off; hold off on it",
    "hold off on that; hold off for now; hold that; hold it; leave it; leave it be; leave it alone; leave that",
    "leave it as is; leave it as it is; leave it like that; leave it like this; leave it for now; leave as is",
    "leave it the way it is; leave everything as is; never mind; nevermind; nvm; forget it; forget that; "
    "forget about it",
    "forget about that; scratch that; scratch it; changed my mind; i changed my mind; ive changed my mind",
    "i have changed my mind; id rather not; i would rather not; rather not; better not; best not; id better not",
    "please no; lets not; lets not do it; lets not do that; absolutely not; definitely not; certainly not; "
    "of course not",
    "sure not; by no means; not a chance; no chance; under no circumstances; negative; i disagree; disagree; disagreed",
    "denied; declined; rejected; i refuse; i decline; i reject; not ok; not okay; not approved; i dont agree; "
    "i do not agree",
    "i dont approve; i dont confirm; i dont want it; i dont want that; i dont want to; i dont want this; dont bother",
    "not interested; too early; its too early; too soon; its too soon; not like this; not like that; i said no; pass",
    "ill pass; i pass; skip; skip it; skip that; skip this; no go; call it off; call it all off; dont touch it; "
    "hands off",
    "dont touch; dont touch it; back off; stand down; nothing doing; no deal; no no; hell no; stay put; void it; veto",
    "нет; неа; не а; не; нет нет; нетушки; пока нет; еще нет; не сейчас; сейчас не; сейчас нет; не сегодня; рано; "
    "рано еще",
    "еще рано; пока рано; рановато; не время; сейчас не время; не к спеху; отбой; отставить; ни в коем случае; "
    "ни за что",
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
    "yet; for now; at all; anymore; any more; ever; just yet; at this time; at the moment; no one; nobody; anyone; "
    "anybody",
    "пока; пока что; никому; никуда; никак; больше; ничего; никогда; никого; вообще никому; на сегодня; сегодня",
)
# Verbs of refusal, with or without an object. One that is a verb of the tool decides nothing by itself.
STOP = phrases(
    "cancel; stop; abort; reject; decline; discard; scrap; drop; withdraw; halt",
    "отмена; отмени; отмените; отменить; отменяй; отменяйте; отменяем; отклони; отклоните; отклонить; отклоняю; "
    "отклоняй",
    "отклоняем; стоп; стой; стойте; остановись; остановитесь; прекрати; прекратите; отзови; отзывай; откажись; откати",
)
# Refuses only together with a refusal; alone it asks for time.
HOLD = phrases(
    "wait; hold on; one moment; hang on; whoa; подожди; подождите; погоди; погодите; постой; секунду; минутку; минуту"
)
# Alone it says nothing: it may praise anything.
PRAISE = phrases(
    "cool; great; perfect; good; nice; awesome; excellent; super; brilliant; wonderful; lovely; amazing; fantastic; "
    "neat",
    "very good; very nice; well done; good job; great job; great idea; good idea; love it; i love it; i like it; "
    "like it",
    "отлично; супер; прекрасно; замечательно; здорово; класс; круто; шикарно; чудесно; великолепно; идеально; "
    "отличная идея",
    "хорошая идея; молодец; превосходно; классно; мне нравится; нравится; огонь; красота; прелестно; бомба; топ",
)
FILLERS = phrases(
    "please; pls; plz; thanks; thank you; thank you very much; thanks a lot; thanks so much; many thanks; thx; ty; "
    "tysm",
    "much appreciated; oh; ah; well; um; uh; hmm; hm; so; just; then; now; right now; right away; straight away; "
    "at once",
    "immediately; asap; as soon as possible; quickly; already; really; actually; simply; kindly; you know; god; "
    "hell; heck",
    "hey; hi; man; bro; buddy; mate; dear; sir; assistant; bot; up; off; out; over; ready; im ready; all set; the; "
    "that; this; those; these",
    "with it; with that; with this; away; as planned; as proposed; as shown; as is; like that; like this",
    "пожалуйста; пож; плиз; пжлст; спасибо; спс; спасибо большое; большое спасибо; благодарю; ну; вот; так; тогда; "
    "уже; же",
    "то; прямо; прямо сейчас; сейчас; сразу; немедленно; поскорее; скорее; быстрее; быстро; смело; спокойно; просто",
    "ой; эм; хм; ох; бот; друг; дружище; дорогой; дорогая; бро; брат; ассистент; как есть; как предложено; так и; "
    "вообще",
    "совсем; вовсе; не стесняйся; не сомневайся; без сомнений; будь добр; будь добра; будьте добры; будь другом; "
    "бери и",
)  # fmt: skip
# Opens a sentence whose verb is the tool's.
OPENERS = phrases(
    "go ahead and; please go ahead and; you can; you may; you can go ahead and; lets; let us; do; i want you to; "
    "id like you to",
    "i would like you to; feel free to; you can now; can; you should; we can; want to; yes to; i want to; by all means",
    "давай; давайте; можешь; можете; можно; надо; нужно; пора; пусть; хочу; прошу; разрешаю; пошли и; бери и; "
    "иди и; время",
    "можно уже; можешь уже; надо бы; нужно бы; стоит; одобряю; прошу тебя; я хочу; я прошу",
)
ITEMS = phrases(
    "it; this; that; them; this one; that one; the thing; everything as is; его; ее; это; эту; этот; их; оно; вот это",
    "его же; ее же; эти; данную; данное; данный",
)
ARTICLES = phrases("the; this; that; my; our; a; an; these; those; эту; это; этот; эти; данную; данное; данный; "
    "мою; мое; мой; наше; нашу; наш")  # fmt: skip
PREPOSITIONS = phrases("to; at; for; in; on; with; of; by; в; на; до; для; к; с; по; о; об")
SARCASM = phrases(
    "да ну; да уж; да ладно; ну да конечно; да да конечно щас; ага щас; ага сейчас; как же; да конечно щас; "
    "yeah right; yeah sure right; as if"
)
SIGNS: Mapping[str, str] = {
    **dict.fromkeys("👍✅👌🆗💯☑✔", "yes"), **dict.fromkeys("👎❌🚫⛔🛑✖🙅", "no"),
    **dict.fromkeys("🙏🙂😊😀😃😄😁😉🚀🎉❤☺🔥💪🤝🥳✨😎🫡👏🤗😍🙌", "filler"), "+": "yes",
}  # fmt: skip
# Refuses with the present value after it.
KEEP_AT = phrases(
    "keep it at; leave it at; keep at; stay at; оставь на; оставим на; оставь; пусть остается; пусть будет"
)
