"""`${NAME}`, `$${NAME}` and, in secret fields, a bare `$NAME`: text that takes part of itself from the environment.

What a shell knows beside these (`${NAME:-default}` and the like) counts as unset too: sent as written, it is what nobody meant. Pure: the
variables are an argument. A value that is put in is not looked at again. An empty variable counts as unset, as it does upstream.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

_REFERENCE = re.compile(r"\$(\$?)\{([A-Z_][A-Z0-9_]*)([-:=?+][^{}]*)?\}")
_BARE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


class Expanded(msgspec.Struct, frozen=True):
    """`missing` are the references that give nothing, without their braces; where there are any, `text` must not be used."""

    text: str
    missing: tuple[str, ...] = ()


def expand(text: str, variables: Mapping[str, str], *, bare: bool = False) -> Expanded:
    """`bare`: the field holds a secret, so `$NAME` as the whole text is a reference too."""
    if "$" not in text:
        return Expanded(text)
    whole = _BARE.fullmatch(text) if bare else None
    if whole:
        value = variables.get(whole[1], "")
        return Expanded(value) if value else Expanded(text, (whole[1],))
    missing: list[str] = []

    def put(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        name = match[2] + (match[3] or "")
        value = variables.get(name, "")
        if not value and name not in missing:
            missing.append(name)
        return value

    filled = _REFERENCE.sub(put, text)
    return Expanded(text, tuple(missing)) if missing else Expanded(filled)


def escape(text: str) -> str:
    """Text as it must be written so that `expand` gives it back: for what people type, which never means our environment."""
    return _REFERENCE.sub(lambda match: "$" + match[0], text)


def say_unset(names: Sequence[str]) -> str:
    if any(not NAME.fullmatch(name) for name in names):
        strange = " and ".join("${" + name + "}" for name in names if not NAME.fullmatch(name))
        return f"{strange}: only a name may stand in the braces, without a default"
    shown = " and ".join("${" + name + "}" for name in names)
    return f"{shown} {'is' if len(names) == 1 else 'are'} not set"
