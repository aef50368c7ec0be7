"""The routes of mem0's API, with its shapes."""

from __future__ import annotations

from maas.http.mem0 import Mem0Error, batch, entities, memories, schemas
from maas.http.route import Parameters, Route

_NUMBERED_PAGE: Parameters = {
    "page": ({"type": "integer", "minimum": 1, "maximum": memories.MAX_PAGE, "default": 1}, "The number of the page."),
    "page_size": (
        {"type": "integer", "minimum": 1, "maximum": schemas.MAX_PAGE_SIZE, "default": memories.DEFAULT_PAGE_SIZE},
        "The page size.",
    ),
}

MEM0_ROUTES = (
    Route("GET", "/mem0/v1/ping/", entities.get_mem0_ping, "read", response=schemas.Mem0Ping,
          error_schema=Mem0Error),
    Route("POST", "/mem0/v3/memories/add/", memories.post_mem0_memories, "ask", schemas.Mem0Add,
          schemas.Mem0AddResult, errors=(400, 404, 413, 415), error_schema=Mem0Error),
    Route("POST", "/mem0/v3/memories/search/", memories.post_mem0_search, "read", schemas.Mem0Search,
          schemas.Mem0Results, errors=(400, 404, 413, 415), error_schema=Mem0Error),
    Route("POST", "/mem0/v3/memories/", memories.post_mem0_list, "read", schemas.Mem0List, schemas.Mem0Page,
          errors=(400, 404, 413, 415), error_schema=Mem0Error, query=_NUMBERED_PAGE),
    Route("DELETE", "/mem0/v1/memories/", memories.delete_mem0_memories, "ask", response=schemas.Mem0Done,
          errors=(400, 404, 409), error_schema=Mem0Error, names_users=True, query={
              name: ({"type": "string", "minLength": 1, "maxLength": 200}, text) for name, text in (
                  ("user_id", "The user by name."), ("agent_id", "Only memories of this agent; *: of any."),
                  ("app_id", "Only memories of this application."), ("run_id", "Only memories of this session."))}),
    Route("GET", "/mem0/v1/memories/{id}/", memories.get_mem0_memory, "read", response=schemas.Mem0Memory,
          errors=(400, 404), error_schema=Mem0Error),
    Route("PUT", "/mem0/v1/memories/{id}/", memories.put_mem0_memory, "ask", schemas.Mem0Update,
          schemas.Mem0Memory, errors=(400, 404, 409, 413, 415), error_schema=Mem0Error),
    Route("DELETE", "/mem0/v1/memories/{id}/", memories.delete_mem0_memory, "ask", response=schemas.Mem0Done,
          errors=(400, 404, 409), error_schema=Mem0Error),
    Route("GET", "/mem0/v1/memories/{id}/history/", memories.get_mem0_history, "read", response=memories.Mem0History,
          errors=(400, 404), error_schema=Mem0Error),
    Route("PUT", "/mem0/v1/batch/", batch.put_mem0_batch, "ask", schemas.Mem0BatchUpdate, schemas.Mem0Done,
          errors=(400, 404, 409, 413, 415), error_schema=Mem0Error),
    Route("DELETE", "/mem0/v1/batch/", batch.delete_mem0_batch, "ask", schemas.Mem0BatchDelete,
          schemas.Mem0Done, errors=(400, 404, 409, 413, 415), error_schema=Mem0Error),
    Route("GET", "/mem0/v1/entities/", entities.get_mem0_entities, "read", response=schemas.Mem0Entities,
          errors=(400, 403), error_schema=Mem0Error, query=_NUMBERED_PAGE),
    Route("DELETE", "/mem0/v1/entities/{entity_type}/{entity}/", entities.delete_mem0_entity_v1, "erase",
          response=schemas.Mem0Done, errors=(400, 404, 409), error_schema=Mem0Error),
    Route("DELETE", "/mem0/v2/entities/{entity_type}/{entity}/", entities.delete_mem0_entity, "erase",
          response=schemas.Mem0Done, errors=(400, 404, 409), error_schema=Mem0Error),
)  # fmt: skip
