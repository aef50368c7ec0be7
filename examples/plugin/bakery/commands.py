"""`maas orders`."""

from maas.named_queries import query_named
from maas.settings import Settings
from maas.terminal.invocation import with_database
from maas.terminal.output import Table, show
from shared.db import Database


def list_orders() -> None:
    """Print a table of all orders."""

    async def read(db: Database, _: Settings) -> list[tuple[str, str, str]]:
        rows = await db.rows(query_named("bakery_orders"))
        return [(f"{row['created_at']:%Y-%m-%d}", str(row["pieces"]), row["item"]) for row in rows]

    table = Table("day", "pieces", "item")
    for row in with_database(read):
        table.add_row(*row)
    show(table)
