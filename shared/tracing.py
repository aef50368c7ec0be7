"""Spans for OpenTelemetry; without an endpoint nothing is loaded. They hold ids and numbers, never a user's words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from shared.errors import MaasError

if TYPE_CHECKING:
    from opentelemetry import trace

PATIENCE = 2.0  # to send a batch; who stops does not wait longer for what cannot be sent
Attributes = Mapping[str, str | int | float | tuple[str, ...] | None]
_tracer: trace.Tracer | None = None


class Span:
    """What is being done, if anybody is told."""

    def __init__(self, told: trace.Span | None = None) -> None:
        self._told = told

    def note(self, attributes: Attributes) -> None:
        """What is known of it by now; None is left out."""
        if self._told is not None:
            self._told.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def fail(self, kind: str) -> None:
        """It failed; `kind` is a code or the name of an exception."""
        if self._told is not None:
            from opentelemetry.trace import StatusCode

            self._told.set_attribute("error.type", kind)
            self._told.set_status(StatusCode.ERROR)


_UNTOLD = Span()


@contextmanager
def exporting(endpoint: str | None, service: str) -> Iterator[None]:
    """Send spans to `endpoint` (OTLP over HTTP, without /v1/traces) until the end; None: there are none."""
    global _tracer
    if endpoint is None:
        yield
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(
        resource=Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or service})
    )
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=PATIENCE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _tracer = provider.get_tracer("maas")
    try:
        yield
    finally:
        _tracer = None
        provider.shutdown()


def is_on() -> bool:
    """Whether anybody is told of spans."""
    return _tracer is not None


@contextmanager
def span(
    name: str, attributes: Attributes, kind: Literal["internal", "client", "consumer"] = "internal",
    parent: str | None = None,
) -> Iterator[Span]:  # fmt: skip
    """What is done within; it belongs to the span around it, or to that of `parent`, a W3C traceparent."""
    if _tracer is None:
        yield _UNTOLD
        return
    from opentelemetry.trace import SpanKind

    with _tracer.start_as_current_span(
        name, _context(parent), SpanKind[kind.upper()], record_exception=False, set_status_on_exception=False
    ) as told:
        one = Span(told)
        one.note(attributes)
        try:
            yield one
        except BaseException as error:
            one.fail(error.code if isinstance(error, MaasError) else type(error).__name__)
            raise


def _context(parent: str | None) -> Any:
    if parent is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent})
