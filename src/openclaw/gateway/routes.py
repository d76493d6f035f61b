"""All routes of the HTTP port, in one server. Loading this module loads aiohttp's server."""

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.gateway.chat_routes import ChatRoutes
from openclaw.gateway.command_runner import CommandRunner
from openclaw.gateway.config_routes import ConfigRoutes
from openclaw.gateway.feed import Feed
from openclaw.gateway.gauges import gauges
from openclaw.gateway.guard import GuardRules
from openclaw.gateway.http import HttpServer
from openclaw.gateway.look_routes import LookRoutes
from openclaw.gateway.media_routes import MediaRoutes
from openclaw.gateway.meters import exposition
from openclaw.gateway.observer import Observer
from openclaw.gateway.openapi_routes import OpenApiRoutes
from openclaw.gateway.page_routes import PageRoutes
from openclaw.gateway.page_tokens import Pages
from openclaw.gateway.panel_frames import PanelFrames
from openclaw.gateway.panel_routes import PanelRoutes
from openclaw.gateway.panels import Panels
from openclaw.gateway.question_routes import QuestionRoutes
from openclaw.gateway.readiness import Readiness
from openclaw.gateway.run_routes import RunRoutes
from openclaw.gateway.runs import Runs
from openclaw.gateway.server_routes import ServerRoutes
from openclaw.gateway.session_routes import SessionRoutes
from openclaw.gateway.sign_ins import SignIns
from openclaw.gateway.tool_routes import ToolRoutes
from openclaw.gateway.watch_routes import WatchRoutes
from openclaw.mcp.manager import Manager


def http_server(
    app: App,
    manager: Manager,
    runner: CommandRunner,
    feed: Feed,
    observer: Observer,
    rules: GuardRules,
    *,
    runs: Runs,
    pages: Pages,
    panels: Panels,
    frames: PanelFrames | None,
    sign_ins: SignIns,
    snapshot: Callable[[], Awaitable[Mapping[str, Any]]],
    readiness: Readiness,
    busy: Callable[[], int],
) -> HttpServer:
    """`snapshot` is what a watcher should know first; `busy` counts the work that runs. `frames` serves panels, where they are shown."""
    started = time.monotonic()
    server: HttpServer

    def headers(request: web.Request) -> Mapping[str, str]:
        return server.stream_headers(request)

    def metrics() -> str:
        # Calls that ended just now count too.
        app.engine.audit.flush()
        now = gauges(manager.status(), started=started, watchers=feed.watchers, busy=busy())
        return exposition((*observer.meters, server.requests, server.seconds), now)

    here = Path(app.paths.home)
    page = PageRoutes(pages, frames=frames.origin if frames is not None else "")

    def context(console: Console) -> Context:
        return runner.context(console, "http", here)

    parts = (
        page,
        ChatRoutes(app, headers=headers),
        RunRoutes(app, runs, panels, headers=headers),
        PanelRoutes(app, panels, frames),
        SessionRoutes(app, runs),
        MediaRoutes(app),
        ToolRoutes(app),
        ServerRoutes(app, context, sign_ins),
        LookRoutes(app, context),
        ConfigRoutes(app),
        QuestionRoutes(app.engine),
        WatchRoutes(
            feed, app.engine.questions, headers=headers, snapshot=snapshot, metrics=metrics, readiness=readiness
        ),
        OpenApiRoutes(lambda: server.routes),
    )
    routes = [route for part in parts for route in part.routes()]
    if (placement := app.engine.placement) is not None:
        from openclaw.gateway.fleet_routes import FleetRoutes

        routes += FleetRoutes(placement, manager, app.engine.events, headers=headers).routes()
    server = HttpServer(routes, rules, pages, app.engine.serving_http, None if placement is None else placement.admits)
    page.server = server
    return server
