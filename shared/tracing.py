"""OpenTelemetry spans and metrics: ids and numbers, texts only where they are asked for.

Nothing is loaded and nothing measured without an endpoint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shared.errors import MaasError

if TYPE_CHECKING:
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource

EXPORT_TIMEOUT_S = 2.0  # of one batch; a process that ends waits no longer
Attributes: TypeAlias = Mapping[str, str | int | float | tuple[str, ...] | None]
Conventions = Literal["0.1.0", "1.41.0"]
Kind = Literal["internal", "client", "consumer", "server"]
NO_ATTRIBUTES: Attributes = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported, and where to.

    `endpoint` is that of OTLP over HTTP, without /v1/traces; `service` the name of this process unless
    OTEL_SERVICE_NAME says another. `conventions` are the version of the GenAI conventions by which names are chosen.
    Only with `has_texts` are prompts, answers, queries, arguments and results of tools among the attributes.
    """

    endpoint: str
    service: str
    conventions: Conventions = "0.1.0"
    has_texts: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """A histogram with these upper bounds of its buckets, or a counter, which has none; `unit` is one of UCUM."""

    name: str
    unit: str
    description: str
    buckets: tuple[float, ...] = ()


@dataclass(slots=True)
class _Exporter:
    export: Export
    tracer: trace.Tracer
    meter: metrics.Meter | None
    instruments: dict[str, Callable[..., None]] = field(default_factory=dict)  # by the name of the metric


_exporter: _Exporter | None = None
_inherited: ContextVar[Attributes] = ContextVar("inherited", default=NO_ATTRIBUTES)


class Span:
    """One span, or nothing while spans are not exported. `error`: why it failed, None unless it did."""

    def __init__(self, span: trace.Span | None = None) -> None:
        self._span = span
        self.error: str | None = None

    def note(self, attributes: Attributes) -> None:
        """Set attributes; those that are None are left out."""
        if self._span is not None:
            self._span.set_attributes(_known(attributes))

    def rename(self, name: str) -> None:
        """Give the span another name, which was not known when it began."""
        if self._span is not None:
            self._span.update_name(name)

    def fail(self, kind: str) -> None:
        """Mark the span as failed; `kind` is an error code or the name of an exception."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self.error = kind
            self._span.set_attribute("error.type", kind)
            self._span.set_status(StatusCode.ERROR)


_NO_RECORD = nullcontext(Span())


@contextmanager
def exporting(export: Export | None) -> Iterator[None]:
    """Export spans and metrics within this context; None exports nothing, OTEL_METRICS_EXPORTER=none spans alone."""
    global _exporter
    if export is None:
        yield
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    url = export.endpoint.rstrip("/")
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or export.service})
    spans = TracerProvider(resource=resource)
    spans.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces", timeout=EXPORT_TIMEOUT_S))
    )
    measures = None if os.environ.get("OTEL_METRICS_EXPORTER") == "none" else _open_metrics(url, resource)
    _exporter = _Exporter(export, spans.get_tracer("maas"), None if measures is None else measures.get_meter("maas"))
    try:
        yield
    finally:
        _exporter = None
        spans.shutdown()
        if measures is not None:
            measures.shutdown(EXPORT_TIMEOUT_S * 1000)


def _open_metrics(url: str, resource: Resource) -> MeterProvider:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    exporter = OTLPMetricExporter(endpoint=f"{url}/v1/metrics", timeout=EXPORT_TIMEOUT_S)
    return MeterProvider([PeriodicExportingMetricReader(exporter)], resource)


def exported() -> Export | None:
    """Return what is exported, None for nothing."""
    return None if _exporter is None else _exporter.export


def span(
    name: str,
    attributes: Attributes,
    kind: Kind = "internal",
    parent: str | None = None,
    inherited: Attributes = NO_ATTRIBUTES,
) -> AbstractContextManager[Span]:
    """Record the block as a span, a child of the enclosing one or of `parent`, a W3C traceparent.

    All spans within have the attributes that are `inherited`, too.
    """
    return _NO_RECORD if _exporter is None else _record(_exporter.tracer, name, attributes, kind, parent, inherited)


@contextmanager
def _record(
    tracer: trace.Tracer, name: str, attributes: Attributes, kind: str, parent: str | None, inherited: Attributes
) -> Iterator[Span]:
    from opentelemetry.trace import SpanKind

    all_inherited = {**_inherited.get(), **_known(inherited)}
    token = _inherited.set(all_inherited)
    try:
        with tracer.start_as_current_span(
            name,
            _context(parent),
            SpanKind[kind.upper()],
            {**all_inherited, **_known(attributes)},
            record_exception=False,
            set_status_on_exception=False,
        ) as recorded:
            one = Span(recorded)
            try:
                yield one
            except BaseException as error:
                one.fail(error.code if isinstance(error, MaasError) else type(error).__name__)
                raise
    finally:
        _inherited.reset(token)


def measure(metric: Metric, value: float, attributes: Attributes) -> None:
    """Put a value into a histogram, or add it to a counter; nothing while metrics are not exported."""
    if _exporter is None or _exporter.meter is None:
        return
    if (instrument := _exporter.instruments.get(metric.name)) is None:
        instrument = _exporter.instruments[metric.name] = _open(_exporter.meter, metric)
    instrument(value, _known(attributes))


def _open(meter: metrics.Meter, metric: Metric) -> Callable[..., None]:
    if not metric.buckets:
        return meter.create_counter(metric.name, metric.unit, metric.description).add
    return meter.create_histogram(
        metric.name, metric.unit, metric.description, explicit_bucket_boundaries_advisory=metric.buckets
    ).record


def _known(attributes: Attributes) -> dict[str, str | int | float | tuple[str, ...]]:
    return {name: value for name, value in attributes.items() if value is not None}


def _context(parent: str | None) -> Any:
    if parent is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent})
