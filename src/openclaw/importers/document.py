"""The text of a config file into plain data: JSON, JSON with comments, TOML. Raises ConfigError with line and column."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec

from openclaw.config import json5
from openclaw.errors import ConfigError, Problem

# Finding the place of a mistake takes a second for each megabyte.
_MOST_WITH_COMMENTS = 2 * 1024 * 1024
_TOML_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")


def read_json(text: str, file: str) -> Mapping[str, Any]:
    """JSON, with comments and trailing commas where a file has them. An empty file has nothing in it."""
    if not text.strip("\ufeff \t\r\n"):
        return {}
    try:
        # Most files are plain JSON, and some hold megabytes of history beside their servers.
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        if len(text) > _MOST_WITH_COMMENTS:
            raise ConfigError([Problem("it is not JSON, and too large for a file with comments.", file)]) from None
        return read_json5(text, file)
    return _object(data, file)


def read_json5(text: str, file: str) -> Mapping[str, Any]:
    """JSON5, nested no deeper than a config of ours."""
    return _object(json5.loads(text, file), file)


def read_toml(text: str, file: str) -> Mapping[str, Any]:
    try:
        return _object(tomllib.loads(text), file)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_PLACE.search(str(error))
        line, column = (int(found[1]), int(found[2])) if found else (0, 0)
        raise ConfigError([Problem("this is not TOML.", file, line, column)]) from None
    except RecursionError:
        raise ConfigError([Problem("it is nested too deeply.", file)]) from None


def _object(data: Any, file: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise ConfigError([Problem("expected an object.", file, 1, 1)])
    return data
