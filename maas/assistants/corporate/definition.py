"""The definition of `corporate`: a router that acts, an agent that searches, an agent that gets to know the user."""

from __future__ import annotations

from maas.agents.definition import Agent, Definition, Limits, Needs, OpeningRoute, Preamble
from maas.assistants.corporate.interview import COMPLETION, SLOTS
from maas.assistants.corporate.mail import MAIL_TOOLS, find_mail_server
from maas.assistants.corporate.settings import CorporateSettings
from maas.assistants.corporate.user_tools import OPENING_TOOLS, PASSED, STATUS_TOOL, WORKING_CONTEXT
from maas.model_registry import model_or_default
from maas.prompting.variants import Variant
from maas.settings import Settings

MODEL = "openai:gpt-5.2"
BUILT_IN = "extractive:"
MAX_CALLS, MAX_SECONDS = 40, 600.0  # a plan of seven steps may need most of it
MAX_WORDS = 40  # the longest answer that its prompts ask for
KNOWLEDGE_TOOLS = ("lightrag_query", "lightrag_query_data", "lightrag_track_status", "lightrag_get_pipeline_status")
DELEGATION_TOOLS = ("delegateToPlanningAgent", "delegateToComplexTaskAgent")
INTERVIEW_TOOLS = ("startInitialInterview", "conductInitialInterview", COMPLETION)
# What is said before a call that the model has put no words before.
PREAMBLES = {
    "read_latest_email": Preamble(
        ru=("Смотрю почту.", "Проверяю последнее письмо."), en=("Checking your mail.", "Reading the latest email.")
    ),
    "get_calendar_events": Preamble(
        ru=("Открываю календарь.", "Смотрю ваши встречи."), en=("Opening the calendar.", "Looking at your meetings.")
    ),
    "send_email": Preamble(
        ru=("Готовлю письмо.", "Оформляю письмо."), en=("Preparing the email.", "Putting the email together.")
    ),
    "create_calendar_event": Preamble(
        ru=("Готовлю событие.", "Вношу в календарь."), en=("Preparing the event.", "Adding it to the calendar.")
    ),
    "lightrag_query": Preamble(
        ru=("Ищу в документах.", "Смотрю, что написано.", "Поднимаю переписку."),
        en=("Searching the documents.", "Looking at what is written.", "Going through the correspondence."),
    ),
    "lightrag_query_data": Preamble(
        ru=("Собираю места в документах.", "Проверяю заметки."),
        en=("Collecting the passages.", "Checking the notes."),
    ),
    "delegateToPlanningAgent": Preamble(
        ru=("Одну минуту, продумаю порядок.", "Минуту, составлю план."),
        en=("One moment, thinking it through.", "One moment, making a plan."),
    ),
    "delegateToComplexTaskAgent": Preamble(
        ru=("Разложу задачу на шаги.", "Готовлю список шагов."), en=("Working out the steps.", "Listing the steps.")
    ),
}


def define_corporate(settings: Settings) -> Definition:
    """The assistant as the settings make it: mail and calendar where a server is named, its model, its variant."""
    own = settings.of(CorporateSettings)
    model = model_or_default(own.corporate_model, MODEL, settings)
    mail = MAIL_TOOLS if find_mail_server(settings) is not None else ()
    router = (*mail, *OPENING_TOOLS, *DELEGATION_TOOLS)
    share = 100 if own.corporate_variant == "legacy" else own.corporate_legacy_share
    return Definition(
        name="corporate",
        role_prompt="CorporateRouter",
        title="Colleague",
        description="Reads mail and calendar, finds what is written in documents, plans, and learns how you work.",
        routing="handoff",
        agents=(
            Agent(
                name="router",
                role_prompt="CorporateRouter",
                about="mail, calendar, plans, long tasks, and whatever else comes up",
                toolset=router,
                handoffs=("knowledge", "interview"),
            ),
            Agent(
                name="knowledge",
                role_prompt="CorporateKnowledge",
                about="finds what documents, notes and past correspondence say, with sources; it only searches",
                toolset=KNOWLEDGE_TOOLS,
                handoffs=("router",),
            ),
            Agent(
                name="interview",
                role_prompt="CorporateInterview",
                about="gets to know the user and how they want to work; for new users and for wishes of that kind",
                toolset=(OPENING_TOOLS[0], *INTERVIEW_TOOLS),
                handoffs=("router",),
                slots=SLOTS,
                completion=COMPLETION,
                confirm=False,
                optional="offer",
                session="user",
                successor="router",
            ),
        ),
        opening_tools=OPENING_TOOLS,
        opening_routes=(OpeningRoute(tool=STATUS_TOOL, field=PASSED, equals=False, agent="interview"),),
        context_providers=(WORKING_CONTEXT,),
        limits=Limits(calls=MAX_CALLS, seconds=MAX_SECONDS, words=MAX_WORDS),
        model=model,
        language="ru",
        strict_language=True,
        opening="/start",
        voice="sage",
        variants=(
            Variant(
                name="legacy",
                share=share,
                role_prompt="CorporateLegacy",
                toolset=(*router, *KNOWLEDGE_TOOLS),
            ),
        ),
        preambles={name: one for name, one in PREAMBLES.items() if name in (*router, *KNOWLEDGE_TOOLS)},
        needs=_needs(model, settings),
    )


def _needs(model: str | None, settings: Settings) -> Needs:
    """A key, where nothing but the built-in model would answer: it calls no tools."""
    is_built_in = (settings.models.responder_model or settings.models.model).startswith(BUILT_IN)
    return Needs(keys=("openai",)) if model is None and is_built_in else Needs()
