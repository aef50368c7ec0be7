"""A domain with an opener: what each user has connected stands in a file, and so does each call of the opener."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from maas.engine.stages import Deps
from maas.tools.calls import ToolFailure
from maas.tools.tool import ToolContext, Toolset, tool
from tests.toolbox import Line

DOMAIN = "shop"


def folder() -> Path:
    return Path(os.environ["TOOLBOX"])


def note(line: str) -> None:
    with (folder() / "lines").open("a") as file:
        file.write(f"{line}\n")


async def open_shop(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    """What the file `shop.json` says of the user, by its id; `mode` chooses how to fail."""
    note(f"open {os.getpid()} {context.account_id}")
    users = json.loads((folder() / "shop.json").read_text())
    shop: dict[str, Any] = users.get(str(context.user_id), {"connected": False, "has_data": False})
    match shop.pop("mode", None):
        case "raise":
            raise RuntimeError(f"wrong password {shop['token']}")
        case "fail":
            raise ToolFailure("no shop is chosen: ask which one", "Choose a shop first.")
        case "hang":
            await asyncio.sleep(3600)
        case "huge":
            return {"token": "x" * 10_000_000}
    return shop | {"account": context.account_id, "token": SecretStr(shop.get("token", "")), "users": len(users)}


@tool(domain=DOMAIN, effect="read")
async def count_orders(context: ToolContext) -> Any:
    """Count the orders; works without a connection and without data."""
    return {"orders": 0}


@tool(domain=DOMAIN, effect="read", needs="data")
async def read_orders(context: ToolContext) -> Any:
    """Read the stored orders."""
    return {"orders": 3, "account": context.values["account"]}


async def verify_note(_: Line, context: ToolContext, data: Any) -> Any:
    """What a write of the shop left."""
    return {"account": context.values["account"], "of": sorted(data)}


@tool(domain=DOMAIN, effect="write", needs="connected", verify=verify_note)
async def set_price(line: Line, context: ToolContext) -> Any:
    """Set a price in the shop."""
    token = context.values["token"].get_secret_value()
    note(f"set {line.text} with {token} in {context.values['account']}")
    return {"set": line.text, "url": f"https://shop.example/prices?access={token}"}


@tool(domain=DOMAIN, effect="dangerous", needs="connected", reason="The shop closes", verify=verify_note)
async def close_shop(line: Line, context: ToolContext) -> Any:
    """Close the shop."""
    note(f"close {line.text} with {context.values['token'].get_secret_value()} in {context.values['account']}")
    return {"closed": line.text}


@tool(domain=DOMAIN, effect="read", needs="connected")
async def leak(context: ToolContext) -> Any:
    """Fail, with a secret in the message."""
    raise RuntimeError(f"GET /orders?access={context.values['token'].get_secret_value()} gave 400")


TOOLS = Toolset([count_orders, read_orders, set_price, close_shop, leak])
OPENERS = {DOMAIN: open_shop}
