"""The routes that speak the APIs of OpenAI and Anthropic."""

from __future__ import annotations

from maas.http import anthropic, openai
from maas.http.anthropic import messages
from maas.http.openai import completions, embeddings, responses
from maas.http.openai.responses import handlers
from maas.http.parameters import PAGE
from maas.http.route import Route
from maas.http.server_sent_events import EVENT_STREAM

MODEL_ROUTES = (
    Route("POST", "/v1/chat/completions", completions.post_chat_completion, "ask", openai.ChatRequest,
          openai.ChatCompletion, errors=(400, 404, 409, 413, 415, 429, 500, 503, 504),
          response_types=(EVENT_STREAM,), error_schema=openai.OpenAIError),
    Route("POST", "/v1/responses", handlers.post_response, "ask", responses.ResponseRequest, responses.ResponseObject,
          errors=(400, 404, 409, 413, 415, 429, 500, 503, 504), response_types=(EVENT_STREAM,),
          error_schema=openai.OpenAIError),
    Route("GET", "/v1/responses/{id}", handlers.get_response, "read", response=responses.ResponseObject,
          errors=(404,), error_schema=openai.OpenAIError),
    Route("DELETE", "/v1/responses/{id}", handlers.delete_response, "ask", response=responses.DeletedResponse,
          errors=(404,), error_schema=openai.OpenAIError),
    Route("POST", "/v1/responses/{id}/cancel", handlers.cancel_response, "ask", response=responses.ResponseObject,
          errors=(400, 404), error_schema=openai.OpenAIError),
    Route("GET", "/v1/responses/{id}/input_items", handlers.get_input_items, "read",
          response=responses.InputItems, errors=(400, 404), error_schema=openai.OpenAIError,
          query={"limit": PAGE["limit"], "after": ({"type": "string"}, "The id of the item before the first one."),
                 "order": ({"enum": ["asc", "desc"], "default": "desc"}, "Newest first, or oldest first.")}),
    Route("POST", "/v1/embeddings", embeddings.post_embeddings, "ask", embeddings.EmbeddingRequest,
          embeddings.EmbeddingList, errors=(400, 404, 409, 413, 415, 429, 503), error_schema=openai.OpenAIError),
    Route("POST", anthropic.PATH, messages.post_message, "ask", anthropic.MessageRequest, anthropic.AnthropicMessage,
          errors=(400, 404, 409, 413, 415, 429, 500, 503, 504), response_types=(EVENT_STREAM,),
          error_schema=anthropic.AnthropicError,
          query={"beta": ({"type": "boolean"}, "What Anthropic's SDKs send; it changes nothing.")}),
    Route("GET", "/v1/models", completions.get_models, "read", response=openai.ModelList,
          error_schema=openai.OpenAIError),
    Route("GET", "/v1/models/{model}", completions.get_model, "read", response=openai.ModelInfo, errors=(404,),
          error_schema=openai.OpenAIError),
)  # fmt: skip
