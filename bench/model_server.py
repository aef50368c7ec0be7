"""A model for benchmarks: it speaks Chat Completions, answers each role at once, and counts what it is asked.

`python -m bench.model_server PORT` serves until it is ended. The name of a model is that of a role; slow-25
takes 25 seconds, and Analyzer@60 writes 60 tokens a second.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from bench.sentences import sentence
from shared import tokens

_QUERY = re.compile(r"<query>\n(.*)\n</query>", re.DOTALL)
_LABEL = re.compile(r"^(#[\w-]+): ", re.MULTILINE)
_WANTED = re.compile(r"Call (?P<name>\w+) (?P<count>\d+) times\.(?: (?P<arguments>\{.*\}))?")
_SLOW = re.compile(r"slow-(\d+)")
_ANSWER = 6  # sentences
_KEPT = 3  # lines of memory that the Assembler names


def choice(prompt: str) -> str:
    """The Analyzer's reply: memory is needed, the first record fits."""
    record = next(iter(_LABEL.findall(prompt)), "none")
    words = found[1].split()[:4] if (found := _QUERY.search(prompt)) else []
    return json.dumps({"about": "person", "record": record, "keywords": words}, ensure_ascii=False)


def reply(role: str, prompt: str) -> str:
    """What a model of this role might say, of the usual length."""
    if role == "Analyzer":
        return choice(prompt)
    if role == "Assembler":
        return json.dumps({"keep": _LABEL.findall(prompt)[:_KEPT]}, ensure_ascii=False)
    if role == "Archivist":
        record = {"time_bucket_start": "2025-01-01", "time_bucket_end": "2025-01-01", "tags": ["Family", "Garden"]}
        return json.dumps(record | {"summary": f"{sentence(len(prompt))} {sentence(len(prompt) + 1)}"})
    return " ".join(sentence(len(prompt) + number) for number in range(_ANSWER))


async def complete(request: Request) -> Response:
    """POST /v1/chat/completions."""
    body = await request.json()
    prompt = "\n".join(str(message["content"]) for message in body["messages"])
    if slow := _SLOW.fullmatch(body["model"]):
        await asyncio.sleep(int(slow[1]))
    role, _, tokens_per_s = body["model"].partition("@")
    pace = int(tokens_per_s or 0)
    calls = tool_calls(body["messages"]) if body.get("tools") else []
    text = "" if calls else reply(role, prompt)
    usage = {"prompt_tokens": tokens.count(prompt), "completion_tokens": tokens.count(text)}
    usage |= {"total_tokens": sum(usage.values())}
    if body.get("stream"):
        return StreamingResponse(_pieces(body["model"], text, calls, usage, pace), media_type="text/event-stream")
    if pace:
        await asyncio.sleep(usage["completion_tokens"] / pace)
    message: dict[str, Any] = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    return JSONResponse(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": _finish(calls), "message": message}],
            "usage": usage,
        }
    )


def tool_calls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One call in each reply until there were as many as the user wants: `Call NAME COUNT times. ARGUMENTS`"""
    made = sum(message["role"] == "tool" for message in messages)
    wanted = next((found for message in messages if (found := _WANTED.search(str(message["content"])))), None)
    if wanted is None or made >= int(wanted["count"]):
        return []
    function = {"name": wanted["name"], "arguments": wanted["arguments"] or json.dumps({"number": made})}
    return [{"index": 0, "id": f"call-{made}", "type": "function", "function": function}]


def _finish(calls: list[dict[str, Any]]) -> str:
    return "tool_calls" if calls else "stop"


async def _pieces(
    model: str, text: str, calls: list[dict[str, Any]], usage: dict[str, int], pace: int
) -> AsyncIterator[str]:
    for number, piece in enumerate((*text.split(" "), None)):
        if pace and piece is not None:
            await asyncio.sleep(tokens.count(piece) / pace)
        said: dict[str, Any] = (
            {} if piece is None else {"role": "assistant", "content": f" {piece}" if number else piece}
        )
        if calls and piece is not None:
            said = {"role": "assistant", "tool_calls": calls}
        choice = {"index": 0, "finish_reason": _finish(calls) if piece is None else None, "delta": said}
        yield _chunk(model, [choice], None)
    yield _chunk(model, [], usage)
    yield "data: [DONE]\n\n"


def _chunk(model: str, choices: list[dict[str, Any]], usage: dict[str, int] | None) -> str:
    whole = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": choices}
    return f"data: {json.dumps(whole | {'usage': usage})}\n\n"


app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", timeout_keep_alive=75)
