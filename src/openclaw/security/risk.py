"""What a call could do: read, change something, run a program, send data to a host. Pure.

Owns the class of a call, which approvals decide by, and what counts as a host that a call would reach. A server's own words relax nothing:
its tool changes things unless a person confirmed that it only reads, or its entry in the config says that its annotations are trusted.
What follows from a class is security/approval.py's to say.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

from openclaw.late_pattern import late_pattern
from openclaw.tool import RUN_CODE, Tool, ToolFacts

# Names of arguments (or the last word of one) whose value is a place in the network, even without a scheme.
_PLACES = frozenset({"url", "uri", "link", "website", "endpoint", "host", "hostname", "href", "webhook"})
_WORDS = late_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Clients of the web are lenient: blanks before it, one slash or three, backslashes.
_ADDRESS = late_pattern(r"(https?):[/\\]*", re.IGNORECASE)
_SCHEME = late_pattern(r"[a-zA-Z][a-zA-Z0-9+.-]*:[/\\]{2}")
# What a client of the web drops from an address before it reads it.
_DROPPED = "\t\r\n"
_LISTS = (list, tuple)
_CONTAINERS = (dict, *_LISTS)
_NONE: frozenset[str] = frozenset()
_TRIMMED = "".join(map(chr, range(0x21)))
# Values of a call that are looked at in a few milliseconds, and texts that have so many characters in all.
_MANY_VALUES = 1_000
_MUCH_TEXT = 1_000_000
# No client takes a longer address; where its host stands is in its beginning anyway.
_MOST_ADDRESS = 65_536


class Risk(msgspec.Struct, frozen=True):
    """`hosts` are those that data would be sent to."""

    read: bool = False
    write: bool = False
    exec: bool = False
    hosts: frozenset[str] = frozenset()

    @property
    def only_reads(self) -> bool:
        """Nothing is changed or started. Data may still leave."""
        return not self.write and not self.exec

    @property
    def classes(self) -> tuple[str, ...]:
        """As a person is shown them."""
        named = [name for name in ("read", "write", "exec") if getattr(self, name)]
        return (*named, *(f"egress:{host}" for host in sorted(self.hosts)))


READ = Risk(read=True)
WRITE = Risk(write=True)
EXEC = Risk(write=True, exec=True)


def kind_of_risk(tool: Tool, facts: ToolFacts | None, *, reads: bool) -> Risk:
    """The class of every call of a tool, whatever its arguments. `reads`: a person confirmed that it only reads."""
    if tool.kind == "native":
        if tool.name == "exec":
            return EXEC
        # Code reaches nothing but tools, and each call of one is judged by itself.
        return READ if tool.read_only or tool.name == RUN_CODE else WRITE
    if tool.read_only or reads or (facts is not None and facts.skill):
        return READ
    if facts is not None and facts.trusts_annotations and facts.read_only:
        return READ
    return WRITE


def risk_of(tool: Tool, facts: ToolFacts | None, arguments: Mapping[str, Any], *, reads: bool) -> Risk:
    """The class of one call. `reads`: a person confirmed that the tool only reads."""
    risk = kind_of_risk(tool, facts, reads=reads)
    if reaches_nobody(facts):
        return risk
    # What our own tools for a server's resources are given is a name at that server, not a place, unless it is an address of the web.
    is_utility = tool.kind == "mcp" and tool.read_only
    hosts = frozenset(web_hosts(arguments)) if is_utility else hosts_of(arguments)
    return msgspec.structs.replace(risk, hosts=hosts) if hosts else risk


def reaches_nobody(facts: ToolFacts | None) -> bool:
    """Whether nothing leaves the server, whatever the arguments: those of a skill are names of the server's own list; of a tool its server
    says so and is trusted with its annotations."""
    return facts is not None and (bool(facts.skill) or (facts.trusts_annotations and facts.open_world is False))


def hosts_of(arguments: Mapping[str, Any]) -> frozenset[str]:
    """Every host that stands in the arguments as an address, or under a name that says so."""
    found: set[str] = set()
    for name, text in arguments.items():
        if type(text) is str:
            # As nearly every argument is.
            if ":" in text or names_a_place(name):
                _add_hosts(found, name, text)
        elif isinstance(text, _CONTAINERS):
            for inner, one in leaves({name: text}):
                if isinstance(one, str):
                    _add_hosts(found, inner, one)
    return frozenset(found) if found else _NONE


def web_hosts(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Every host that stands in the arguments as an address of the web."""
    for _, value in leaves(arguments):
        if isinstance(value, str):
            yield from _hosts_of_address(value)


def _add_hosts(found: set[str], name: str, text: str) -> None:
    if ":" in text:
        found.update(_hosts_of_address(text))
    if text and names_a_place(name):
        found.update(_hosts_of_place(text))


def leaves(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value within the arguments that has no values inside, with the nearest name above it."""
    waiting: list[tuple[str, Any]] = list(arguments.items())
    waiting.reverse()
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend((str(key), one) for key, one in reversed(value.items()))
        elif isinstance(value, _LISTS):
            waiting.extend((name, one) for one in reversed(value))
        else:
            yield name, value


def has_many_values(arguments: Mapping[str, Any]) -> bool:
    """Whether it takes long to look at each value within the arguments. Does not take long itself."""
    values = text = 0
    waiting: list[Any] = [arguments]
    for one in waiting:
        values += len(one)
        if values > _MANY_VALUES:
            return True
        for value in one.values() if isinstance(one, Mapping) else one:
            if type(value) is str:
                text += len(value)
            elif isinstance(value, _CONTAINERS):
                waiting.append(value)
    return text > _MUCH_TEXT


def _hosts_of_address(text: str) -> Iterator[str]:
    text = _read(text)
    if (scheme := _ADDRESS.match(text)) is not None:
        yield from _hosts_in(text[scheme.end() :])


def _hosts_of_place(text: str) -> Iterator[str]:
    text = _read(text)
    if (scheme := _SCHEME.match(text) or _ADDRESS.match(text)) is not None:
        text = text[scheme.end() :]
    elif text.startswith(("//", "\\\\")):
        text = text[2:]
    elif text.startswith(("/", ".", "#", "?")):
        # A path on a host that the tool knows by itself.
        return
    yield from _hosts_in(text)


def _read(text: str) -> str:
    text = text[:_MOST_ADDRESS]
    for character in _DROPPED:
        # 0.2 µs in place of the 11 of a translation, for a hundred letters of many scripts; 1.3 in place of 2.3 for a document of JSON.
        text = text.replace(character, "")
    return text.strip(_TRIMMED)


def _hosts_in(rest: str) -> Iterator[str]:
    """The host that follows a scheme. Where readers of addresses differ (a backslash before an `@`), each one's."""
    readings = (rest, rest.replace("\\", "/")) if "\\" in rest else (rest,)
    for reading in readings:
        try:
            host = urlsplit("//" + reading).hostname
        except ValueError:
            # Not a host to anybody strict; what a lenient client makes of it is not known, so it is a host of its own.
            host = re.split(r"[/?#]", reading, maxsplit=1)[0]
        if host := (host or "").rstrip(".").casefold():
            yield host


@lru_cache(1_024)
def names_a_place(name: str) -> bool:
    """Whether the name of an argument says that its value is a place in the network."""
    words = _WORDS.findall(name)
    if not words:
        return False
    last = words[-1].casefold()
    return last in _PLACES or (last.endswith("s") and last[:-1] in _PLACES)
