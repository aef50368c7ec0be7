"""A receiver of OpenTelemetry that keeps the spans and metrics that arrive, as any collector gets them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from oteltap import OtelTapHttpProtobufReceiver, OtelTapHttpProtobufReceiverSettings

from tests.polling import NotWithin, apoll
from tests.stack import free_port

Point = tuple[dict[str, Any], float]  # its attributes, and its count or sum


@dataclass(slots=True)
class Received:
    """What has arrived at an endpoint so far."""

    endpoint: str
    spans: list[Span] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)

    async def until(self, is_there: Callable[[Received], bool]) -> None:
        """Wait for what must come."""
        try:
            await apoll(lambda: is_there(self))
        except NotWithin:
            raise AssertionError(f"what arrived: {[span.name for span in self.spans]}") from None

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def points(self, name: str) -> list[Point]:
        """The points of a metric as they arrived last: counts of histograms, sums of counters."""
        newest = [one for one in self.metrics if one.name == name][-1:]
        found: list[Point] = []
        for metric in newest:
            found += [(attributes(one.attributes), one.count) for one in metric.histogram.data_points]
            found += [(attributes(one.attributes), one.as_int) for one in metric.sum.data_points]
        return found


def attributes(pairs: Any) -> dict[str, Any]:
    """The attributes of a span or a point."""
    return {one.key: _value(one) for one in pairs}


def _value(pair: KeyValue) -> Any:
    kind = pair.value.WhichOneof("value") or ""
    value = getattr(pair.value, kind)
    return [item.string_value for item in value.values] if kind == "array_value" else value


@asynccontextmanager
async def receiving() -> AsyncIterator[Received]:
    """Receive OTLP over HTTP, as protobuf."""
    port = free_port()
    received = Received(f"http://127.0.0.1:{port}")
    receiver = OtelTapHttpProtobufReceiver(OtelTapHttpProtobufReceiverSettings(http_port=port))

    async def keep(stream: AsyncIterator[Any], kept: list[Any]) -> None:
        async for one in stream:
            kept.append(one)

    async with receiver, asyncio.TaskGroup() as tasks:
        keeping = [
            tasks.create_task(keep(receiver.stream_traces(), received.spans)),
            tasks.create_task(keep(receiver.stream_metrics(), received.metrics)),
        ]
        yield received
        for one in keeping:
            one.cancel()
