"""What a setting should have been and what it was, in words for a person.

Pure. Never repeats a value that could be a secret. `check.py` finds the faults.
"""

from collections.abc import Sequence

from msgspec import inspect

from openclaw.config.entry import SecretRef
from openclaw.config.json5 import Array, Node, Object

# A longer list of known keys would not be read.
KEYS_SHOWN = 12
# Longer than any word that a setting takes.
_WORD_CHARACTERS = 24


def words_for(kind: inspect.Type) -> str:
    """What was expected, in words."""
    match kind:
        case inspect.Metadata():
            return words_for(kind.type)
        case inspect.StructType():
            return "a secret reference" if kind.cls is SecretRef else "an object"
        case inspect.DictType():
            return "an object"
        case inspect.VarTupleType():
            item = words_for(kind.item_type)
            return "a list of texts" if item == "a text" else f"a list, each item {item}"
        case inspect.LiteralType():
            return choice([f'"{value}"' for value in sorted(map(str, kind.values))])
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType():
            return "a text"
        case inspect.UnionType():
            return " or ".join(dict.fromkeys(words_for(option) for option in alternatives(kind)))
        case inspect.IntType() | inspect.FloatType():
            return ("a whole number" if isinstance(kind, inspect.IntType) else "a number") + _bounds(kind)
    return "a value"


def alternatives(kind: inspect.UnionType) -> list[inspect.Type]:
    """The alternatives worth naming: null is leaving the key out, and where any text will do a number may stand without quotes."""
    options = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
    if any(isinstance(option, inspect.StrType) for option in options):
        loose = inspect.IntType | inspect.FloatType | inspect.BoolType
        options = [option for option in options if not isinstance(option, loose)]
    return options


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.le is not None:
        return f" from {kind.ge} to {kind.le}"
    if kind.gt is not None:
        return f" above {kind.gt}"
    return f" of at least {kind.ge}" if kind.ge is not None else ""


def kind_of(node: Node) -> str:
    """The kind of a value, never the value itself: it could be a secret."""
    if isinstance(node, Object):
        return "an object"
    if isinstance(node, Array):
        return "a list"
    match node.value:
        case None:
            return "null"
        case bool():
            return "true" if node.value else "false"
        case str():
            return "a text"
    return "a number"


def is_plain_word(text: str) -> bool:
    return len(text) <= _WORD_CHARACTERS and text.replace("-", "").replace("_", "").isalpha()


def choice(words: Sequence[str]) -> str:
    shown = sorted(words)
    if len(shown) > KEYS_SHOWN:
        return f"one of {', '.join(shown[:KEYS_SHOWN])}, …"
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else "".join(shown)


def nearest(word: str, known: Sequence[str]) -> str:
    """A hint that names the nearest known word; empty when none is near."""
    found = closest(word, known)
    return f'Did you mean "{found}"?' if found else ""


def closest(word: str, known: Sequence[str]) -> str:
    """The nearest known word, whatever its case and its underscores; empty when none is near."""
    from difflib import get_close_matches

    folded = {name.replace("_", "").replace("-", "").lower(): name for name in known}
    found = get_close_matches(word[:80].replace("_", "").replace("-", "").lower(), folded, n=1)
    return folded[found[0]] if found else ""
