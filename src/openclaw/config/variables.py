"""`${NAME}`, `${env:NAME}`, `$${NAME}` and, in secret fields, a bare `$NAME`: text that takes part of itself from the environment.

`${input:…}`, `${workspaceFolder}` and their like are words of editors (`foreign`): here nobody can say what they stand for.
What a shell knows beside these (`${NAME:-default}` and the like) counts as unset too: sent as written, it is what nobody meant. Other
spellings (`%NAME%`, `{{NAME}}`, `<YOUR_KEY>`) may be ordinary text: they are sent as written, and a credential that is nothing else is
told of (`is_blank`). Pure: the variables are an argument. A value that is put in is not looked at again. An empty variable counts as
unset, as it does upstream.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from openclaw.late_pattern import late_pattern

# A default, and all else that a shell puts behind a name; it may hold a reference itself.
_BEHIND = r"[-:=?+](?:[^{}]|\$\{[^{}]*\})*"
_REFERENCE = late_pattern(
    rf"\$(\$?)\{{(?P<name>(?P<prefix>env:)?(?P<plain>(?(prefix)[A-Za-z_][A-Za-z0-9_]*|[A-Z_][A-Z0-9_]*))(?P<behind>{_BEHIND})?)\}}"
)
_FOLDERS = r"workspace(?:Folder|Root)\w*|cwd|file\w*|relativeFile\w*|__dirname|extensionPath|execPath"
_FOREIGN = re.compile(
    rf"\$(\$?)\{{(?:(?P<input>(?:input|promptString|user_config)[:.][^{{}}]*)|(?P<home>userHome)|(?P<folder>(?:{_FOLDERS})(?::[^{{}}]*)?)"
    r"|(?:localEnv:|(?:process\.)?env\.)(?P<variable>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<other>(?:config|command|secret|secrets|vault|localEnv)[:.][^{}]*|pathSeparator|/))\}"
)
# What READMEs write where a credential goes, and references of other programs that may be ordinary text anywhere else.
_BLANK = late_pattern(
    r"(?:(?:Bearer|Basic|token) )?(?:<[A-Za-z][\w .-]*>|\{\{\s*[\w.]+\s*\}\}|%[A-Z][A-Z0-9_]{2,}%|\$env:\w+|\{env:\w+\}"
    r"|\$\{[^{}]+\}|your[-_ ](?:[^\W_]+[-_ ])*(?:key|token|secret|password|pat)(?:[-_ ]here)?)",
    re.IGNORECASE,
)
_BARE = late_pattern(r"\$([A-Z_][A-Z0-9_]*)")
NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_ANY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
    text = _FOREIGN.sub(lambda match: match[0][1:] if match[1] else match[0], text)

    def put(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        name = match["name"] if match["behind"] else match["plain"]
        value = variables.get(name, "")
        if not value and name not in missing:
            missing.append(name)
        return value

    filled = _REFERENCE.sub(put, text)
    return Expanded(text, tuple(missing)) if missing else Expanded(filled)


def escape(text: str) -> str:
    """Text as it must be written so that `expand` gives it back: for what people type, which never means our environment."""
    for pattern in (_REFERENCE, _FOREIGN):
        text = pattern.sub(lambda match: "$" + match[0], text)
    return text


def foreign(text: str) -> tuple[str, str] | None:
    """The first word of an editor in the text, and what to write in its place."""
    found = next((match for match in _FOREIGN.finditer(text) if not match[1]), None)
    if found is None:
        return None
    if found["input"]:
        words = re.sub(r"([a-z0-9])(?=[A-Z])", r"\1_", re.split("[:.]", found["input"], maxsplit=1)[1])
        name = re.sub(r"\W+", "_", words, flags=re.ASCII).strip("_").upper()
        name = name if NAME.fullmatch(name) else "NAME"
        return found[0], f"Write ${{{name}}} and set that variable, or write a secret:// reference."
    if found["home"]:
        return found[0], "Write ${HOME}."
    if found["variable"]:
        name = found["variable"]
        return found[0], f"Write ${{{name if NAME.fullmatch(name) else 'env:' + name}}}."
    if found["folder"]:
        return found[0], "Write the path itself."
    return found[0], "Write the value itself, or ${NAME} for an environment variable."


def is_blank(text: str) -> bool:
    """Whether a credential looks like one that was never filled in. A guess: what it says is still sent."""
    return _BLANK.fullmatch(text.strip()) is not None


def say_unset(names: Sequence[str]) -> str:
    if strange := _strange(names):
        shown = " and ".join("${" + name + "}" for name in strange)
        return f"{shown}: only a name may stand in the braces, without a default"
    shown = " and ".join("${" + name + "}" for name in names)
    return f"{shown} {'is' if len(names) == 1 else 'are'} not set"


def hint_unset(names: Sequence[str]) -> str:
    if strange := _strange(names):
        return f"Write ${{{re.split('[-:=?+]', strange[0].removeprefix('env:'))[0]}}}, and the default under env.vars."
    return "Set it in the environment, or under env.vars."


def _strange(names: Sequence[str]) -> list[str]:
    """Those that are more than a name."""
    return [name for name in names if not _ANY_NAME.fullmatch(name)]
