"""A collector of OTLP over HTTP: an endpoint that takes what is sent, read by OpenTelemetry's own protobuf messages.

async with Collector() as collector:
    ...  # collector.url
    spans = await collector.until("invoke_agent main")
"""

import asyncio
import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from parts.processes import HANG_GUARD


@dataclass(frozen=True)
class Told:
    """A span as it arrived. `parent` is the id of another, empty at the root; `service` is whose it is."""

    name: str
    kind: str
    trace: str
    id: str
    parent: str
    service: str
    is_error: bool
    attributes: dict[str, Any]


class Collector:
    """`status` is what it answers from now on."""

    def __init__(self) -> None:
        self.status = 200
        self.spans: list[Told] = []
        # Names of metrics, each with the attributes of its points.
        self.metrics: dict[str, list[dict[str, Any]]] = {}
        self.headers: list[dict[str, str]] = []
        self._arrived = asyncio.Event()
        application = web.Application()
        application.add_routes([web.post("/v1/traces", self._traces), web.post("/v1/metrics", self._metrics)])
        self._runner = web.AppRunner(application, access_log=None)
        self.url = ""

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def until(self, *names: str) -> list[Told]:
        """Every span that has come, once there is one of each of these names."""
        async with asyncio.timeout(HANG_GUARD):
            while not {span.name for span in self.spans}.issuperset(names):
                self._arrived.clear()
                await self._arrived.wait()
        return self.spans

    async def until_measured(self, *names: str) -> dict[str, list[dict[str, Any]]]:
        async with asyncio.timeout(HANG_GUARD):
            while not self.metrics.keys() >= set(names):
                self._arrived.clear()
                await self._arrived.wait()
        return self.metrics

    def named(self, name: str) -> Told:
        """The only span of a name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def ancestry(self, span: Told) -> list[str]:
        """The names from a span up to its root, as far as they have come."""
        by_id = {one.id: one for one in self.spans}
        found = [span.name]
        while (above := by_id.get(span.parent)) is not None:
            span = above
            found.append(span.name)
        return found

    @property
    def text(self) -> str:
        """All that was told, to look for what must not be in it."""
        return repr((self.spans, self.metrics))

    async def _traces(self, request: web.Request) -> web.Response:
        sent = ExportTraceServiceRequest.FromString(await self._body(request))
        for group in sent.resource_spans:
            service = attributes(group.resource.attributes).get("service.name", "")
            for scope in group.scope_spans:
                self.spans += [_told(span, service) for span in scope.spans]
        self._arrived.set()
        return web.Response(status=self.status)

    async def _metrics(self, request: web.Request) -> web.Response:
        sent = ExportMetricsServiceRequest.FromString(await self._body(request))
        for group in sent.resource_metrics:
            for scope in group.scope_metrics:
                for metric in scope.metrics:
                    points = getattr(metric, metric.WhichOneof("data")).data_points
                    self.metrics[metric.name] = [attributes(point.attributes) for point in points]
        self._arrived.set()
        return web.Response(status=self.status)

    async def _body(self, request: web.Request) -> bytes:
        self.headers.append(dict(request.headers))
        body = await request.read()
        return gzip.decompress(body) if request.headers.get("Content-Encoding") == "gzip" else body


def attributes(given: Iterable[Any]) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in given}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)


def _told(span: Span, service: str) -> Told:
    return Told(
        name=span.name,
        kind=Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        service=service,
        is_error=span.status.code == Status.STATUS_CODE_ERROR,
        attributes=attributes(span.attributes),
    )
