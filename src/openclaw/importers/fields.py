"""The fields of one entry, taken one by one: what nobody took is named in the end, so that nothing is dropped in silence."""

from collections.abc import Iterable, Mapping
from typing import Any

from openclaw.importers.reading import Unusable
from openclaw.importers.references import Translator
from openclaw.log import one_line

# Longer names are a mistake or an attack, and would only fill the screen.
_SHOWN = 60
# Fields that most programs' files have and that say nothing a server needs.
_DECORATION = frozenset({"description", "displayName", "gallery", "icon", "name", "version", "$schema", "title"})


class Fields:
    """Reads values by name and type. A value of another type makes the entry Unusable: half of it is not what was meant."""

    def __init__(self, raw: Mapping[str, Any], translator: Translator, *, ignore: Iterable[str] = ()) -> None:
        self._raw = raw
        self._translator = translator
        self._taken: set[str] = {*ignore, *_DECORATION}
        self._notes: list[str] = []

    def note(self, *texts: str) -> None:
        """Something that a person should know about the entry."""
        self._notes += texts

    def has(self, name: str) -> bool:
        return self._raw.get(name) is not None

    def raw(self, name: str) -> Any:
        self._taken.add(name)
        return self._raw.get(name)

    def translated(self, text: str) -> str:
        return self._translator.text(text)

    def text(self, name: str) -> str:
        """A text in our words; empty when there is none."""
        value = self.raw(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise Unusable(f"its {name} is not a text")
        return self.translated(value)

    def word(self, name: str) -> str:
        """A text that names a choice: nothing in it is a reference."""
        value = self.raw(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise Unusable(f"its {name} is not a text")
        return value.strip()

    def texts(self, name: str) -> list[str]:
        """A list of texts; numbers and switches count as JSON writes them."""
        value = self.raw(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise Unusable(f"its {name} is not a list")
        return [self.translated(_written(item, f"an item of its {name}")) for item in value]

    def pairs(self, name: str) -> dict[str, str]:
        """Texts by name. One that is null is left out and named."""
        value = self.raw(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Unusable(f"its {name} is not an object")
        found = {}
        for key, item in value.items():
            if item is None:
                self.note(f"{name}.{one_line(str(key), _SHOWN)} has no value and is left out")
            else:
                found[str(key)] = self.translated(_written(item, f"{name}.{one_line(str(key), _SHOWN)}"))
        return found

    def flag(self, name: str) -> bool | None:
        value = self.raw(name)
        if value is None or isinstance(value, bool):
            return value
        raise Unusable(f"its {name} is neither true nor false")

    def milliseconds(self, name: str, unit: int = 1) -> int | None:
        """A time, of which `unit` milliseconds are one."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value * unit < 10**9:
            self.note(f"{name} is not a time that can be used, and is left out")
            return None
        return int(value * unit)

    def part(self, name: str, *, ignore: Iterable[str] = ()) -> "Fields | None":
        """An object inside the entry, read in the same way."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise Unusable(f"its {name} is not an object")
        return Fields(value, self._translator, ignore=ignore)

    def without(self, name: str, why: str) -> None:
        """A field that is known and cannot be carried over."""
        if self.raw(name) not in (None, False, [], {}, ""):
            self.note(f"{name} is left out: {why}")

    def rest(self, place: str = "") -> list[str]:
        """Notes about what was taken, and one that names what nobody took."""
        left = [
            one_line(str(key), _SHOWN)
            for key, value in self._raw.items()
            if key not in self._taken and value is not None
        ]
        told = [f"left out, as it means nothing here: {', '.join(place + key for key in left)}"] if left else []
        return [*self._notes, *told]


def _written(value: Any, what: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    raise Unusable(f"{what} is not a text")
