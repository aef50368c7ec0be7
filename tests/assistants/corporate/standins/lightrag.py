"""A stand-in for a LightRAG server, 1.5.7: questions to documents that it holds, uploads and what it is reading.

State: `api_key`, none needed without it; `documents` {file: {text, status, track_id, error}}; `chunk_top_k`, the most
passages of an answer (20); `busy`; `is_model_down`: the model that answers fails; `padding` characters more a response.
A document is found by words of the question that begin alike; the best come first.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.standins.server import Fault, Json, StandIn, run, standin_of

MODES = ("local", "global", "hybrid", "naive", "mix", "bypass")
NO_CONTEXT = "Sorry, I'm not able to provide an answer to that question.[no-context]"
NO_ANSWER = "No relevant context found for the query."
AT = "2026-11-24T00:42:54.637361+00:00"


class Refused(Exception):
    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def refuse(fault: Fault) -> Response:
    return JSONResponse({"detail": fault.message}, fault.status)


def state_of(request: Request) -> Json:
    """The state, for a request with the key."""
    state, given = standin_of(request).state, request.headers.get("x-api-key")
    if "api_key" in state and given != state["api_key"]:
        raise Refused(403, "Invalid API Key" if given else "API Key required")
    return state


def stems(text: str) -> set[str]:
    return {word[:5].lower() for word in re.findall(r"\w{3,}", text)}


def problem_of(body: Any) -> Json | None:
    """What validation says of a question; None if it is right."""
    if not isinstance(body, dict) or not isinstance(body.get("query"), str):
        return {"type": "missing", "loc": ["body", "query"], "msg": "Field required"}
    if body.get("mode", "mix") not in MODES:
        return {"type": "literal_error", "loc": ["body", "mode"], "msg": f"Input should be one of {MODES}"}
    if not 1 <= body.get("top_k", 10) <= 1000:
        return {"type": "less_than_equal", "loc": ["body", "top_k"], "msg": "Input should be 1 to 1000"}
    if len(body["query"].strip()) < 3:
        message = "Value error, RAG query is too short. Enter at least 3 English characters"
        return {"type": "value_error", "loc": ["body"], "msg": message}
    return None


def found_by(state: Json, body: Json) -> list[Json]:
    """The chunks that answer a question, one a document, with their references' numbers."""
    wanted = stems(body["query"])
    ranked = sorted(
        ((len(wanted & stems(one["text"])), file) for file, one in state.get("documents", {}).items() if "text" in one),
        key=lambda pair: (-pair[0], pair[1]),
    )
    files = [file for count, file in ranked if count][: state.get("chunk_top_k", 20)]
    return [
        {
            "reference_id": str(number),
            "content": state["documents"][file]["text"],
            "file_path": file,
            "chunk_id": f"{file}-chunk-000",
        }
        for number, file in enumerate(files, 1)
    ]


def references_to(chunks: list[Json], **more: Any) -> list[Json]:
    return [{"reference_id": one["reference_id"], "file_path": one["file_path"]} | more for one in chunks]


async def query(request: Request) -> Response:
    state, body = state_of(request), await request.json()
    if (problem := problem_of(body)) is not None:
        raise Refused(422, [problem])
    chunks = [] if state.get("is_model_down") else found_by(state, body)
    response = "\n".join(f"{one['content']} [{one['reference_id']}]" for one in chunks[:3])
    references = references_to(chunks, content=None) if body.get("include_references", True) else None
    empty = NO_ANSWER if state.get("is_model_down") else NO_CONTEXT
    return JSONResponse(
        {
            "response": (response or empty) + "x" * state.get("padding", 0),
            "references": references,
            "response_time": 0.073,
            "llm_generated": bool(chunks),
        }
    )


async def query_data(request: Request) -> Response:
    state, body = state_of(request), await request.json()
    if (problem := problem_of(body)) is not None:
        message = f"Validation error: {problem['msg']}"
        return JSONResponse({"status": "failure", "message": message, "data": {}, "metadata": {}}, 400)
    if state.get("is_model_down"):
        raise Refused(500, "Internal server error (error_id: 07895502ad50)")
    if not (chunks := found_by(state, body)):
        metadata = {"failure_reason": "no_results", "mode": body.get("mode", "mix")}
        return JSONResponse(
            {"status": "failure", "message": "Query returned no results", "data": {}, "metadata": metadata}
        )
    names = list(dict.fromkeys(re.findall(r"\b[A-ZА-Я]\w{3,}", chunks[0]["content"])))
    origin = {"source_id": chunks[0]["chunk_id"], "file_path": chunks[0]["file_path"], "created_at": 1795480974}
    entities = [
        {"entity_name": one, "entity_type": "concept", "description": f"{one} is named."} | origin for one in names
    ]
    relations = [
        {"src_id": one, "tgt_id": other, "description": f"{one} and {other}.", "keywords": "rule", "weight": 1.0}
        | origin
        for one, other in pairwise(names)
    ]
    data = {
        "entities": entities,
        "relationships": relations,
        "chunks": chunks,
        "references": references_to(chunks),
    }
    metadata = {"query_mode": body.get("mode", "mix"), "keywords": {"high_level": [], "low_level": []}}
    return JSONResponse(
        {"status": "success", "message": "Query processed successfully", "data": data, "metadata": metadata}
    )


async def track_status(request: Request) -> Response:
    state, track_id = state_of(request), request.path_params["track_id"]
    documents = [
        {
            "id": f"doc-{file}",
            "content_summary": one.get("text", "")[:100],
            "content_length": len(one.get("text", "")),
            "status": one.get("status", "processed"),
            "created_at": AT,
            "updated_at": AT,
            "track_id": track_id,
            "chunks_count": 1 if "text" in one else None,
            "error_msg": one.get("error"),
            "metadata": {},
            "file_path": file,
        }
        for file, one in state.get("documents", {}).items()
        if one.get("track_id") == track_id
    ]
    summary = {f"DocStatus.{one['status'].upper()}": 1 for one in documents}
    return JSONResponse(
        {"track_id": track_id, "documents": documents, "total_count": len(documents), "status_summary": summary}
    )


async def pipeline_status(request: Request) -> Response:
    is_busy = bool(state_of(request).get("busy"))
    return JSONResponse(
        {
            "busy": is_busy,
            "job_name": "vacation.md[2 files]",
            "job_start": AT,
            "docs": 2,
            "batchs": 2,
            "cur_batch": 1 if is_busy else 2,
            "latest_message": "Extracting stage 1/2: vacation.md",
            "history_messages": ["Processing 2 document(s)"],
            "update_status": {"full_docs": [False]},
            "recovery_required": False,
            "recovery_kind": None,
            "recovery_message": None,
            "pending_enqueues": 0,
        }
    )


async def on_refused(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return JSONResponse({"detail": refused.detail}, refused.status)


def make(fixture: Json) -> StandIn:
    routes = [
        Route("/query", query, methods=["POST"]),
        Route("/query/data", query_data, methods=["POST"]),
        Route("/documents/track_status/{track_id}", track_status, methods=["GET"]),
        Route("/documents/pipeline_status", pipeline_status, methods=["GET"]),
    ]
    return StandIn([*routes], refuse, fixture, {Refused: on_refused})


if __name__ == "__main__":
    run(make)
