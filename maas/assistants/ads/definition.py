"""The definitions of both advertising assistants: the same tools and agents, routed by meta tools or by words."""

from __future__ import annotations

from maas.agents.definition import Agent, Definition, Limits, Needs
from maas.assistants.ads.account import DOMAINS
from maas.assistants.ads.context import PROVIDERS
from maas.assistants.ads.settings import AdsSettings
from maas.model_registry import model_or_default, named_model
from maas.settings import Settings

ORCHESTRATOR_MODEL, AGENT_MODEL = "openai:gpt-5.2", "openai:gpt-4o-mini"
AGENT_TEMPERATURE, AGENT_TOKENS = 0.3, 1500
MAX_CALLS, MAX_SECONDS = 30, 300.0
EXCHANGES = 6  # of a conversation, that the orchestrator reads as messages
BUILT_IN = "extractive:"
ROLES = {"ads": "AdsAgent", "creative": "CreativeAgent", "crm": "CrmAgent", "whatsapp": "WhatsappAgent"}
ABOUT = {
    "ads": "campaigns, ad sets, directions, budgets, spend, ROI, what a lead or a qualified lead costs",
    "creative": "creatives, videos, retention, tests, scores",
    "crm": "leads, funnel, qualification, sales",
    "whatsapp": "dialogues, messages, mailings",
}
# Words and phrases by which a question is known to be a domain's. A phrase counts beside the words in it, so that a
# question which names two domains goes to the one whose phrase it holds.
KEYWORDS = {
    "ads": (
        "реклама", "расход", "потратили", "трата", "бюджет", "кампания", "направление", "группа объявлений",
        "адсет", "roi", "окупаемость", "бюджет направления", "ads", "spend", "budget", "campaign", "campaigns",
        "direction", "directions", "ad set", "ad sets",
        "стоит", "стоит лид", "стоимость", "стоимость лида", "стоимость квалифицированного", "цена", "цена лида",
        "обошлись", "во что они обошлись", "cost", "lead cost", "leads cost", "they cost", "cost per lead",
    ),
    "creative": (
        "креатив", "топ креативов", "запусти креатив", "запустить креатив", "креатив в направление",
        "креативы направления", "сравни креативы", "анализ креатива", "видео", "ролик", "retention", "удержание",
        "тест креатива", "creative", "creatives", "video", "launch creative", "creative into", "top creatives",
        "compare creatives",
    ),
    "crm": (
        "лид", "заявка", "заявок", "воронка", "воронок", "квалификация", "квалифицированный", "сделка", "сделок",
        "crm", "lead", "leads", "funnel", "qualified", "sales",
    ),
    "whatsapp": (
        "диалог", "переписка", "переписок", "сообщение", "рассылка", "рассылок", "ватсап", "вотсап", "whatsapp",
        "dialog", "dialogs", "dialogue", "dialogues", "chats", "messages", "mailing",
    ),
}  # fmt: skip


def define_ads(settings: Settings) -> Definition:
    """`ads`: the model opens domains of tools by meta tools; an agent of each domain puts its results into words."""
    own = settings.of(AdsSettings)
    model = model_or_default(named_model(own.meta_orchestrator_model), ORCHESTRATOR_MODEL, settings)
    return Definition(
        name="ads",
        role_prompt="AdsOrchestrator",
        title="Advertising",
        description="Works on your advertising accounts, leads and dialogues; asks before it changes anything.",
        routing="meta_tools",
        agents=_agents(settings, has_tools=False),
        toolset=DOMAINS,
        context_providers=PROVIDERS,
        limits=Limits(rounds=own.meta_max_iterations, calls=MAX_CALLS, seconds=MAX_SECONDS),
        model=model,
        language="ru",
        sourced_figures=True,
        history=EXCHANGES,
        opening="/start",
        needs=_needs(model, settings),
    )


def define_ads_v1(settings: Settings) -> Definition:
    """`ads_v1`: a question goes to the agent whose words it holds, else to those that a model names."""
    own = settings.of(AdsSettings)
    model = model_or_default(named_model(own.domain_agent_model), AGENT_MODEL, settings)
    return Definition(
        name="ads_v1",
        role_prompt="AdsAssistant",
        title="Advertising, by agents",
        description="The same work as Advertising, by one agent for each domain.",
        routing="classifier",
        agents=_agents(settings, has_tools=True),
        context_providers=PROVIDERS,
        limits=Limits(rounds=own.meta_max_iterations, calls=MAX_CALLS, seconds=MAX_SECONDS),
        model=model,
        language="ru",
        sourced_figures=True,
        needs=_needs(model, settings),
    )


def _agents(settings: Settings, *, has_tools: bool) -> tuple[Agent, ...]:
    """The agents of the domains; those of `ads` get results, those of `ads_v1` call the tools themselves."""
    model = model_or_default(named_model(settings.of(AdsSettings).domain_agent_model), AGENT_MODEL, settings)
    return tuple(
        Agent(
            name=name,
            role_prompt=ROLES[name],
            about=ABOUT[name],
            keywords=KEYWORDS[name] if has_tools else (),
            toolset=(name,) if has_tools else (),
            model=model,
            temperature=AGENT_TEMPERATURE,
            max_tokens=AGENT_TOKENS,
        )
        for name in DOMAINS
    )


def _needs(model: str | None, settings: Settings) -> Needs:
    """A key, where nothing but the built-in model would answer: it calls no tools."""
    is_built_in = (settings.models.responder_model or settings.models.model).startswith(BUILT_IN)
    return Needs(keys=("openai",)) if model is None and is_built_in else Needs()
