"""Whether a sentence gives grounds to use a tool of ours: a sign that it is about files, or about the web.

Pure. A verb alone is none: "find me a nice restaurant" and "find parse_config" have the same one. Tools of servers and plugins are about
anything at all, so nothing is asked of them here. `models/offline.py` decides with it.
"""

import re
from typing import Any

from openclaw.models.arguments import Filled, parameters_of
from openclaw.models.clues import Clues, looks_like_path
from openclaw.ranking import same_act, stem, words
from openclaw.tool import Tool

_FILES = (
    "file folder directory dir subfolder line code codebase project repo repository workspace script comment function variable "
    "string word phrase docs readme license log config occurrence mention todo fixme"
)
_FILE_WORDS = frozenset(stem(word) for word in _FILES.split())
_WEB = "url link page website webpage site web http https www"
_WEB_WORDS = frozenset(stem(word) for word in _WEB.split())
# Verbs of people who are at home in a shell: what follows them is a name, whatever it looks like.
_SHELL = re.compile(r"\W*(?:read|cat|ls|dir|tree|head|tail|less|more|grep|rg)\s", re.IGNORECASE)
# "Search for deprecated": one word, and nothing else asked.
_SEARCH_FOR_ONE = re.compile(
    r"\W*(?:please\s+)?(?:search|find|look|scan)\s+(?:everything\s+|everywhere\s+)?(?:for\s+)?(?P<word>[\w.-]+)\W*",
    re.IGNORECASE,
)
# A name in a program: snake_case, camelCase, CAPITALS, with digits or dots in it. Names of people and places are none.
_IDENTIFIER = re.compile(r"\w*(?:[_\d.:()]|[a-z][A-Z]|[A-Z]{2})[\w.:()]*")


def grounded(tool: Tool, schema: dict[str, Any], filled: Filled, clues: Clues) -> bool:
    """Whether the sentence is about what this tool works on. A tool that changes things needs its own verb, or one like it."""
    if tool.kind != "native" or filled.written:
        return True
    by_role = {parameter.role: parameter.name for parameter in parameters_of(schema)}
    said = set(words(clues.text))
    if not tool.read_only:
        return any(same_act(word, tool.name) for word in said)
    if "url" in by_role:
        return "url" in filled.roles or not said.isdisjoint(_WEB_WORDS)
    if not said.isdisjoint(_FILE_WORDS) or _shows_a_place(clues):
        return True
    pattern = filled.arguments.get(by_role.get("pattern", ""))
    if isinstance(pattern, str):
        return _is_sought_in_files(pattern, clues)
    return _names_a_folder(clues) or ("path" in filled.roles and _SHELL.match(clues.text) is not None)


def _shows_a_place(clues: Clues) -> bool:
    target = clues.target
    named = target is not None and (target.kind != "unknown" or looks_like_path(target.span.value))
    return named or bool(clues.here or clues.quoted)


def _names_a_folder(clues: Clues) -> bool:
    """ "In docs" may be a folder; "in Rome" hardly is."""
    return clues.target is not None and clues.target.placed and clues.target.span.value.islower()


def _is_sought_in_files(pattern: str, clues: Clues) -> bool:
    if len(pattern.split()) != 1:
        return False
    alone = _SEARCH_FOR_ONE.fullmatch(clues.text)
    return (
        bool(_IDENTIFIER.fullmatch(pattern))
        or _names_a_folder(clues)
        or (alone is not None and alone["word"] == pattern)
    )
