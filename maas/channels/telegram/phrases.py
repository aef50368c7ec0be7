"""What a bot says without a model, in the languages of its users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Language = Literal["ru", "en"]

COMMANDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "start": "start a new conversation",
        "help": "what this bot can do",
        "mode": "approvals: auto, plan or ask",
        "status": "show this conversation",
        "clear": "delete the messages of this conversation; memory is kept",
    },
    "ru": {
        "start": "начать новый разговор",
        "help": "что умеет этот бот",
        "mode": "подтверждения: auto, plan или ask",
        "status": "показать этот разговор",
        "clear": "удалить сообщения разговора; память останется",
    },
}

PHRASES: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "hello": "Hello! Write to me: I remember what we talk about. /help shows the commands.",
        "help": "Write a message or send a photo. I remember what we talk about.\n\n{commands}\n\n"
        "remember: … keeps a note, notes shows them, forget: … deletes one.",
        "modes": "/mode auto: only dangerous actions wait for your approval\n/mode plan: all changes wait\n"
        "/mode ask: every call of a tool waits\n\nNow: {mode}",
        "mode": "Mode: {mode}",
        "cleared": "Messages deleted: {count}. Memory is kept.",
        "nothing": "There is no conversation yet. Write a message.",
        "status": "Assistant: {assistant}\nMode: {mode}\nMessages: {count}\nAn answer is being written: {processing}\n"
        "Last agent: {agent}",
        "yes": "yes",
        "no": "no",
        "none": "none",
        "unknown_command": "There is no such command; /help lists them all.",
        "private": "This bot is private.",
        "unsupported": "I can read text and photos only.",
        "bad_photo": "This photo cannot be used: {cause}.",
        "queue_full": "Too many of your requests are still being answered; wait for one to finish and write again.",
        "quota_exceeded": "This message was not answered: {cause}.",
        "unknown_assistant": "This assistant is not available now; an operator can see why: maas doctor.",
        "internal": "Something went wrong here; this message was not answered. Write it again.",
        "failed": "No answer: {cause}. Write it again.",
        "failed_somehow": "No answer. Write it again.",
        "erased": "This conversation was erased.",
        "limited": "The daily budget is spent, so rules answered.",
        "memory": "Memory was not complete for this answer.",
        "doubtful_image": "The image may not have arrived. Write to me if it is missing.",
        "send_photo": "Send a photo.",
        "approval": "Needs your approval",
        "approve": "Approve",
        "reject": "Reject",
        "approved": "Approved",
        "rejected": "Rejected",
        "expired": "Expired: ask for it again",
        "done": "Approved",
        "failed_action": "Approved, but it failed",
        "in_doubt": "Approved; it is unknown whether it took effect",
        "already_decided": "This has already been decided.",
        "changed": "It has changed since it was shown to you. Ask for it again.",
        "not_yours": "This button is not yours, or its request no longer exists.",
        "not_offered": "This button is no longer available.",
        "accepted": "…",
    },
    "ru": {
        "hello": "Здравствуйте! Напишите мне: я помню, о чём мы говорим. /help покажет команды.",
        "help": "Напишите сообщение или пришлите фото. Я помню, о чём мы говорим.\n\n{commands}\n\n"
        "запомни: … сохранит заметку, заметки покажет их, забудь: … удалит.",
        "modes": "/mode auto: подтверждения ждут только опасные действия\n/mode plan: ждут все изменения\n"
        "/mode ask: подтверждения ждёт каждый вызов инструмента\n\nСейчас: {mode}",
        "mode": "Режим: {mode}",
        "cleared": "Удалено сообщений: {count}. Память сохранена.",
        "nothing": "Разговора ещё нет. Напишите сообщение.",
        "status": "Ассистент: {assistant}\nРежим: {mode}\nСообщений: {count}\nОтвет пишется: {processing}\n"
        "Последний агент: {agent}",
        "yes": "да",
        "no": "нет",
        "none": "нет",
        "unknown_command": "Такой команды нет; /help покажет все.",
        "private": "Это закрытый бот.",
        "unsupported": "Я понимаю только текст и фотографии.",
        "bad_photo": "Это фото не подходит: нужен JPEG, PNG или WebP не больше {megabytes} МБ.",
        "queue_full": "Слишком много ваших сообщений ещё ждут ответа; дождитесь хотя бы одного и напишите снова.",
        "quota_exceeded": "Сообщение осталось без ответа: ваш предел исчерпан; поднять его может оператор.",
        "unknown_assistant": "Этот ассистент сейчас недоступен; причину покажет оператору maas doctor.",
        "internal": "Что-то пошло не так, и сообщение осталось без ответа. Напишите его ещё раз.",
        "failed": "Ответа нет: {cause}. Напишите ещё раз.",
        "failed_somehow": "Ответа нет. Напишите ещё раз.",
        "erased": "Этот разговор стёрт.",
        "limited": "Бюджет на сегодня исчерпан, поэтому ответ составлен по правилам, без модели.",
        "memory": "Память для этого ответа была неполной.",
        "doubtful_image": "Картинка могла не дойти. Напишите мне, если её нет.",
        "send_photo": "Пришлите фото.",
        "approval": "Нужно ваше подтверждение",
        "approve": "Подтвердить",
        "reject": "Отклонить",
        "approved": "Подтверждено",
        "rejected": "Отклонено",
        "expired": "Срок истёк: попросите ещё раз",
        "done": "Подтверждено",
        "failed_action": "Подтверждено, но не удалось",
        "in_doubt": "Подтверждено; сработало ли, неизвестно",
        "already_decided": "Это уже решено.",
        "changed": "Это уже не то, что вам показали. Попросите ещё раз.",
        "not_yours": "Это не ваша кнопка, или этого запроса больше нет.",
        "not_offered": "Эта кнопка больше не действует.",
        "accepted": "…",
    },
}


# Why a run failed, by code. What else is said of it, in English, is for those who read that.
CAUSES: Mapping[Language, Mapping[str, str]] = {
    "en": {},
    "ru": {
        "timeout": "он не пришёл вовремя",
        "too_slow": "модель писала слишком медленно",
        "unreachable": "модель недоступна",
        "rate_limited": "модель пока не принимает новых запросов",
        "provider_error": "у поставщика модели сбой",
        "unauthorized": "поставщик модели не принимает ключ",
        "unknown_model": "у поставщика нет такой модели",
        "bad_request": "поставщик модели отклонил запрос",
        "context_exceeded": "запрос слишком длинный для модели",
        "filtered": "поставщик модели не пропустил ответ",
        "malformed": "ответ модели не удалось разобрать",
        "reply_too_large": "ответ модели слишком длинный",
        "engine_died": "запрос несколько раз обрушил свой процесс",
        "bad_data": "ответ не удалось сохранить",
        "cancelled": "запрос отменён",
    },
}


def say_failure(language: Language, code: str | None, message: str) -> str:
    """That a run failed, and why in this language, as far as it is known in it."""
    cause = CAUSES[language].get(code or "") or (message if language == "en" else "")
    return say(language, "failed", cause=cause) if cause else say(language, "failed_somehow")


def say(language: Language, name: str, **values: object) -> str:
    """The phrase of this name with its values."""
    return PHRASES[language][name].format(**values)


def language_of(code: str | None) -> Language:
    """The language to speak with a user whose client has this IETF language tag."""
    return "ru" if code is not None and code.lower().startswith(("ru", "be", "uk", "kk")) else "en"
