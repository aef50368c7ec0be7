"""Agents: voices of one assistant, each with a prompt and tools of its own; which one speaks is a matter of routing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Routing = Literal["single", "meta_tools", "classifier", "handoff"]
Word = Annotated[str, Field(min_length=1, max_length=50)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", max_length=50)]
_READ: dict[Routing, frozenset[str]] = {
    "single": frozenset(),
    "meta_tools": frozenset(),
    "classifier": frozenset({"keywords", "toolset"}),
    "handoff": frozenset({"handoffs", "toolset"}),
}


class Agent(BaseModel):
    """`about` tells models what it is good for; `handoffs` names the agents that it may hand the dialogue over to.

    `role_prompt` is a row of system_prompts, `model` a `provider:model` of its own. `keywords` are words or phrases;
    Russian ones are known in any inflection.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    role_prompt: Word
    about: Annotated[str, Field(min_length=1, max_length=300)]
    keywords: tuple[Word, ...] = ()
    toolset: tuple[str, ...] = ()
    handoffs: tuple[str, ...] = ()
    model: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None


def transfer_name(agent: str) -> str:
    """The tool that hands a dialogue over to this agent."""
    return f"transfer_to_{agent}"


def fault(routing: Routing, agents: Sequence[Agent]) -> str | None:
    """What is wrong with these agents under this routing, in words for who wrote them."""
    if routing == "single" and agents:
        return "agents: single has none; choose another routing or leave them out"
    if routing in ("classifier", "handoff") and not agents:
        return f"agents: {routing} needs at least one"
    names = [agent.name for agent in agents]
    for agent in agents:
        if names.count(agent.name) > 1:
            return f"agents: two are named {agent.name!r}: rename one"
        for field in ("keywords", "toolset", "handoffs"):
            if getattr(agent, field) and field not in _READ[routing]:
                return f"agents.{agent.name}.{field}: {routing} does not read it; leave it out"
        for target in agent.handoffs:
            if target not in names or target == agent.name:
                others = ", ".join(name for name in names if name != agent.name) or "none"
                return f"agents.{agent.name}.handoffs: there is no other agent {target!r}; there are: {others}"
    return None
