"""`/v1/media/{folder}/{name}`: a file that came with a result or a message, as the media root keeps it.

Results name such a file by both (`media` of a block of the type `file`). The bytes are somebody else's: they are given to be saved,
never as a page of ours.
"""

from aiohttp import web

from openclaw.app import App
from openclaw.gateway.http import failure
from openclaw.gateway.route import BYTES, Route

_HEADERS = {"Content-Type": BYTES, "Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"}


class MediaRoutes:
    def __init__(self, app: App) -> None:
        self._app = app

    def routes(self) -> list[Route]:
        about = "A file that came with a result or a message: the end of the path is its `media`"
        return [Route("GET", "/v1/media/{folder}/{name}", self.file, about, gives=BYTES)]

    async def file(self, request: web.Request) -> web.StreamResponse:
        path = self._app.engine.media.find(request.match_info["folder"], request.match_info["name"])
        if path is None:
            return failure(404, "media_not_found", "There is no such file, or it was removed to make room.")
        return web.FileResponse(path, headers=_HEADERS)
