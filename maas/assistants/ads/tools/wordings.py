"""What the tools of advertising do, in words for people: those who decide on a call, or see it at work."""

from __future__ import annotations

from maas.tools.wording import Phrase, Wording

STATUS = Phrase("status", "статус")
BUDGET = Phrase("daily budget", "бюджет в день")
TARGET = Phrase("target cost per lead", "целевая цена лида")
STAGE = Phrase("stage", "этап")
STATUSES = {
    "ACTIVE": Phrase("running", "работает"),
    "PAUSED": Phrase("paused", "на паузе"),
    "ARCHIVED": Phrase("archived", "в архиве"),
    "DELETED": Phrase("deleted", "удалено"),
}
PAUSE_CAMPAIGN = Wording(
    Phrase("Pause a campaign", "Остановить кампанию"),
    Phrase(
        "All ads of the campaign stop at once and bring no more leads until it is resumed",
        "Все объявления кампании сразу остановятся и не будут приносить лиды, пока её не включат снова",
    ),
)
RESUME_CAMPAIGN = Wording(
    Phrase("Resume a campaign", "Включить кампанию"),
    Phrase(
        "The ads of the campaign run and spend money again", "Объявления кампании снова пойдут и будут тратить деньги"
    ),
)
PAUSE_ADSET = Wording(
    Phrase("Pause an ad set", "Остановить группу объявлений"),
    Phrase(
        "All ads of the ad set stop at once, and its audience no longer sees them",
        "Все объявления группы сразу остановятся, её аудитория их больше не увидит",
    ),
    ("pause",),
)
RESUME_ADSET = Wording(
    Phrase("Resume an ad set", "Включить группу объявлений"),
    Phrase("The ads of the ad set run and spend money again", "Объявления группы снова пойдут и будут тратить деньги"),
    ("resume",),
)
SET_BUDGET = Wording(
    Phrase("Change the daily budget of an ad set", "Изменить дневной бюджет группы объявлений"),
    Phrase(
        "The ad set spends up to the new budget every day from now on",
        "С этого момента группа объявлений каждый день тратит до нового бюджета",
    ),
    objects=("budget", "adset"),
)
SET_DIRECTION_BUDGET = Wording(
    Phrase("Change the daily budget of a direction", "Изменить дневной бюджет направления"),
    Phrase(
        "The ad set of the direction spends up to the new budget every day from now on",
        "С этого момента группа объявлений направления каждый день тратит до нового бюджета",
    ),
)
SET_TARGET = Wording(
    Phrase("Change the target cost per lead of a direction", "Изменить целевую цену лида направления"),
    Phrase("Reports compare the cost per lead with the new target", "Отчёты сравнивают цену лида с новой целью"),
)
PAUSE_DIRECTION = Wording(
    Phrase("Pause a direction", "Остановить направление"),
    Phrase(
        "The direction and all its ad sets at Facebook stop: it gets no more leads from advertising",
        "Направление и все его группы объявлений в Facebook остановятся: лидов с рекламы больше не будет",
    ),
)
RESUME_DIRECTION = Wording(
    Phrase("Resume a direction", "Включить направление"),
    Phrase(
        "The ads of the direction's own ad set run and spend money again",
        "Объявления основной группы направления снова пойдут и будут тратить деньги",
    ),
)
LAUNCH_CREATIVE = Wording(
    Phrase("Launch a creative in a direction", "Запустить креатив в направлении"),
    Phrase(
        "A new ad with the creative starts in the direction and spends its budget",
        "В направлении начнёт показываться новое объявление с этим креативом и тратить его бюджет",
    ),
)
PAUSE_CREATIVE = Wording(
    Phrase("Pause all ads of a creative", "Остановить все объявления с креативом"),
    Phrase(
        "All ads with the creative stop at once, in every direction",
        "Все объявления с этим креативом сразу остановятся, во всех направлениях",
    ),
)
START_TEST = Wording(
    Phrase("Start a test of a creative", "Начать тест креатива"),
    Phrase(
        "A test of the creative starts and spends its budget, about 20 dollars a day, until it is stopped",
        "Начнётся тест креатива; он тратит свой бюджет, около 20 долларов в день, пока его не остановят",
    ),
)
STOP_TEST = Wording(
    Phrase("Stop a test of a creative", "Остановить тест креатива"),
    Phrase("The test's ad set is paused; what it spent stays spent", "Группа теста остановится; траты не вернутся"),
)
ANALYZE_CREATIVE = Wording(
    Phrase("Have a model analyse a creative", "Проанализировать креатив моделью"),
    Phrase(
        "A model reads the creative's transcript and figures, which costs a model call",
        "Модель прочитает расшифровку и цифры креатива; за её вызов надо платить",
    ),
)
MOVE_LEAD = Wording(
    Phrase("Move a lead to another stage", "Перевести лид на другой этап"),
    Phrase(
        "The lead moves to another stage of the sales funnel in the CRM",
        "Лид перейдёт на другой этап воронки продаж в CRM",
    ),
)
SEND_BULK = Wording(
    Phrase("Send a message over WhatsApp to several people", "Отправить сообщение в WhatsApp нескольким людям"),
    Phrase(
        "Each of these people gets the text over WhatsApp at once; it cannot be taken back",
        "Каждый из этих людей сразу получит текст в WhatsApp; отозвать его нельзя",
    ),
)
LIST_CAMPAIGNS = Wording(Phrase("List campaigns with their figures", "Показать кампании с показателями"))
SHOW_CAMPAIGN = Wording(Phrase("Show one campaign in detail", "Показать подробности одной кампании"))
LIST_ADSETS = Wording(Phrase("List the ad sets of a campaign", "Показать группы объявлений кампании"))
REPORT_SPEND = Wording(Phrase("Report what was spent", "Показать расходы"))
REPORT_ROI = Wording(
    Phrase("Report the return on advertising by creative", "Показать окупаемость рекламы по креативам")
)
LIST_DIRECTIONS = Wording(Phrase("List the directions with their figures", "Показать направления с показателями"))
SHOW_DIRECTION = Wording(Phrase("Show one direction in detail", "Показать подробности одного направления"))
SHOW_DIRECTION_DAYS = Wording(
    Phrase("Show the figures of a direction by day", "Показать показатели направления по дням")
)
LIST_CREATIVES = Wording(Phrase("List creatives with their figures", "Показать креативы с показателями"))
BEST_CREATIVES = Wording(Phrase("Show the best creatives", "Показать лучшие креативы"))
WORST_CREATIVES = Wording(Phrase("Show the worst creatives", "Показать худшие креативы"))
COMPARE_CREATIVES = Wording(Phrase("Compare creatives", "Сравнить креативы"))
SHOW_CREATIVE = Wording(Phrase("Show one creative in detail", "Показать подробности одного креатива"))
SHOW_CREATIVE_DAYS = Wording(Phrase("Show the figures of a creative by day", "Показать показатели креатива по дням"))
SHOW_TRANSCRIPT = Wording(Phrase("Show what is said in a video", "Показать, что говорят в видео"))
SHOW_ANALYSIS = Wording(Phrase("Show the last analysis of a creative", "Показать последний анализ креатива"))
SHOW_RISKS = Wording(Phrase("Show the risks of creatives", "Показать риски креативов"))
LIST_TESTS = Wording(Phrase("List the tests of creatives", "Показать тесты креативов"))
LIST_LEADS = Wording(Phrase("List leads", "Показать лиды"))
SHOW_LEAD = Wording(Phrase("Show one lead in detail", "Показать подробности одного лида"))
SHOW_FUNNEL = Wording(Phrase("Show the sales funnel", "Показать воронку продаж"))
SHOW_QUALITY = Wording(Phrase("Count the qualified leads", "Посчитать квалифицированные лиды"))
LIST_DIALOGS = Wording(Phrase("List dialogues with clients", "Показать переписки с клиентами"))
SHOW_DIALOG = Wording(Phrase("Show the messages of a dialogue", "Показать сообщения переписки"))
SEARCH_DIALOGS = Wording(Phrase("Search dialogues by their summaries", "Найти переписки по их итогам"))
ANALYZE_DIALOG = Wording(Phrase("Have a model analyse a dialogue", "Проанализировать переписку моделью"))
