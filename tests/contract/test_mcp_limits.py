"""A server of tools whose replies have no end costs its limit and no more, and only the call that was made."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from maas.tools.calls import ToolDoubt
from maas.tools.mcp_client.remote_tools import MAX_REPLY_BYTES
from tests.contract.test_mcp import SELF, TIMEOUT_S, again, call, opened
from tests.lying_mcp import REPLIES, LyingServer, lying_server
from tests.polling import apoll

MAX_GROWTH_MIB = 200  # a reply of 4 MiB may become many Python objects; 1.5 GB would be 9,000 MiB
TOO_MUCH = "more than 4 MiB"
HANGING = ("dripping_events", "dripping_json")


@pytest.fixture(scope="module")
def liar() -> Iterator[LyingServer]:
    with lying_server() as server:
        yield server


def peak_mib() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("name", [name for name in REPLIES if name not in HANGING])
async def test_a_reply_without_end(liar: LyingServer, name: str) -> None:
    """It fails at the limit, the connection stays, and the memory is that of the limit."""
    async with opened(liar={"url": liar.url}) as toolbox:
        assert await call(toolbox, "liar__honest") == "the truth"
        before, sent = peak_mib(), liar.sent
        honest = asyncio.gather(*(call(toolbox, "liar__honest") for _ in range(5)))
        async with asyncio.timeout(TIMEOUT_S):
            with pytest.raises(ToolDoubt, match=TOO_MUCH):
                await call(toolbox, f"liar__{name}")
        assert await honest == ["the truth"] * 5
        assert peak_mib() < before + MAX_GROWTH_MIB
        assert liar.sent - sent < 10 * MAX_REPLY_BYTES  # the kernel's buffers hold more than was read
        assert await call(toolbox, "liar__honest") == "the truth"
        assert liar.calls.count(name) == 1
    assert liar.encodings == {"identity"}


@pytest.mark.parametrize("name", HANGING)
async def test_a_call_that_is_over_reads_no_more(liar: LyingServer, name: str) -> None:
    async with opened(liar={"url": liar.url}) as toolbox:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await call(toolbox, f"liar__{name}")
        await apoll(lambda: _is_cut(liar, name), TIMEOUT_S)
        assert await call(toolbox, "liar__honest") == "the truth"


async def _is_cut(liar: LyingServer, name: str) -> bool:
    return name in liar.cut


def program(tmp_path: Path) -> dict[str, object]:
    """A program with one honest tool, whose other one writes a line without end."""
    file = tmp_path / "liar.py"
    file.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    number, method = message.get('id'), message['method']\n"
        "    if number is None: continue\n"
        "    def say(**what): print(json.dumps({'jsonrpc': '2.0', 'id': number, **what}), flush=True)\n"
        "    if method == 'initialize':\n"
        "        version = message['params']['protocolVersion']\n"
        "        info = {'name': 'liar', 'version': '1'}\n"
        "        say(result={'protocolVersion': version, 'capabilities': {'tools': {}}, 'serverInfo': info})\n"
        "    elif method == 'tools/list':\n"
        "        say(result={'tools': [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('line', 'honest')]})\n"
        "    elif method != 'tools/call': say(error={'code': -32601, 'message': 'no such method'})\n"
        "    elif message['params']['name'] == 'honest':\n"
        "        say(result={'content': [{'type': 'text', 'text': 'the truth'}]})\n"
        "    else:\n"
        "        while True: sys.stdout.write('x' * 65536)\n"
    )
    return {"command": sys.executable, "args": [str(file)], "user": SELF}


async def test_a_line_without_end(tmp_path: Path) -> None:
    """The program is ended at once, and is there again for the next call."""
    async with opened(liar=program(tmp_path)) as toolbox:
        assert await call(toolbox, "liar__honest") == "the truth"
        before = peak_mib()
        async with asyncio.timeout(TIMEOUT_S):
            with pytest.raises(ToolDoubt, match="lost during the call"):
                await call(toolbox, "liar__line")
        assert await again(toolbox, "liar__honest") == "the truth"
        assert peak_mib() < before + MAX_GROWTH_MIB
