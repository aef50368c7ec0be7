"""The clerk and its tool."""

from typing import Any

from pydantic import BaseModel, Field

from maas.agents.definition import Definition
from maas.engine.stages import Deps
from maas.named_queries import query_named
from maas.tools.tool import ToolContext, Toolset, tool

CLERK = Definition(
    name="clerk", role_prompt="Clerk", title="The bakery", description="Takes orders for bread.", toolset=("bakery",)
)


class Order(BaseModel):
    item: str = Field(description="What is ordered, such as rye bread", max_length=100)
    pieces: int = Field(ge=1, le=100)


def make_tools(deps: Deps) -> Toolset:
    """The tool over the database of this process."""

    async def verify_order(order: Order, context: ToolContext, _: Any) -> Any:
        """The number of pieces that is stored."""
        return {"pieces": await deps.db.value(query_named("bakery_pieces"), context.run_id, order.item)}

    @tool(domain="bakery", effect="write", idempotent=True, verify=verify_order)
    async def order(order: Order, context: ToolContext) -> Any:
        """Write down what the user orders. Call it once for each thing, with the number of pieces."""
        await deps.db.rows(query_named("bakery_add_order"), context.run_id, context.user_id, order.item, order.pieces)
        return {"ordered": f"{order.pieces} x {order.item}"}

    return Toolset([order])
