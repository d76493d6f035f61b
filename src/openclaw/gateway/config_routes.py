"""`/v1/config…`: the config file to read, to try out and to save, by the rules of config_text.py."""

import asyncio
import hashlib

import msgspec
from aiohttp import web

from openclaw.app import App
from openclaw.config.edit import edit_file, preview
from openclaw.config.schema import json_schema
from openclaw.errors import ConfigError, OpenClawError, Problem
from openclaw.gateway.config_text import masked, unmasked, withheld
from openclaw.gateway.http import failure, json_response, read_object
from openclaw.gateway.route import Route
from openclaw.redact import redact


class NewConfig(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`revision` is that of the text which was edited; with `try_only` nothing is written."""

    text: str
    revision: str
    try_only: bool = False


class ConfigText(msgspec.Struct):
    file: str
    text: str
    revision: str


class ConfigProblem(msgspec.Struct):
    message: str
    path: str
    line: int
    column: int
    hint: str


class ConfigSaved(msgspec.Struct):
    ok: bool
    revision: str
    warnings: list[ConfigProblem]


class _ChangedSinceError(OpenClawError):
    pass


class _WithheldError(OpenClawError):
    pass


class ConfigRoutes:
    def __init__(self, app: App) -> None:
        self._app = app

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/config", self.show, "The config file", gives=ConfigText),
            Route("PUT", "/v1/config", self.save, "Save it, or try it out", body=NewConfig, gives=ConfigSaved),
            Route("GET", "/v1/config/schema", self.schema, "Its JSON Schema"),
        ]

    async def show(self, request: web.Request) -> web.Response:
        text = await asyncio.to_thread(self._read)
        return json_response(ConfigText(str(self._app.paths.config_file), masked(text), _revision(text)))

    async def schema(self, request: web.Request) -> web.Response:
        return json_response(json_schema())

    async def save(self, request: web.Request) -> web.Response:
        """The problems of a text that cannot be used, with line and column; or that it is saved, and its new revision."""
        asked: NewConfig = await read_object(request, NewConfig)

        def change(source: str) -> str:
            if _revision(source) != asked.revision:
                raise _ChangedSinceError("The config was changed meanwhile. Read it again.")
            text = unmasked(asked.text, source)
            if places := withheld(text, source):
                shown = ", ".join(places[:3])
                raise _WithheldError(
                    f"Only a terminal may change {shown}.", hint="Edit the file, or use `openclaw config`."
                )
            return text

        paths, env = self._app.paths, self._app.engine.env
        try:
            config = await asyncio.to_thread(preview if asked.try_only else edit_file, paths, env, change)
        except ConfigError as error:
            return json_response({"ok": False, "problems": [_problem(one) for one in error.problems]}, status=422)
        except _ChangedSinceError as error:
            return failure(412, "changed_meanwhile", str(error))
        except _WithheldError as error:
            return failure(403, "only_at_a_terminal", str(error))
        warnings = [_problem(one) for one in (*config.refusals, *config.warnings)]
        text = await asyncio.to_thread(self._read)
        return json_response(ConfigSaved(True, _revision(text), warnings))

    def _read(self) -> str:
        try:
            return self._app.paths.config_file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""


def _revision(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _problem(one: Problem) -> ConfigProblem:
    return ConfigProblem(redact(one.message), one.path, one.line, one.column, redact(one.hint))
