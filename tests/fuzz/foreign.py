"""What comes from outside by way of a user: documents that are hard to read, calls of an MCP server that lies."""

from __future__ import annotations

import json
import random

from tests.fuzz.residents import Resident
from tests.fuzz.wire import Attack, Maker, post
from tests.lying_mcp import REPLIES, LyingServer
from tests.polling import poll
from tests.stack import Stack

ASSISTANT, SERVER = "clerk", "liar"
TOOL_TIMEOUT_S = 3
CHARS = 60_000  # of a document: what is quadratic in it takes longer than a reply may
HTML = ("<b>", "</u>", "<a b=", '<a b="', "<?", "<!--", "</", "<![CDATA[", "&#", "<script>", "<ul><li>", '<a"')
MARKDOWN = ("![", "[a\n", "**a*", "> ", "- ", "`", "[a]: <", "a\n=\n", "1.\n", "<a>\n", "# ", "_a_")


def paper(draw: random.Random, who: Resident) -> Attack:
    """A page or a Markdown text of a few pieces, each repeated many times."""
    ending, pieces = draw.choice([(".html", HTML), (".md", MARKDOWN)])
    text = "".join(draw.choice(pieces) * draw.randrange(CHARS // 3) for _ in range(3))[:CHARS]
    body = {"user_id": str(who.user_id), "name": f"paper{draw.randrange(5)}{ending}", "text": f"words {text}"}
    return Attack(f"paper: {ending}", (post(json.dumps(body).encode(), who, "/v1/knowledge/texts"),))


def lie(draw: random.Random, who: Resident) -> Attack:
    """A call of a tool whose reply has no end, or drips."""
    tool = draw.choice(list(REPLIES))
    body = {"user_id": str(who.user_id), "assistant": ASSISTANT, "tool": f"{SERVER}__{tool}"}
    return Attack("lie", (post(json.dumps(body).encode(), who, "/v1/tool_calls"),))


FOREIGN: tuple[Maker, ...] = (paper, lie)


def server_settings(liar: LyingServer) -> dict[str, str]:
    """Of an orchestrator that knows the lying server."""
    effects = dict.fromkeys([*REPLIES, "honest"], "read")
    server = {"url": liar.url, "effects": effects, "timeout": TOOL_TIMEOUT_S}
    return {"MAAS_MCP_SERVERS": json.dumps({"mcpServers": {SERVER: server}})}


def offer_lies(stack: Stack) -> None:
    """Make an assistant whose tools are those of the lying server, and wait until they are known."""
    stack.rows(
        "insert into assistants (name, role_name, definition) values (%s, 'Mentor', %s)",
        ASSISTANT,
        json.dumps({"toolset": [SERVER]}),
    )
    poll(lambda: stack.rows("select from maas_assistant_tools(%s)", ASSISTANT), 30, "the lying tools are known")
