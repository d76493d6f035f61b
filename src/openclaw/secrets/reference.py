"""What a secret reference says: `secret://PROVIDER/NAME`, alone or inside a longer value, taken apart without looking anything up.

Owns the grammar. A value that starts with `secret://` is one reference, to its end; inside a longer value (`Bearer secret://…`,
`--key=secret://…`) a reference ends at the next blank. `%XX` stands for a character that has a meaning here (`%23` for `#`).
What a provider makes of a name is the provider's business: each has a module of its own. `resolve.py` puts both together.
"""

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any
from urllib.parse import unquote

import msgspec

from openclaw.errors import SecretError
from openclaw.log import one_line
from openclaw.redact import SECRET_SCHEME

# `ref` is what `{source, provider, id}` objects become; people write the object.
PROVIDERS = ("gcp", "aws", "vault", "azure", "env", "file", "keychain", "encrypted", "exec")
OBJECT = "ref"
# The longest names providers know (an ARN, a path) are far below; past this it is a mistake or an attack.
MAX_REFERENCE = 4096

_INSIDE = re.compile(r"secret://\S*")
_SHAPE = re.compile(r"secret://([A-Za-z0-9_.-]*)(?:/(.*))?", re.DOTALL)


class Reference(msgspec.Struct, frozen=True):
    """`text` as written; `rest` is what stands behind the provider's name, still encoded."""

    text: str
    provider: str
    rest: str

    @property
    def shown(self) -> str:
        return one_line(self.text, 200)


def references_in(value: str) -> list[str]:
    """The references of a value, as written, each once. Empty when it is plain text."""
    if value.startswith(SECRET_SCHEME):
        return [value]
    return list(dict.fromkeys(_INSIDE.findall(value)))


def replace_references(value: str, put: Callable[[str], str]) -> str:
    """The value with `put(reference)` in place of each reference. What was put in is not looked at again."""
    if value.startswith(SECRET_SCHEME):
        return put(value)
    return _INSIDE.sub(lambda found: put(found[0]), value)


def parse_reference(text: str) -> Reference:
    """Take one reference apart. Raises SecretError when it names no provider that exists, or nothing there."""
    shown = one_line(text, 200)
    found = _SHAPE.fullmatch(text)
    if found is None or len(text) > MAX_REFERENCE or not text.isprintable():
        raise SecretError(f"{shown} is not a secret reference.", hint="Write secret://PROVIDER/NAME.")
    provider, rest = found[1], found[2]
    if provider not in (*PROVIDERS, OBJECT):
        near = get_close_matches(provider.lower(), PROVIDERS, n=1)
        hint = f"Did you mean secret://{near[0]}/…?" if near else f"Providers: {', '.join(PROVIDERS)}."
        raise SecretError(f"{shown} cannot be resolved: there is no provider '{provider}'.", hint=hint)
    if not rest:
        raise SecretError(
            f"{shown} cannot be resolved: it names no secret.",
            hint=f"Write secret://{provider}/ and the secret's name.",
        )
    return Reference(text, provider, rest)


def split_fragment(rest: str) -> tuple[str, str]:
    """What stands before and behind the first `#`, both decoded."""
    name, _, fragment = rest.partition("#")
    return unquote(name), unquote(fragment)


def split_first(rest: str, form: str) -> tuple[str, str]:
    """The first segment and what follows it, still encoded. `form` is how the whole should have been written."""
    first, _, following = rest.partition("/")
    if not first or not following:
        raise SecretError("it does not name everything that is needed", hint=f"Write {form}.")
    return first, following


def without_line_end(text: str) -> str:
    """Text without the one line end that editors and programs put at the end of what they write."""
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def member(document: Any, name: str) -> str:
    """One field of an object as text. A field that is itself an object or a list is not a secret."""
    if name not in document:
        raise SecretError(f"it has no field '{one_line(name, 80)}'", hint=_known_fields(document))
    return scalar(document[name], f"its field '{one_line(name, 80)}'")


def scalar(value: Any, what: str) -> str:
    """A text as it is; numbers and switches as JSON writes them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise SecretError(f"{what} is not a text", hint="Name a field that holds a text.")


# More names than this would not be read.
_FIELDS_SHOWN = 8


def _known_fields(document: Any) -> str:
    names = [one_line(str(name), 40) for name in document]
    listed = ", ".join(names[:_FIELDS_SHOWN]) + (", …" if len(names) > _FIELDS_SHOWN else "")
    return f"It has: {listed}." if names else ""
