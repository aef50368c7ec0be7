"""How changes to advertising are described to people before they decide on them."""

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
