"""`/v1/openapi.json`: every route of the port, for programs that read OpenAPI."""

from collections.abc import Callable, Sequence

from aiohttp import web

from openclaw.gateway.http import json_response
from openclaw.gateway.openapi import document
from openclaw.gateway.route import Route
from openclaw.version import __version__


class OpenApiRoutes:
    """`routes` gives all that are served, this one among them."""

    def __init__(self, routes: Callable[[], Sequence[Route]]) -> None:
        self._routes = routes

    def routes(self) -> list[Route]:
        return [
            Route(
                "GET",
                "/v1/openapi.json",
                self.show,
                "These routes, for programs: an [OpenAPI](https://spec.openapis.org/oas/v3.1.1.html) document",
            )
        ]

    async def show(self, request: web.Request) -> web.Response:
        return json_response(document(self._routes(), __version__))
