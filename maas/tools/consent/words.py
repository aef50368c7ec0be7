"""The words of consent and refusal, in English and Russian: closed tables, as data.

A phrase may have several words; phrases of one entry are separated by `;`. Letters are folded, without apostrophes, and
ё is е. A form that is not here says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from maas.tools.consent.phrases import every_phrase, phrases

# Says yes whatever else is said, if that is no refusal.
YES = (
    phrases(
        "i give my consent; i consent; consent; consent given; confirming; i am in; that would be great; "
        "that would be good; would be great; yes that one; thats the spirit; count me in; youre right; "
        "that is the one; spot on; bingo; aye aye; totally; 100 yes; it is fine; it is good; it is ok; "
        "im fine with it; i am fine with it; i am ok with it; good by me; okay with it; ok with it; im for it; "
        "in favor; in favour; no complaints; cant complain; nothing against it; i have nothing against it; "
        "i am good; makes sense; fair enough; you got it; you bet; sure does; alright by me; consider it approved; "
        "consider it confirmed; that will do; thatll do; that should do; will do; its a yes; thats a yes; "
        "thats a go; its a go; a yes; hard yes; big yes; согласовано; согласуем; согласую; так держать; тогда да; "
        "ну конечно; а как же; однозначно; однозначно да; стопудово; сто процентов; все супер; все четко; четко; "
        "благословляю; добро даю; все отлично; нет претензий; претензий нет; замечаний нет; без замечаний; "
        "нет замечаний; полностью за; целиком за; только за; я только за; двумя руками за; обеими руками за; "
        "с радостью; с удовольствием; по рукам; так и надо; то что надо; то что нужно; самое то; "
        "ничего не имею против; не имею ничего против; я подтверждаю это; это можно; можно да; так и быть; "
        "будет так; да будет; можешь не сомневаться; ладно да; ну ага; ну угу; дыа; канеш; канешна; конешно; "
        "естесственно; разрешение даю; даю разрешение; даю согласие; согласие даю; мое согласие есть; "
        "подтверждаю это; пусть; поддержу; одобрямс; принимаю; пойдет отлично; y; ya; yes; yeah; yea; yep; yup; "
        "yah; aye; sure; sure thing; for sure; of course; certainly; absolutely; definitely; affirmative; agreed; "
        "i agree; agree; confirm; confirmed; i confirm; approve; approved; i approve; accepted; granted; mhm; "
        "uh huh; im sure; i am sure; pretty sure; right; correct; exactly; indeed; thats right; that is right; "
        "thats correct; that is correct; thats it; thats the one; by all means; why not; no problem; no problems; "
        "no worries; no objections; no objection; i have no objections; i dont mind; dont mind; fine by me; "
        "fine with me; ok by me; ok with me; okay by me; okay with me; good with me; im ok with that; "
        "im fine with that; im good with that; im happy with that; im happy with it; happy with that; "
        "happy with it; im ok with it; im good with it; i am happy with it; works; works for me; that works; "
        "that works for me; it works; it works for me; this works; sounds good; sounds good to me; "
        "that sounds good; that sounds good to me; sounds great; sounds fine; sounds perfect; sounds right; "
        "sounds like a plan; looks good; looks good to me; that looks good; it looks good; this looks good; "
        "looks great; looks fine; looks right; looks correct; looks perfect; that looks right; that looks great; "
        "its good; its fine; thats fine; thats good; thats great; thats ok; thats perfect; that is fine; "
        "that is ok; that is good; its ok; all good; all fine; all right; alrighty; all clear; good to go; "
        "were good to go; youre good to go; im in; im on board; lgtm; deal; done deal; green light; "
        "you have my approval; you have my permission; you have my ok; you have my go ahead; permission granted; "
        "be my guest; suits me; go right ahead; right away sir; yessir; yes sir; yes maam; with pleasure; "
        "okey dokey; okie dokie; okie dokey; okey; okie; roger; roger that; make it so; so be it; gladly; do so; "
        "да; дада; ага; угу; мгм; так точно; точно; верно; именно; именно так; конечно; конечно же; разумеется; "
        "безусловно; естественно; обязательно; непременно; само собой; само собой разумеется; можно; согласен; "
        "согласна; согласны; я согласен; я согласна; мы согласны; полностью согласен; полностью согласна; "
        "договорились; подтверждаю; подтверждаем; подтверждено; я подтверждаю; одобряю; одобряем; одобрено; "
        "я одобряю; разрешаю; я разрешаю; разрешаем; утверждаю; утверждаем; утверждено; поддерживаю; принимается; "
        "не против; я не против; не возражаю; я не возражаю; нет возражений; возражений нет; без возражений; "
        "без проблем; нет проблем; не вопрос; без вопросов; почему бы и нет; почему бы нет; почему нет; я за; "
        "годится; подходит; мне подходит; это подходит; меня устраивает; устраивает; все устраивает; "
        "меня все устраивает; идет; пойдет; так пойдет; все верно; все так; все правильно; правильно; все хорошо; "
        "все ок; все норм; все нормально; все в порядке; все подходит; все корректно; все точно; уверен; уверена; "
        "я уверен; я уверена; точно уверен; точно уверена; абсолютно; добро; даю добро; лады; пусть так; "
        "пусть будет так; да будет так; заметано; решено; ес; йес; поддерживаем",
    )
    | every_phrase(
        "it; that; this; it all; that all; this all; all; everything; all of it; all of that",
        "looks; look; seems; sounds; reads; is; checks out and is",
        "all; ",
        "good; right; fine; great; perfect; correct; ok; okay; in order",
        "to me; ",
    )
    | every_phrase(
        "thats; that is; it is; its; this is; ",
        "exactly; just; precisely",
        "what i wanted; what i want; what i need; what i needed; what i asked for; what i meant; "
        "what we need; what we want",
    )
    | every_phrase(
        "все; ",
        "правильно; верно; хорошо; отлично; корректно; точно; четко; грамотно; красиво",
        "написано; составлено; указано; оформлено; сделано; расписано; заполнено; подготовлено; "
        "сформулировано; изложено",
    )
    | every_phrase(
        "все; ",
        "написано; составлено; указано; оформлено; сделано; расписано; заполнено; подготовлено; сформулировано",
        "правильно; верно; хорошо; отлично; корректно; точно; четко; грамотно; красиво",
    )
)
# Says yes by itself; before a refusal it only opens the sentence.
SOFT_YES = phrases(
    "okidoki; okie; oki; okk; ок тогда; ну ладно тогда; ладно уж; так уж и быть; ну хорошо; ну норм; лан; ладн; "
    "окейси; окс; perfect; excellent; wonderful; splendid; superb; exactly right; just right; just perfect; "
    "flawless; ideal; идеально; отлично; прекрасно; превосходно; великолепно; замечательно; безупречно; ok; okay; "
    "k; kk; fine; alright; ok then; okay then; fine then; very well; well ok; ok cool; ok great; okay cool; ок; "
    "окей; оке; оки; оки доки; окей доки; хорошо; ладно; норм; нормально; ладненько; хорош; ну ок; ну ладно",
)
# Verbs of consent for whatever waits; a refusal before them takes them in.
DO = phrases(
    "make it happen; off you go; let it fly; let er rip; press it; push it through; on you go; knock it out; "
    "get going; get to it; by all means do; do your thing; youre good to go; be quick; hop to it; ahead; "
    "full speed ahead; roll with it; нажимай; нажми; нажмите; запускай процесс; дерзай; дерзайте; можешь начинать; "
    "начинай; вперед и с песней; айда; гони; делай уже; делай так; давай так; давай сделаем; давай делать; "
    "давай делай; исполни; осуществляй; реализуй; давай дерзай; давай уже; ну давай; ну давайте; давай вперед; "
    "продолжай; продолжайте; проведи; оформляй; приступим; начнем; начинаем; do; do it; do that; do this; go; "
    "go ahead; go on; go for it; go with it; go with that; proceed; execute; execute it; go ahead and do it; "
    "go ahead with it; go ahead with that; carry on; carry it out; fire away; let it rip; hit it; get it done; "
    "get on with it; lets go; lets do it; lets do that; lets do this; lets go for it; lets go ahead; lets; "
    "lets proceed; you may; you may proceed; you may go ahead; you can; you can do it; you can go ahead; "
    "you can proceed; do go ahead; perform it; full steam ahead; have at it; knock yourself out; go go go; gogogo; "
    "делай; делайте; сделай; сделайте; делаем; сделаем; сделать; делать; так и сделай; так и делай; выполняй; "
    "выполняйте; выполни; выполните; выполняем; выполнить; выполнять; действуй; действуйте; действуем; приступай; "
    "приступайте; приступаем; давай; давайте; жми; жмите; жги; валяй; валяйте; вперед; погнали; поехали; го; гоу; "
    "пошел; можешь; можете; можешь делать; можете делать; можешь действовать; проводи; исполняй; исполняйте; "
    "дай ход; двигай; двигаем; полный вперед; с богом; пускай",
)
NO = phrases(
    "please hold; hold back; hold fire; hold it back; hold it for now; sit on it; sit tight; keep it for now; "
    "not going out; придержи; придержите; попридержи; придержим; держи пока; притормозим; пока придержи; "
    "нет и точка; увольте; stop right there; stop there; stop please; abort mission; bad idea; not a good idea; "
    "terrible idea; not this time; not today; hold your horses; i take it back; i take that back; not a fan; "
    "do nothing; dont do anything; let it stay; let it stay as it is; leave it there; leave it how it is; "
    "leave it as before; as it was; keep everything as is; keep as it is; leave things as they are; "
    "leave everything; not at all; never; nix; nein; negative on that; thats a no; its a no; its a no from me; "
    "a no; hard no; hard pass; ill skip; i will pass; no can do; not happening; not gonna happen; i object; "
    "i am against it; im against it; against; i dont think so; dont think so; i think not; too risky; its not time; "
    "not the time; not the right time; not for now; not just yet; its not needed; not needed; unnecessary; "
    "its unnecessary; not required; i dont need it; i dont need that; dont need it; no need for that; "
    "no need for it; no longer needed; not anymore; not any more; forget i asked; ignore that; disregard; "
    "disregard that; undo; undo that; nah nah; nuh uh; uh uh; нет уж; ну уж нет; уж нет; нетнет; нет и нет; "
    "нет конечно; никогда; ничего; ничего не делай; ничего не делайте; ничего не надо; плохая идея; так себе идея; "
    "не лучшая идея; не вижу смысла; нет смысла; смысла нет; нет необходимости; не интересно; не актуально; "
    "уже не актуально; неактуально; уже не надо; уже не нужно; больше не нужно; больше не надо; мне не надо; "
    "мне не нужно; нам не надо; нам не нужно; это не нужно; это не надо; этого не надо; не требуется; не нуждаюсь; "
    "не хотим; не могу согласиться; не поддерживаю; не принимается; не принимаю; не утверждено; не одобрено; "
    "протестую; вето; запрещаю; отменяется; отклонено; отказано; отложим; отложи; откладываем; отложить; подождем; "
    "давай подождем; давайте подождем; давай отложим; давай пока нет; давай нет; думаю не стоит; не катит; "
    "не прокатит; не наш вариант; лучше воздержимся; лучше подождем; лучше оставь; лучше оставить; оставить; "
    "оставить как есть; пусть останется как есть; не меняем; без изменений; стоять; стопэ; стопе; брось; бросай; "
    "не стоит оно того; оно того не стоит; ну не; не хотелось бы; не хочу этого; не планирую; не собираюсь; "
    "и не думай; даже не думай; n; no; nope; nah; nay; no way; no thanks; no thank you; not now; not yet; "
    "not right now; no need; theres no need; there is no need; no need to; not necessary; thats not necessary; "
    "hold off; hold off on it; hold off on that; hold off for now; hold that; hold it; leave it; leave it be; "
    "leave it alone; leave that; leave it as is; leave it as it is; leave it like that; leave it like this; "
    "leave it for now; leave as is; leave it the way it is; leave everything as is; never mind; nevermind; nvm; "
    "forget it; forget that; forget about it; forget about that; scratch that; scratch it; changed my mind; "
    "i changed my mind; ive changed my mind; i have changed my mind; id rather not; i would rather not; rather not; "
    "better not; best not; id better not; please no; lets not; lets not do it; lets not do that; absolutely not; "
    "definitely not; certainly not; of course not; sure not; by no means; not a chance; no chance; "
    "under no circumstances; negative; i disagree; disagree; disagreed; denied; declined; rejected; i refuse; "
    "i decline; i reject; not ok; not okay; not approved; i dont agree; i do not agree; i dont approve; "
    "i dont confirm; i dont want it; i dont want that; i dont want to; i dont want this; dont bother; "
    "not interested; too early; its too early; too soon; its too soon; i said no; pass; ill pass; i pass; skip; "
    "skip it; skip that; skip this; no go; call it off; call it all off; dont touch it; hands off; dont touch; "
    "back off; stand down; nothing doing; no deal; no no; hell no; stay put; void it; veto; нет; неа; не а; не; "
    "нет нет; нетушки; пока нет; еще нет; не сейчас; сейчас не; сейчас нет; не сегодня; рано; рано еще; еще рано; "
    "пока рано; рановато; не время; сейчас не время; не к спеху; отбой; отставить; ни в коем случае; ни за что; "
    "никак нет; ни в коем разе; никоим образом; нельзя; передумал; передумала; передумали; я передумал; "
    "я передумала; не согласен; не согласна; не согласны; я не согласен; я не согласна; несогласен; несогласна; "
    "против; я против; не подтверждаю; не одобряю; не разрешаю; я не подтверждаю; я не одобряю; я не разрешаю; "
    "не утверждаю; возражаю; конечно нет; точно нет; разумеется нет; однозначно нет; нет спасибо; оставь; оставьте; "
    "оставь так; оставь как есть; оставьте как есть; пусть остается; пусть останется; пусть будет как есть; "
    "оставим как есть; оставим; оставляем как есть; оставляй как есть; пусть все будет как есть; все оставь; "
    "оставь все как есть; оставь в покое; не трогай; не трогайте; не трожь; забудь; забудьте; забудь об этом; "
    "забей; проехали; не хочу; не хочется; не буду; не будем; давай не будем; давайте не будем; лучше нет; "
    "лучше не надо; обойдемся; обойдусь; отказ; отказываюсь; я отказываюсь; не вариант; не пойдет; не годится; "
    "не подходит; не устраивает; не дело; только не это; пас; ну нет; ну нафиг; нафиг; фигушки; дудки; не судьба; "
    "повременим; повремени; не торопись; не спеши; не спешите; пока оставь; пока оставим; пока повременим; "
    "пока подождем; пока воздержусь; воздержусь; воздержимся; притормози",
)
# Refuses what follows it, or all by itself.
NOT = phrases(
    "not; were not; we are not; im not; i am not; it is not; its not; we wont; i wont; wont; were not going to; "
    "im not going to; we are not going to; i am not going to; not gonna; im not gonna; were not gonna; we shouldnt; "
    "i shouldnt; we should not; lets not be; no point in; there is no point in; no need for; theres no need for; "
    "we dont need; i dont need; dont need; we dont want; i dont want; dont want; we do not need; i do not need; "
    "i do not want; do not want; you dont need to; you need not; we dont need to; i dont need to; dont need to; "
    "не нужна; не нужен; не нужны; не нужна пока; не нужен пока; пока не нужна; пока не нужен; больше не нужна; "
    "больше не нужен; уже не нужна; уже не нужен; мне не нужна; мне не нужен; мне не нужно; нам не нужна; "
    "нам не нужен; не хочется; не хотим; не станем; не будем пока; не желаю; мы не будем; я не хочу; я не буду; "
    "пожалуй не; dont you; lets not; i dont want to; i do not want to; id rather not; i would rather not; "
    "rather not; better not; best not; lets hold off; hold off; not yet; dont bother; no reason to; "
    "its better not to; better not to; i changed my mind about; dont even; давай не будем; давайте не будем; "
    "не буду; не будем; передумал; передумала; я передумал; я передумала; рано; еще рано; пока рано; рано еще; "
    "нет смысла; нет необходимости; нет нужды; не нужно пока; лучше пока не; не планирую; не собираюсь; "
    "не хочу пока; не торопись; не спеши; не спешите; подожди не; погоди не; пока что не; уже не надо; "
    "уже не нужно; отказываюсь; запрещаю; я против; не разрешаю; не согласен; не согласна; смысла нет; "
    "необходимости нет; не думаю что надо; не давай; ни за что; ни в коем случае; и не думай; даже не думай; "
    "воздержись; лучше не стоит; не стоит пока; сейчас не; dont; do not; dont you dare; never; please dont; "
    "no dont; you shouldnt; you should not; you must not; you mustnt; i dont want you to; i do not want you to; "
    "id rather you didnt; no need to; there is no need to; theres no need to; не; не надо; не нужно; не стоит; "
    "не смей; не вздумай; не хочу; не следует; незачем; не требуется; пока не; пока не надо; пока не нужно; "
    "пока не стоит; лучше не; лучше не надо; давай не; давайте не; давай пока не; нельзя; ни в коем случае не; "
    "ни за что не; больше не надо; ничего не надо; ничего не нужно; сейчас не надо; только не; точно не надо; "
    "точно не; конечно не; конечно не надо; не надо пока; еще не; никогда не",
)
# Counts in a refusal only.
ONLY_NO = phrases(
    "for the time being; for the moment; anything; пожалуй; покамест; до поры; yet; for now; at all; anymore; "
    "any more; ever; just yet; at this time; at the moment; no one; nobody; anyone; anybody; пока; пока что; "
    "никому; никуда; никак; больше; ничего; никогда; никого; вообще никому; на сегодня; сегодня",
)
# Verbs of refusal, with or without an object. One that is a verb of the tool decides nothing by itself.
STOP = phrases(
    "hold; shelve; тормози; притормози; стопай; abort mission; отменяется; forget; skip; undo; отменим; сворачивай; "
    "отложи; cancel; stop; abort; reject; decline; discard; scrap; drop; withdraw; halt; отмена; отмени; отмените; "
    "отменить; отменяй; отменяйте; отменяем; отклони; отклоните; отклонить; отклоняю; отклоняй; отклоняем; стоп; "
    "стой; стойте; остановись; остановитесь; прекрати; прекратите; отзови; отзывай; откажись; откати",
)
# Refuses only together with a refusal; alone it asks for time.
HOLD = phrases(
    "wait a second; wait a minute; wait wait; hold up; just a second; just a moment; подожди подожди; постойте; "
    "стоп подожди; wait; hold on; one moment; hang on; whoa; подожди; подождите; погоди; погодите; постой; секунду; "
    "минутку; минуту",
)
# Alone it says nothing: it may praise anything.
PRAISE = phrases(
    "хороший; хорошая; хорошее; отличный; отличная; отличное; нормальный; нормальная; нормальное; прекрасный; "
    "прекрасная; прекрасное; правильный; правильная; правильное; замечательный; замечательная; замечательное; "
    "принято; понял; поняла; ясно; understood; got it; noted; thats nice; it is nice; well written; beautiful; "
    "i like this; looks nice; прочитал; прочитала; проверил; проверила; посмотрел; посмотрела; checked; i checked; "
    "i read it; i checked it; я проверил; я проверила; cool; great; perfect; good; nice; awesome; excellent; super; "
    "brilliant; wonderful; lovely; amazing; fantastic; neat; very good; very nice; well done; good job; great job; "
    "great idea; good idea; love it; i love it; i like it; like it; отлично; супер; прекрасно; замечательно; "
    "здорово; класс; круто; шикарно; чудесно; великолепно; идеально; отличная идея; хорошая идея; молодец; "
    "превосходно; классно; мне нравится; нравится; огонь; красота; прелестно; бомба; топ",
)
FILLERS = (
    every_phrase(
        "thanks; thank you; thx; cheers; ty",
        "for; for your",
        "writing; drafting; preparing; checking; doing; "
        "putting; setting; "
        "asking; waiting; confirming; making; handling; composing; help; the help; work; all; everything; "
        "the work; the draft",
        "it; this; that; everything; ",
        "up; together; out; ",
    )
    | every_phrase(
        "спасибо; благодарю; спасибо большое; большое спасибо",
        "тебе; вам; ",
        "большое; огромное; за помощь; за работу; "
        "за труд; за текст; за письмо; за напоминание; за уточнение; за подготовку; за оперативность; что написал; "
        "что подготовил; что спросил; что уточнил; ",
    )
    | phrases(
        "my friend; friend; pal; dude; guys; folks; team; anyway; in that case; cheers; bless you; if you would; "
        "would you; now please; i read it through; i read it all; тебе; вам; дорогуша; ребята; коллега; "
        "коллеги; милый; "
        "on second thought; on second thoughts; after all; hmm ok; please and thank you; if you please; at last; "
        "finally; в таком виде; наконец; наконец то; на самом деле; значит; знаешь; короче; всё же; все же; все таки; "
        "всё таки; давай ка; прямо так; вот так; в этом виде; если не сложно; если не трудно; будь ласка; "
        "заранее спасибо; спасибочки; спасиб; пжл; пжста; плз; уж; please; pls; plz; thanks; thank you; "
        "thank you very much; thanks a lot; thanks so much; many thanks; thx; ty; tysm; much appreciated; oh; "
        "ah; well; "
        "um; uh; hmm; hm; so; just; then; now; right now; right away; straight away; at once; immediately; asap; "
        "as soon as possible; quickly; already; really; actually; simply; kindly; you know; god; hell; heck; hey; hi; "
        "man; bro; buddy; mate; dear; sir; assistant; bot; up; off; out; over; ready; im ready; all set; the; that; "
        "this; those; these; with it; with that; with this; away; as planned; as proposed; as shown; as is; like that; "
        "like this; пожалуйста; пож; плиз; пжлст; спасибо; спс; спасибо большое; большое спасибо; благодарю; ну; вот; "
        "так; тогда; уже; же; то; прямо; прямо сейчас; сейчас; сразу; немедленно; поскорее; скорее; быстрее; быстро; "
        "смело; спокойно; просто; ой; эм; хм; ох; бот; друг; дружище; дорогой; дорогая; бро; брат; ассистент; "
        "как есть; "
        "как предложено; так и; вообще; совсем; вовсе; не стесняйся; не сомневайся; без сомнений; будь добр; "
        "будь добра; будьте добры; будь другом; бери и",
    )
)
# Opens a sentence whose verb is the tool's.
OPENERS = phrases(
    "u can; u may; you can just; u can just; you can go and; you could; youre free to; you are free to; lets just; "
    "id say; i say; im happy for you to; happy for you to; go and; now you can; time to; please just; just; "
    "you have my permission to; im ready to; we are ready to; its time to; ready to; permission to; можешь смело; "
    "можешь спокойно; теперь можешь; теперь можно; пора бы; готов; можно смело; go ahead and; please go ahead and; "
    "you can; you may; you can go ahead and; lets; let us; do; i want you to; id like you to; i would like you to; "
    "feel free to; you can now; can; you should; we can; want to; yes to; i want to; by all means; давай; давайте; "
    "можешь; можете; можно; надо; нужно; пора; пусть; хочу; прошу; разрешаю; пошли и; бери и; иди и; время; "
    "можно уже; можешь уже; надо бы; нужно бы; стоит; одобряю; прошу тебя; я хочу; я прошу",
)
ITEMS = phrases(
    "it; this; that; them; this one; that one; the thing; everything as is; его; ее; это; эту; этот; их; оно; "
    "вот это; его же; ее же; эти; данную; данное; данный; этого; этим; этой",
)
ARTICLES = phrases(
    "the; this; that; my; our; a; an; these; those; эту; это; этот; эти; данную; данное; данный; "
    "мою; мое; мой; наше; нашу; наш"
)
PREPOSITIONS = phrases("to; at; for; in; on; with; of; в; на; до; для; к; с; по; о; об")
# Before a number they tell when, or how long.
TIMING = phrases("for; in; on; with; в; для; к; с; по; о; об")
SARCASM = phrases(
    "dont just; do not just; not just; dont only; not only; не просто; не только; не просто так",
    "да ну; да уж; да ладно; ну да конечно; да да конечно щас; ага щас; ага сейчас; как же; да конечно щас; "
    "yeah right; yeah sure right; as if",
)
SIGNS: Mapping[str, str] = {
    **dict.fromkeys("👍✅👌🆗💯☑✔", "yes"),
    **dict.fromkeys("👎❌🚫⛔🛑✖🙅", "no"),
    **dict.fromkeys("🙏🙂😊😀😃😄😁😉🚀🎉❤☺🔥💪🤝🥳✨😎🫡👏🤗😍🙌", "filler"),
    "+": "yes",
}
# Refuses with the present value after it.
KEEP_AT = phrases(
    "keep it at; leave it at; keep at; stay at; оставь на; оставим на; оставь; пусть остается; пусть будет",
)
# What fits is a value that was named before.
FITS = phrases(
    "it is; it shall be; is fine; is good; is ok; is okay; is great; is perfect; is right; is correct; is alright; "
    "are fine; are good; are ok; is cool; is all right; suits; suits me; suit me; fits; fits me; does it; "
    "sounds fine; sounds right; looks ok; would be good; would be fine; would work; will work; is what i want; "
    "is good for me; is fine by me; is fine with me; самое то; меня устроит; устроит; нормальное время; "
    "хорошее время; удобно; мне удобно; будет хорошо; в самый раз",
)
ENOUGH = phrases(
    "enough; is enough; is plenty; plenty; will do; is sufficient; хватит; достаточно; вполне хватит; хватает",
)
# Says nothing but after a negation: "do not even touch it".
TOUCH = phrases("even; touch; bother; mess with; mess; touching; bothering; трогай; трогайте; трогать; трогаем; лезь")
# "Leave the budget alone": what stands between is what it is about.
KEEP = phrases(
    "leave; keep; let; оставь; оставьте; оставим; оставляем; оставляй; пусть; пускай; сохрани; i want to keep; "
    "lets keep; lets leave",
)
ALONE = phrases(
    "alone; be; as is; as it is; as it was; unchanged; untouched; where it is; the way it is; the way it was; "
    "how it is; how it was; the same; as before; in place; stay; stay as it is; stay the same; как есть; как было; "
    "как раньше; в покое; прежним; прежней; прежнее; без изменений; нетронутым; остается; останется; "
    "остается как есть; останется как есть; остается прежним; останется прежним; таким же; такой же; тем же; "
    "той же",
)
# They count only before words that consent by themselves.
TYPOS_OF_YES = phrases(
    "дп; дв; дк; дм; дф; жа; фа; агп; ога; угк; yse; yws; yex; yez; ys; yees; ues; tes; eys; yeh; yeag; yeha; yhea; "
    "yesh; uep; yepo; shure",
)
# Between two consents it says nothing; else it is a doubt.
OPINIONS = phrases("i think; i believe; i guess; i feel; думаю; я думаю; по моему; считаю; я считаю; мне кажется")
# A negation that needs a verb after it: "not the letter" asks for another.
NOT_BEING = phrases(
    "not; were not; we are not; im not; i am not; it is not; its not; we wont; wont; not gonna; im not gonna; "
    "were not gonna; lets not be",
)
BARE_NOT = NOT_BEING | phrases("не; пожалуй не")
FROM = phrases("from; с; со")  # before the old value
# How that is which neither stops nor goes.
RUNNING = phrases(
    "running; on; live; active; run; going; up; работает; идет; крутится; включенной; работающей; активной",
)
UNWANTED = phrases("i dont want; we dont want; dont want; do not want; i do not want; i dont need; we dont need")
