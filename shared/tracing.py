"""OpenTelemetry spans, with ids and numbers only, never a user's text; nothing is loaded without an endpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from shared.errors import MaasError

if TYPE_CHECKING:
    from opentelemetry import trace

EXPORT_TIMEOUT_S = 2.0  # of one batch; a process that ends waits no longer
Attributes = Mapping[str, str | int | float | tuple[str, ...] | None]
_tracer: trace.Tracer | None = None


class Span:
    """One span, or nothing while spans are not exported."""

    def __init__(self, span: trace.Span | None = None) -> None:
        self._span = span

    def note(self, attributes: Attributes) -> None:
        """Set attributes; those that are None are left out."""
        if self._span is not None:
            self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def fail(self, kind: str) -> None:
        """Mark the span as failed; `kind` is an error code or the name of an exception."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attribute("error.type", kind)
            self._span.set_status(StatusCode.ERROR)


_NO_RECORD = nullcontext(Span())


@contextmanager
def exporting(endpoint: str | None, service: str) -> Iterator[None]:
    """Export spans to `endpoint` (OTLP over HTTP, without /v1/traces) within this context; None exports nothing."""
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
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=EXPORT_TIMEOUT_S)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _tracer = provider.get_tracer("maas")
    try:
        yield
    finally:
        _tracer = None
        provider.shutdown()


def is_on() -> bool:
    """Return whether spans are exported."""
    return _tracer is not None


def span(
    name: str,
    attributes: Attributes,
    kind: Literal["internal", "client", "consumer"] = "internal",
    parent: str | None = None,
) -> AbstractContextManager[Span]:
    """Record the block as a span, a child of the enclosing one or of `parent`, a W3C traceparent."""
    return _NO_RECORD if _tracer is None else _record(_tracer, name, attributes, kind, parent)


@contextmanager
def _record(tracer: trace.Tracer, name: str, attributes: Attributes, kind: str, parent: str | None) -> Iterator[Span]:
    from opentelemetry.trace import SpanKind

    with tracer.start_as_current_span(
        name, _context(parent), SpanKind[kind.upper()], record_exception=False, set_status_on_exception=False
    ) as exported:
        one = Span(exported)
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
