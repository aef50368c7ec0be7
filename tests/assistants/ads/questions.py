"""Forty questions of a marketer about the invented agency: what a model calls and says, and where the truth stands.

`says` is how a model words what it was given: in braces stands where a figure is in the result of its call, never the
figure. `true` is SQL by hand over the raw facts, whose columns must be in the answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Call = tuple[str, dict[str, Any]]


class Question(NamedTuple):
    """`period`: a named one or two dates. `of`: the objects that the answer names."""

    text: str
    call: Call
    says: str
    true: str
    period: str = "last_30d"
    of: tuple[str, ...] = ()
    account: str = "act_20260"


class Refusal(NamedTuple):
    """A question that has no figure: the result says why, in words that hold `why`."""

    text: str
    call: Call
    why: str
    says: str
    account: str = "act_20260"


class Order(NamedTuple):
    """Something that is to be changed. `asked` are words of the question for consent; None: refused before that."""

    text: str
    call: Call
    asked: tuple[str, ...] | None
    why: str = "approval_required"


DAYS = "agency.ad_days where account = %(account)s and day between %(first)s and %(last)s"
LEADS = "agency.leads where (created_at at time zone %(zone)s)::date between %(first)s and %(last)s"
OF_ADS = f"(select * from {DAYS}) d join agency.ads a on a.id = d.ad"
COST = "round(sum(spend) / nullif(sum(leads), 0), 2) as cpl"


def of(level: str, key: str, figures: str) -> str:
    return f"select {figures} from {DAYS} and {level} = '{key}'"


def spend(**more: Any) -> Call:
    return "getSpendReport", more


QUESTIONS: tuple[Question | Refusal | Order, ...] = (
    Question("Сколько потратили за последние 7 дней?", spend(period="last_7d"),
             "За 7 дней — {total.spend} {currency}.", f"select sum(spend) as spend from {DAYS}", "last_7d"),
    Question("Сколько лидов дала реклама в этом месяце и почём?", spend(period="this_month"),
             "С начала месяца — лидов {total.leads}, по {total.cpl} {currency}.",
             f"select sum(leads) as leads, {COST} from {DAYS}", "this_month"),
    Question("Какие были расходы в прошлом месяце?", spend(period="last_month"),
             "В прошлом месяце — {total.spend} {currency}.", f"select sum(spend) as spend from {DAYS}", "last_month"),
    Question("Какие CTR и CPM за 30 дней?", spend(period="last_30d"),
             "За 30 дней CTR {total.ctr} %, CPM {total.cpm} {currency}.",
             "select round(sum(clicks) * 100 / sum(impressions), 2) as ctr, "
             f"round(sum(spend) * 1000 / sum(impressions), 2) as cpm from {DAYS}"),
    Question("Сколько ушло на рекламу за год?", spend(period="last_12m"),
             "За год — {total.spend} {currency}.", f"select sum(spend) as spend from {DAYS}", "last_12m"),
    Question("Сколько показов было вчера?", spend(period="yesterday"),
             "Вчера показов: {total.impressions}.", f"select sum(impressions) as shown from {DAYS}", "yesterday"),
    Question("Что было в рекламе 5 октября?", spend(date_from="2026-10-05", date_to="2026-10-05"),
             "5 октября: {total.spend} {currency}, лидов {total.leads}.",
             f"select sum(spend) as spend, sum(leads) as leads from {DAYS}", "2026-10-05 2026-10-05"),
    Question("Сколько кликов было с 1 по 15 ноября?", spend(date_from="2026-11-01", date_to="2026-11-15"),
             "С 1 по 15 ноября кликов: {total.clicks}.", f"select sum(clicks) as clicks from {DAYS}",
             "2026-11-01 2026-11-15"),
    Question("Во что обошлась кампания «Шкафы | WhatsApp» за 30 дней?", ("getCampaigns", {"period": "last_30d"}),
             "«Шкафы | WhatsApp» за 30 дней: {campaigns[name=Шкафы | WhatsApp].spend} {currency}.",
             of("campaign", "102", "sum(spend) as spend"), of=("Шкафы | WhatsApp",)),
    Question("Сколько лидов дала в прошлом месяце архивная «Кухни | весна»?",
             ("getCampaignDetails", {"campaign_id": "Кухни | весна", "period": "last_month"}),
             "«Кухни | весна» в прошлом месяце: лидов {campaign.leads} за {campaign.spend} {currency}.",
             of("campaign", "103", "sum(leads) as leads, sum(spend) as spend"), "last_month", ("Кухни | весна",)),
    Question("Сколько стоил лид в кампании «Гардеробные | новое имя» за год?",
             ("getCampaignDetails", {"campaign_id": "Гардеробные | новое имя", "period": "last_12m"}),
             "«Гардеробные | новое имя» за год: лид по {campaign.cpl} {currency}.",
             of("campaign", "104", COST), "last_12m", ("Гардеробные | новое имя",)),
    Question("Сколько потратила группа «Астана» за 30 дней?", ("getAdSets", {"period": "last_30d"}),
             "«Астана» за 30 дней: {adsets[name=Астана].spend} {currency}.",
             of("adset", "112", "sum(spend) as spend"), of=("Астана",)),
    Question("Сколько лидов у группы «Шкафы, женщины» в этом месяце?", ("getAdSets", {"period": "this_month"}),
             "«Шкафы, женщины» с начала месяца: лидов {adsets[name=Шкафы, женщины].leads}.",
             of("adset", "113", "sum(leads) as leads"), "this_month", ("Шкафы, женщины",)),
    Question("Какая цена лида у направления «Кухни» за 30 дней?", ("getDirections", {"period": "last_30d"}),
             "«Кухни» за 30 дней: лид по {directions[name=Кухни].cpl} {currency}.",
             of("direction", "Кухни", COST), of=("Кухни",)),
    Question("Сколько квалифицированных лидов у направления «Шкафы» за 30 дней?",
             ("getDirections", {"period": "last_30d"}),
             "«Шкафы» за 30 дней: квалифицированных {directions[name=Шкафы].qualified_leads_engaged}.",
             f"select count(*) as engaged from {LEADS} and direction = 'Шкафы' and is_engaged", of=("Шкафы",)),
    Question("Во что обошёлся квалифицированный лид «Гардеробных» за год?",
             ("getDirectionDetails", {"direction_id": "Гардеробные", "period": "last_12m"}),
             "«Гардеробные» за год: {direction.qcpl} {currency} за квалифицированного лида.",
             f"select round((select sum(spend) from {DAYS} and direction = 'Гардеробные') / count(*), 2) as qcpl "
             f"from {LEADS} and direction = 'Гардеробные' and is_engaged", "last_12m", ("Гардеробные",)),
    Question("Сколько потратило направление «Кухни» в прошлом месяце?",
             ("getDirectionMetrics", {"direction_id": "Кухни", "period": "last_month"}),
             "«Кухни» в прошлом месяце: {total.spend} {currency}.",
             of("direction", "Кухни", "sum(spend) as spend"), "last_month", ("Кухни",)),
    Question("Сколько дней за последние 7 «Кухни» вообще шли?",
             ("getDirectionMetrics", {"direction_id": "Кухни", "period": "last_7d"}),
             "«Кухни» за 7 дней: с показами дней — {count}.",
             of("direction", "Кухни", "count(distinct day) as days"), "last_7d", ("Кухни",)),
    Question("Сколько потратил креатив «Видео 2» за 30 дней?",
             ("getCreativeDetails", {"creative_id": "Видео 2", "period": "last_30d"}),
             "«Видео 2» за 30 дней: {creative.spend} {currency}.",
             of("creative", "7001", "sum(spend) as spend"), of=("Видео 2",)),
    Question("Какое удержание у видео «Видео 2» на четверти за 30 дней?",
             ("getCreativeMetrics", {"creative_id": "Видео 2", "period": "last_30d"}),
             "«Видео 2» за 30 дней: до четверти досмотрели {total.video.retention_25} %.",
             of("creative", "7001", "round(sum(p25) * 100 / sum(video_views), 2) as p25"), of=("Видео 2",)),
    Question("Сравни креативы «Видео 2» и «Видео 6» за год по цене лида",
             ("compareCreatives", {"creative_ids": ["Видео 2", "Видео 6"], "period": "last_12m"}),
             "«Видео 2» за год — {creatives[title=Видео 2].cpl} {currency}, «Видео 6» — {creatives[title=Видео 6].cpl}",
             f"select (select {COST} from {DAYS} and creative = '7001') as one, "
             f"(select {COST} from {DAYS} and creative = '7005') as other", "last_12m", ("Видео 2", "Видео 6")),
    Question("Какой креатив потратил больше всех за год?",
             ("getTopCreatives", {"metric": "spend", "limit": 1, "period": "last_12m"}),
             "За год больше всех — «{creatives[0].title}»: {creatives[0].spend} {currency}.",
             f"select title as name, sum(spend) as spend from {OF_ADS} group by 1 order by 2 desc limit 1", "last_12m"),
    Question("У какого креатива самый дешёвый лид за год?",
             ("getTopCreatives", {"metric": "cpl", "limit": 1, "period": "last_12m"}),
             "За год дешевле всех «{creatives[0].title}»: {creatives[0].cpl} {currency} за лида.",
             f"select title as name, {COST} from {OF_ADS} group by 1 order by 2 limit 1", "last_12m"),
    Question("Какой ROI у рекламы за год?", ("getROIReport", {"period": "last_12m"}),
             "За год ROI {total.roi} %, курс учтён: {revenue_note}.",
             "select round((sum(revenue) * 0.002 / (select sum(spend) from "
             f"{DAYS}) - 1) * 100, 2) as roi from {LEADS} and account = %(account)s", "last_12m"),
    Question("Сколько выручки принесла реклама за год?", ("getROIReport", {"period": "last_12m"}),
             "За год реклама принесла {total.revenue} {currency}.",
             f"select round(sum(revenue) * 0.002, 2) as revenue from {LEADS} and account = %(account)s", "last_12m"),
    Question("Сколько стоил квалифицированный лид в прошлом месяце?", ("getROIReport", {"period": "last_month"}),
             "В прошлом месяце — {total.qcpl} {currency} за квалифицированного лида.",
             f"select round((select sum(spend) from {DAYS}) / count(*), 2) as qcpl from {LEADS} "
             "and account = %(account)s and is_engaged", "last_month"),
    Question("Сколько лидов за год пришло само, без рекламы?", ("getROIReport", {"period": "last_12m"}),
             "За год без известной рекламы — {without_creative.local_leads}.",
             f"select count(*) as leads from {LEADS} and ad is null", "last_12m"),
    Question("Сколько лидов в CRM за этот месяц и какая доля квалифицирована?",
             ("getSalesQuality", {"period": "this_month"}),
             "С начала месяца лидов {leads}, квалифицировано {crm_qualification_rate} %.",
             "select count(*) as leads, round(count(*) filter (where is_qualified) * 100.0 / count(*), 2) as rate "
             f"from {LEADS}", "this_month"),
    Question("Сколько лидов за 30 дней написали два раза и больше?", ("getSalesQuality", {"period": "last_30d"}),
             "За 30 дней два сообщения и больше — у {leads_with_2_messages}.",
             f"select count(*) as engaged from {LEADS} and messages >= 2"),
    Question("Сколько оплат за год и на какую сумму?", ("getFunnelStats", {"period": "last_12m"}),
             "За год оплат {steps[step=paid].count} на {revenue} {currency}.",
             f"select count(*) as paid, sum(revenue) as revenue from {LEADS} and revenue > 0", "last_12m"),
    Question("Сколько лидов этого года сейчас на замере?", ("getFunnelStats", {"period": "this_year"}),
             "Из пришедших в этом году на замере {pipelines[0].stages[id=12].count}.",
             f"select count(*) as leads from {LEADS} and stage = 12", "this_year"),
    Question("Сколько лидов пришло за 7 дней?", ("getLeads", {"period": "last_7d", "limit": 1}),
             "За 7 дней лидов: {count}.", f"select count(*) as leads from {LEADS}", "last_7d"),
    Question("Сколько переписок было за 30 дней?", ("getDialogs", {"period": "last_30d", "limit": 1}),
             "За 30 дней переписок: {count}.",
             "select count(*) as dialogues from agency.dialogues "
             "where (last_at at time zone %(zone)s)::date between %(first)s and %(last)s"),
    Question("Сколько потратили в Берлине за 30 дней?", spend(period="last_30d"),
             "Берлин за 30 дней: {total.spend} {currency}.", f"select sum(spend) as spend from {DAYS}",
             account="act_20261"),
    Question("Какая цена лида у «Küchen» за год?", ("getDirections", {"period": "last_12m"}),
             "«Küchen» за год: {directions[name=Küchen].cpl} {currency} за лида.",
             of("direction", "Küchen", COST), "last_12m", ("Küchen",), "act_20261"),
    Refusal("Какой ROI у Берлина за год?", ("getROIReport", {"period": "last_12m"}), "without a rate",
            "ROI за год посчитать нельзя: {revenue_note}.", "act_20261"),
    Refusal("Сколько мы потратили за год по обоим кабинетам вместе?", spend(period="last_12m"),
            "Küchen Berlin (EUR)", "Суммы по обоим нет: {not_included}."),
    Order("Подними бюджет группы «Астана» до 45 долларов",
          ("updateBudget", {"adset_id": "Астана", "daily_budget": 45}), ("Астана", "30", "45", "USD")),
    Order("Поставь кампанию «Кухни | заявки» на паузу", ("pauseCampaign", {"campaign_id": "Кухни | заявки"}), None,
          "several are named"),
    Order("Подними бюджет группы «Шкафы, женщины» до 50",
          ("updateBudget", {"adset_id": "Шкафы, женщины", "daily_budget": 50}), None, "campaign"),
)  # fmt: skip
