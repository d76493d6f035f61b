"""Whether a call that an old input schema admits is still admitted by a new one. Pure.

The comparison is conservative: it answers yes only when that follows from the two schemas keyword by keyword, and no whenever it
cannot tell. Both have to be valid JSON Schemas. Two readings are deliberate: a property the old schema neither declares nor expressly opens
(`additionalProperties` absent) is one that no caller sends, so a server may add optional parameters; and a bound beyond the whole numbers
that JavaScript can tell apart is none, for schema writers add it by themselves.
pins.py asks; nothing here knows about servers or tools.
"""

from typing import Any

from openclaw.content import to_sorted_json

Schema = dict[str, Any] | bool

# Schemas nested deeper than this are not compared: the answer is no.
MAX_DEPTH = 40
# Alternatives multiply when they are nested; past this many comparisons the answer is no.
MAX_COMPARISONS = 5_000
# A larger schema is compared as a whole only: the same, or not.
MAX_BYTES = 256 * 1024

# The largest whole number that JavaScript tells from the next.
_MAX_SAFE = 2**53 - 1

_TYPES = frozenset({"null", "boolean", "number", "string", "array", "object"})
# Keywords whose meaning we do not weigh: they must stand in the old schema in the same form.
_OPAQUE = frozenset(
    {
        "not", "if", "then", "else", "oneOf", "dependentRequired", "dependentSchemas", "dependencies", "propertyNames",
        "patternProperties", "additionalItems", "uniqueItems", "pattern", "format", "contentEncoding",
        "contentMediaType", "contentSchema", "$dynamicRef", "$recursiveRef",
    }
)  # fmt: skip
# What these mean depends on every other keyword of the schema, so an equal value proves nothing.
_ENTANGLED = frozenset({"unevaluatedProperties", "unevaluatedItems"})
# Keywords that mean something only together.
_TOGETHER = ("contains", "minContains", "maxContains"), ("prefixItems", "items")
_LOWER = {"minLength": "string", "minItems": "array", "minProperties": "object"}
_UPPER = {"maxLength": "string", "maxItems": "array", "maxProperties": "object"}


def still_admits(old: Schema, new: Schema) -> bool:
    """True when every arguments object that fits `old` surely fits `new`."""
    before, after = _canonical(old), _canonical(new)
    if before == after:
        return True
    if max(len(before), len(after)) > MAX_BYTES:
        return False
    return _Comparison(old, new).fits(_as_object(old), _as_object(new), 0)


def _canonical(value: Any) -> bytes:
    return to_sorted_json(value)


def _equal(old: Any, new: Any) -> bool:
    """The same on both sides, and whole: what a reference points to may differ even when the reference does not."""
    # Python takes 1 for True, the canonical form does not; asking Python first is cheap where they differ.
    if old != new:
        return False
    text = _canonical(new)
    return b'Ref"' not in text and b'"$ref"' not in text and _canonical(old) == text


def _as_object(schema: Schema) -> Schema:
    """Arguments are always an object, whether or not the schema says so."""
    return schema if isinstance(schema, bool) else {"type": "object", **schema}


def _types(schema: dict[str, Any]) -> frozenset[str]:
    """The kinds of value a schema lets in, by what it says at its own level."""
    given = schema.get("type")
    if isinstance(given, str):
        return frozenset({given})
    if isinstance(given, list):
        return frozenset(str(item) for item in given)
    values = _values(schema)
    return _TYPES if values is None else frozenset(_type_of(value) for value in values)


