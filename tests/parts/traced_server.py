"""A server made with the official Python SDK, which tells OpenTelemetry of its own requests: nobody here wrote how.

OTEL_EXPORTER_OTLP_ENDPOINT=http://… OTEL_SERVICE_NAME=shop python traced_server.py
"""

from mcp.server.mcpserver import MCPServer
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

server = MCPServer("shop")


@server.tool()
def price(article: str) -> str:
    """What an article costs."""
    return f"{article}: 4 EUR"


if __name__ == "__main__":
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    server.run()
