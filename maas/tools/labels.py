"""What people read in place of the names of arguments and of values that a call gave."""

from __future__ import annotations

from collections.abc import Mapping

from maas.conversations.language import Spoken

LABELS: dict[str, Mapping[Spoken, str]] = {
    "to": {"en": "to", "ru": "кому"},
    "cc": {"en": "copy", "ru": "копия"},
    "subject": {"en": "subject", "ru": "тема"},
    "body": {"en": "text", "ru": "текст"},
    "text": {"en": "text", "ru": "текст"},
    "recipients": {"en": "recipients", "ru": "получатели"},
    "send_at": {"en": "time", "ru": "время"},
    "title": {"en": "title", "ru": "название"},
    "start": {"en": "start", "ru": "начало"},
    "end": {"en": "end", "ru": "конец"},
    "attendees": {"en": "with", "ru": "участники"},
    "daily_budget": {"en": "daily budget", "ru": "бюджет в день"},
    "budget": {"en": "budget", "ru": "бюджет"},
    "campaign_id": {"en": "campaign", "ru": "кампания"},
    "adset_id": {"en": "ad set", "ru": "группа объявлений"},
    "direction_id": {"en": "direction", "ru": "направление"},
    "creative_id": {"en": "creative", "ru": "креатив"},
    "lead_id": {"en": "lead", "ru": "лид"},
    "sent": {"en": "sent", "ru": "отправлено"},
    "created": {"en": "created", "ru": "создано"},
    "not_sent": {"en": "not sent", "ru": "не отправлено"},
    "failed": {"en": "failed", "ru": "не удалось"},
    "target_cpl": {"en": "target cost per lead", "ru": "целевая цена лида"},
}
# Of arguments alone: what a call gave has other meanings under some of these names.
ARGUMENT_LABELS: Mapping[str, Mapping[Spoken, str]] = LABELS | {
    "period": {"en": "period", "ru": "период"},
    "date_from": {"en": "from", "ru": "с"},
    "date_to": {"en": "to", "ru": "по"},
    "limit": {"en": "at most", "ru": "не более"},
    "status": {"en": "status", "ru": "статус"},
    "group_by": {"en": "by", "ru": "по чему"},
    "metric": {"en": "measure", "ru": "показатель"},
    "creative_ids": {"en": "creatives", "ru": "креативы"},
    "ad_name": {"en": "ad", "ru": "объявление"},
    "test_id": {"en": "test", "ru": "тест"},
    "is_qualified": {"en": "qualified", "ru": "квалифицированные"},
    "is_engaged": {"en": "engaged", "ru": "вовлечённые"},
    "temperature": {"en": "temperature", "ru": "температура"},
    "stage_id": {"en": "stage", "ru": "этап"},
    "pipeline_id": {"en": "funnel", "ru": "воронка"},
    "dialog_id": {"en": "dialogue", "ru": "переписка"},
    "skip": {"en": "left out", "ru": "пропустить"},
    "query": {"en": "what to look for", "ru": "что искать"},
    "style": {"en": "style", "ru": "стиль"},
    "emotion": {"en": "emotion", "ru": "эмоция"},
    "pose": {"en": "pose", "ru": "поза"},
    "steps": {"en": "step", "ru": "шаг"},
    "tool": {"en": "tool", "ru": "инструмент"},
    "arguments": {"en": "with", "ru": "с чем"},
    "prompt": {"en": "what to think about", "ru": "о чём подумать"},
    "items": {"en": "how many", "ru": "сколько"},
    "dependsOn": {"en": "after steps", "ru": "после шагов"},
    "depends_on": {"en": "after steps", "ru": "после шагов"},
    "taskDescription": {"en": "task", "ru": "задача"},
    "conversationContext": {"en": "what it is about", "ru": "о чём речь"},
    "proposedPlan": {"en": "plan", "ru": "план"},
    "userIntent": {"en": "what is wanted", "ru": "что нужно"},
    "complexity": {"en": "difficulty", "ru": "сложность"},
    "userId": {"en": "user", "ru": "пользователь"},
    "position": {"en": "position", "ru": "должность"},
    "competencies": {"en": "competencies", "ru": "компетенции"},
    "communication_style": {"en": "style of communication", "ru": "стиль общения"},
    "meeting_preferences": {"en": "meetings", "ru": "встречи"},
    "focus_time": {"en": "time for work alone", "ru": "время для работы без встреч"},
    "working_style": {"en": "style of work", "ru": "стиль работы"},
    "career_goals": {"en": "career goals", "ru": "цели в карьере"},
    "problem_solving": {"en": "approach to problems", "ru": "подход к задачам"},
    "mode": {"en": "mode", "ru": "режим"},
    "top_k": {"en": "at most", "ru": "не более"},
    "include_references": {"en": "with sources", "ru": "с источниками"},
    "track_id": {"en": "upload", "ru": "загрузка"},
    "at": {"en": "when", "ru": "когда"},
    "attendee": {"en": "with", "ru": "участник"},
    "duration": {"en": "duration", "ru": "длительность"},
    "location": {"en": "place", "ru": "место"},
    "description": {"en": "description", "ru": "описание"},
}


def label_of(name: str, language: Spoken) -> str | None:
    """An argument in words, or one item of it by its number (`steps 2`); None where it has none."""
    if (known := ARGUMENT_LABELS.get(name)) is not None:
        return known[language]
    of, _, number = name.rpartition(" ")
    known = ARGUMENT_LABELS.get(of) if number.isdecimal() else None
    return f"{known[language]} {number}" if known else None
