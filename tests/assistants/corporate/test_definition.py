"""The corporate assistant as data: its graph, its prompts within their bounds, its form for a share of the users."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid5

import pytest

from maas.agents.answer_language import is_in
from maas.agents.definition import Definition, read_definition
from maas.assistants.corporate.definition import define_corporate
from maas.assistants.corporate.interview import SLOTS
from maas.assistants.corporate.mail import mail_servers
from maas.assistants.corporate.user_tools import REQUIRED
from maas.prompting.prompts import built_in_text
from maas.prompting.variants import Variant, choose_variant
from maas.settings import load_settings
from shared import tokens
from shared.errors import MaasError

MAX_LINES = {"Router": 300, "Knowledge": 130, "Interview": 110}
HEADINGS = {
    "Router": ("Роль и цель", "Язык", "Начало разговора", "Пути выполнения", "Стиль ответа", "Сбор сведений", "Ошибки",
               "Примеры"),
    "Knowledge": ("Роль", "Что ты умеешь", "Инструменты", "Режимы поиска", "Фразы перед поиском", "Стиль ответа",
                  "Когда вернуть разговор", "Особые случаи", "Примеры"),
    "Interview": ("Роль", "Порядок", "Вопросы", "Стиль ответа", "Когда вернуть разговор", "Пример"),
}  # fmt: skip
USERS = [uuid5(UUID(int=7), str(number)) for number in range(1000)]


def define(**settings: Any) -> Definition:
    defaults = {"corporate_model": "openai:x", "openai_api_key": "sk-test-0123456789"}
    return define_corporate(load_settings(**(defaults | settings)))


def test_three_agents_hand_over_in_this_graph_only() -> None:
    definition = define()
    assert {one.name: one.handoffs for one in definition.agents} == {
        "router": ("knowledge", "interview"),
        "knowledge": ("router",),
        "interview": ("router",),
    }
    assert definition.voice == "sage" and definition.language == "ru" and definition.strict_language
    knowledge = definition.agents[1]
    assert all(name.startswith("lightrag_") for name in knowledge.toolset) and len(knowledge.toolset) == 4
    assert [slot.name for slot in SLOTS if slot.required] == list(REQUIRED) and len(SLOTS) == 7


def test_mail_is_there_if_its_server_is_named() -> None:
    url = "https://mail.example/mcp"
    assert "send_email" not in define().agents[0].toolset and mail_servers(load_settings()) == ()
    assert "send_email" in define(corporate_mcp_url=url).agents[0].toolset
    (server,) = mail_servers(load_settings(corporate_mcp_url=url, corporate_mcp_token="listing-token"))
    assert server.user_variables == {"calendar_token"} and "listing-token" not in repr(server)
    assert server.effects["send_email"] == server.effects["create_calendar_event"] == "dangerous"
    assert server.effects["read_latest_email"] == server.effects["get_calendar_events"] == "read"


@pytest.mark.parametrize("agent", MAX_LINES)
def test_a_prompt_has_its_sections_within_its_bounds(agent: str) -> None:
    text = built_in_text(f"Corporate{agent}")
    assert text.count("\n") + 1 <= MAX_LINES[agent]
    headings = re.findall(r"(?m)^# (.+)$", text)
    assert [one for one in headings if one in HEADINGS[agent]] == list(HEADINGS[agent])


def test_the_router_leaves_room_for_memory() -> None:
    """Of 8,000 tokens, with the rules of every answer."""
    base = tokens.count(built_in_text("FinalResponder"))
    assert base + tokens.count(built_in_text("CorporateRouter")) <= 4000
    assert sum(built_in_text(f"Corporate{agent}").count("\n") + 1 for agent in MAX_LINES) <= 540


def test_a_prompt_names_no_tool_that_its_agent_lacks() -> None:
    definition = define(corporate_mcp_url="https://mail.example/mcp")
    own = {"confirm_pending", "reject_pending", "optional_questions", "getWorkingContext"}
    for agent in definition.agents:
        known = {*agent.toolset, *(f"transfer_to_{one}" for one in agent.handoffs), *own}
        known |= {*definition.opening_tools}
        text = built_in_text(agent.role_prompt)
        named = set(re.findall(r"`((?:[a-z]+[A-Z]\w+|[a-z]+_[a-z_]+))`", text))
        fields = {
            "conversationContext",
            "proposedPlan",
            "userIntent",
            "taskDescription",
            "approval_required",
            "userId",
            "interview_passed",
            "mail_and_calendar",
            "top_k",
            "track_id",
            *(slot.name for slot in SLOTS),
        }
        assert named - known - fields == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Завтра две встречи: в 10:00 планёрка и обзор.", True),
        ("You have two meetings tomorrow at ten.", False),
        ("Готово: отправил «Quarterly budget review and forecast» Ивану.", True),
        ("OK", True),
        ("Напишите на ivan.petrov@example-company.com или https://example.com/a/very/long/path/of/words сюда.", True),
        ("Команда: `select * from the_table where something_is_true` покажет всё.", True),
        ("Yes, и это всё, что I can say about the matter today.", False),
        ("«" * 5_000 + "a" * 50_000, False),
    ],
)
def test_the_language_of_an_answer(text: str, expected: bool) -> None:
    assert is_in("ru", text) is expected


def test_a_share_of_the_users_has_a_variant_and_keeps_it() -> None:
    definition = define(corporate_legacy_share=10)
    chosen = [user for user in USERS if definition.variant_of(user) is not None]
    assert 70 <= len(chosen) <= 130
    more = define(corporate_legacy_share=30)
    assert all(more.variant_of(user) is not None for user in chosen)
    assert not any(define().variant_of(user) for user in USERS)
    legacy = define(corporate_variant="legacy", corporate_legacy_share=10)
    assert all(legacy.variant_of(user) is not None for user in USERS)


def test_a_variant_is_one_voice_with_its_tools() -> None:
    definition = define(corporate_variant="legacy")
    single = definition.as_variant(definition.variants[0])
    assert (single.routing, single.role_prompt, single.agents) == ("single", "CorporateLegacy", ())
    assert {"lightrag_query", "delegateToPlanningAgent"} <= set(single.toolset)
    assert single.opening_tools == definition.opening_tools


def test_shares_follow_one_another() -> None:
    variants = [Variant(name=name, share=share, role_prompt="X") for name, share in (("a", 20), ("b", 80))]
    found = [choose_variant(variants, "one", user) for user in USERS]
    assert {one.name for one in found if one} == {"a", "b"} and None not in found
    assert found != [choose_variant(variants, "two", user) for user in USERS]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"strict_language": True}, "strict_language: name the language"),
        ({"variants": [{"name": "a", "share": 60, "role_prompt": "X"}, {"name": "b", "share": 50, "role_prompt": "X"}]},
         "more than 100 percent"),
        ({"variants": [{"name": "a", "share": 1, "role_prompt": "X"}, {"name": "a", "share": 1, "role_prompt": "X"}]},
         "two have the same name"),
        ({"routing": "handoff", "agents": [{"name": "a", "role_prompt": "X", "about": "x", "successor": "a"}]},
         "agents.a.successor: it needs slots"),
    ],
)  # fmt: skip
def test_wrong_fields_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(MaasError, match=re.escape(message)):
        read_definition("desk", "Mentor", fields)