def _type_of(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "object"


def _values(schema: dict[str, Any]) -> list[Any] | None:
    """The finite list of values a schema names; None when it names none."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _within(old: frozenset[str], new: frozenset[str]) -> bool:
    wider = new | {"integer"} if "number" in new else new
    return old <= wider


def _bound(schema: dict[str, Any], inclusive: str, exclusive: str) -> tuple[float, bool] | None:
    """A numeric bound and whether the bound itself is left out."""
    limit, strict = schema.get(inclusive), schema.get(exclusive)
    # 2019 and later give the exclusive bound as a number; the boolean form of draft 4 turns the other one exclusive.
    if isinstance(strict, bool):
        return (limit, strict) if isinstance(limit, int | float) else None
    if isinstance(strict, int | float):
        return (strict, True)
    return (limit, False) if isinstance(limit, int | float) else None


def _number_bounds_hold(old: dict[str, Any], new: dict[str, Any]) -> bool:
    for inclusive, exclusive, sign in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        # Both forms at once, in one schema, are rare enough not to be weighed.
        if inclusive in new and isinstance(new.get(exclusive), int | float) and not isinstance(new[exclusive], bool):
            return False
        wanted, had = _bound(new, inclusive, exclusive), _bound(old, inclusive, exclusive)
        if wanted is None or -sign * wanted[0] >= _MAX_SAFE:
            continue
        if had is None or sign * had[0] < sign * wanted[0] or (had[0] == wanted[0] and wanted[1] and not had[1]):
            return False
    step = new.get("multipleOf")
    if step is None:
        return True
    old_step = old.get("multipleOf")
    if isinstance(step, int) and isinstance(old_step, int) and step > 0:
        return old_step % step == 0
    return bool(step == old_step)


class _Comparison:
    def __init__(self, old_root: Schema, new_root: Schema) -> None:
        self._old_root = old_root
        self._new_root = new_root
        # Pairs being compared further up: a recursive schema meets itself again, and then holds if the rest does.
        self._open: set[tuple[int, int]] = set()
        self._left = MAX_COMPARISONS

    def fits(self, old: Schema, new: Schema, depth: int) -> bool:
        if new is True or new == {} or old is False:
            return True
        self._left -= 1
        if new is False or depth > MAX_DEPTH or self._left < 0:
            return False
        if isinstance(old, bool):
            old = {}
        if _equal(old, new):
            return True
        pair = (id(old), id(new))
        if pair in self._open:
            return True
        self._open.add(pair)
        try:
            return self._old_side(old, new, depth + 1)
        finally:
            self._open.discard(pair)

    def _old_side(self, old: dict[str, Any], new: dict[str, Any], depth: int) -> bool:
        """Take the old schema apart where that makes it wider, never narrower, and compare what is left."""
        if "$ref" in old:
            target = _resolve(self._old_root, old["$ref"])
            rest = {key: value for key, value in old.items() if key != "$ref"}
            return (target is not None and self.fits(target, new, depth)) or self._new_side(rest, new, depth)
        if self._new_side(old, new, depth):
            return True
        for keyword, every in (("anyOf", True), ("oneOf", True), ("allOf", False)):
            branches = old.get(keyword)
            if isinstance(branches, list) and branches:
                verdicts = (self.fits(branch, new, depth) for branch in branches)
                if all(verdicts) if every else any(verdicts):
                    return True
        return False

    def _new_side(self, old: dict[str, Any], new: dict[str, Any], depth: int) -> bool:
        """Every keyword of the new schema has to follow from the old one."""
        if "$ref" in new:
            target = _resolve(self._new_root, new["$ref"])
            if target is None or not self.fits(old, target, depth):
                return False
        if any(keyword in new for keyword in _ENTANGLED):
            return False
        if any(key in new and not (key in old and _equal(old[key], new[key])) for key in _OPAQUE):
            return False
        for first, *others in _TOGETHER:
            group = (first, *others)
            if (first in new or (first in old and any(key in new for key in others))) and not _equal(
                {key: old[key] for key in group if key in old}, {key: new[key] for key in group if key in new}
            ):
                return False
        return (
            self._kinds(old, new)
            and self._branches(old, new, depth)
            and self._numbers(old, new)
            and self._sizes(old, new)
            and self._lists(old, new, depth)
            and self._members(old, new, depth)
        )

    def _kinds(self, old: dict[str, Any], new: dict[str, Any]) -> bool:
        if "type" in new and not _within(_types(old), _types(new)):
            return False
        wanted, had = _values(new), _values(old)
        if wanted is None:
            return True
        known = {_canonical(value) for value in wanted}
        return had is not None and all(_canonical(value) in known for value in had)

    def _branches(self, old: dict[str, Any], new: dict[str, Any], depth: int) -> bool:
        every, some = new.get("allOf", []), new.get("anyOf")
        if not all(self.fits(old, branch, depth) for branch in every):
            return False
        if some is None:
            return True
        # "string or null" written as a list of types has to be weighed type by type against branches.
        parts = [{**old, "type": kind} for kind in sorted(_types(old))] if isinstance(old.get("type"), list) else [old]
        return all(any(self.fits(part, branch, depth) for branch in some) for part in parts)

    def _numbers(self, old: dict[str, Any], new: dict[str, Any]) -> bool:
        return not ({"number", "integer"} & _types(old)) or _number_bounds_hold(old, new)

    def _sizes(self, old: dict[str, Any], new: dict[str, Any]) -> bool:
        kinds = _types(old)
        lower = all(new.get(key, 0) <= old.get(key, 0) for key, kind in _LOWER.items() if kind in kinds)
        upper = all(
            key not in new or (key in old and old[key] <= new[key]) for key, kind in _UPPER.items() if kind in kinds
        )
        return lower and upper

    def _lists(self, old: dict[str, Any], new: dict[str, Any], depth: int) -> bool:
        if "array" not in _types(old) or "items" not in new:
            return True
        if isinstance(new["items"], list) or isinstance(old.get("items"), list):
            return _equal(old.get("items"), new["items"])
        return self.fits(old.get("items", True), new["items"], depth)

    def _members(self, old: dict[str, Any], new: dict[str, Any], depth: int) -> bool:
        if "object" not in _types(old):
            return True
        if not set(new.get("required", [])) <= set(old.get("required", [])):
            return False
        had, wanted = old.get("properties", {}), new.get("properties", {})
        others = old.get("additionalProperties", False)
        if old.get("patternProperties"):
            others = True
        if not all(self.fits(had.get(name, others), schema, depth) for name, schema in wanted.items()):
            return False
        rest = new.get("additionalProperties", True)
        undeclared = [schema for name, schema in had.items() if name not in wanted]
        return all(self.fits(schema, rest, depth) for schema in [*undeclared, others])


def _resolve(root: Schema, reference: Any) -> Schema | None:
    """The schema a local `#/…` reference names; None for any other reference."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    place: Any = root
    for piece in reference[1:].split("/")[1:]:
        key = piece.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict) and key in place:
            place = place[key]
        elif isinstance(place, list) and key.isdigit() and int(key) < len(place):
            place = place[int(key)]
        else:
            return None
    return place if isinstance(place, dict | bool) else None
