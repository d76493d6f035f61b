"""JSON Schema: do these arguments fit, and is this schema one we can use.

Owns the checks of tool arguments and structured results, compiled on first use. A schema comes from a server: no reference is ever fetched,
size, nesting and the work it asks for are bounded, patterns run on a regular-expression engine without backtracking where they can and
with a bound where they cannot. Says what is wrong in one sentence, without repeating the values. The only user of jsonschema_rs, which
takes a while to load: values that plain_schema.py vouches for do without it the first time.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from openclaw.content import to_json
from openclaw.log import one_line
from openclaw.plain_schema import surely_fits

if TYPE_CHECKING:
    import jsonschema_rs

# The largest honest schemas seen are about a tenth of these.
MAX_BYTES = 1024 * 1024
MAX_SUBSCHEMAS = 5_000
# Visits of a subschema that one branch of a value may cost: about 15 ms. References can double them at every level.
_MOST_VISITS = 1_000_000
# Explaining a failure costs a thousand times as much as finding it, and memory too.
_MOST_VISITS_EXPLAINED = 2_000
# Deeper values are refused by schemas that refer to themselves; honest trees stay far below.
_DEEPEST_VALUE = 64
# Schemas smaller than this without references cannot be costly.
_SURELY_CHEAP = 2_000

# A compiled pattern may take this much memory, and a backtracking one this many steps.
_PATTERN_BYTES = 1024 * 1024
_PATTERN_STEPS = 100_000

# Compiled checkers kept. A gateway with every server of its limit offers about a thousand tools.
CHECKERS = 4_096
# A model corrects a few faults at a time.
_MOST_FAULTS = 3
_LONGEST_FAULT = 300
_VALUE = "the value"

_DRAFTS = {
    "draft-04": "Draft4Validator",
    "draft-06": "Draft6Validator",
    "draft-07": "Draft7Validator",
    "2019-09": "Draft201909Validator",
    "2020-12": "Draft202012Validator",
}


@cache
def _library() -> Any:
    import jsonschema_rs

    return jsonschema_rs


@cache
def _linear() -> "jsonschema_rs.RegexOptions":
    options: jsonschema_rs.RegexOptions = _library().RegexOptions(
        size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
    )
    return options


@cache
def _bounded() -> "jsonschema_rs.FancyRegexOptions":
    options: jsonschema_rs.FancyRegexOptions = _library().FancyRegexOptions(
        backtrack_limit=_PATTERN_STEPS, size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
    )
    return options


class Checker:
    """One schema, compiled on the first check. `what` names the values it is for, in messages."""

    __slots__ = ("_detail_depth", "_fault", "_raw", "_validator", "_value_depth", "_was_used", "_what")

    def __init__(self, raw: bytes | msgspec.Raw, *, what: str = "arguments") -> None:
        self._raw: bytes | msgspec.Raw | None = raw
        self._what = what
        self._fault: str | None = None
        self._validator: jsonschema_rs.Validator | None = None
        self._was_used = False
        # How deep a value may be nested to be checked, and to have its faults explained; None is any depth.
        self._value_depth: int | None = None
        self._detail_depth: int | None = None

    def check(self, value: Any) -> str | None:
        """None when `value` fits, else one sentence that says where and why it does not. Never raises."""
        if self._raw is not None:
            if not self._was_used and surely_fits(self._raw, value):
                # Compiling pays from the second time on.
                self._was_used = True
                return None
            self._compile(bytes(self._raw))
        if self._validator is None:
            return self._fault
        try:
            if self._value_depth is not None and _deeper_than(self._value_depth, value):
                return f"The {self._what} are nested too deeply for their schema."
            if self._validator.is_valid(value):
                return None
            return self._explain(self._validator, value)
        except (ValueError, TypeError, RecursionError) as error:
            return f"The {self._what} are not valid JSON: {one_line(str(error), _LONGEST_FAULT)}."

    @property
    def fits(self) -> Callable[[Any], bool] | None:
        """Whether a value fits, without a word why not: the compiled schema's own answer. None until it is compiled, and of a schema that a
        value may be too deep for."""
        if self._validator is None or self._value_depth is not None:
            return None
        return self._validator.is_valid

    def _compile(self, data: bytes) -> None:
        self._raw = None
        try:
            self._validator = _compiled(data)
            self._value_depth, self._detail_depth = _depths(data)
        except _UnusableError as error:
            self._validator = None
            self._fault = f"The schema of the {self._what} cannot be used: {error}."

    def _explain(self, validator: "jsonschema_rs.Validator", value: Any) -> str:
        if self._detail_depth is not None and _deeper_than(self._detail_depth, value):
            return f"The {self._what} do not fit their schema."
        faults = [_sentence(error) for error in islice(validator.iter_errors(value), _MOST_FAULTS + 1)]
        more = "; and more" if len(faults) > _MOST_FAULTS else ""
        return f"The {self._what} do not fit their schema: {'; '.join(faults[:_MOST_FAULTS])}{more}."


class CheckerCache:
    """One compiled checker for each schema of arguments, made on the first call. Keyed by the raw schema object, which it keeps alive;
    beside the checker what it asks of a value of any depth, once it is compiled."""

    def __init__(self) -> None:
        self._checkers: dict[int, tuple[msgspec.Raw, Checker, Callable[[Any], bool] | None]] = {}

    def __len__(self) -> int:
        return len(self._checkers)

    def check(self, schema: msgspec.Raw, arguments: object) -> str | None:
        """What is wrong with the arguments; None when nothing is."""
        kept = self._checkers.get(id(schema))
        if kept is not None and (fits := kept[2]) is not None:
            try:
                if fits(arguments):
                    return None
            except (ValueError, TypeError, RecursionError):
                # The checker says what is wrong.
                pass
        if kept is None:
            if len(self._checkers) >= CHECKERS:
                self._checkers.pop(next(iter(self._checkers)))
            kept = schema, Checker(schema), None
        checker = kept[1]
        fault = checker.check(arguments)
        self._checkers[id(schema)] = schema, checker, checker.fits
        return fault


def problems_of_schema(raw: bytes | msgspec.Raw) -> str | None:
    """Why a schema cannot be used, in one sentence; None when it can. Compiles it: not for a thousand tools at start-up."""
    try:
        _compiled(bytes(raw))
        _depths(bytes(raw))
    except _UnusableError as error:
        return f"The schema cannot be used: {error}."
    return None


def finder(pattern: str) -> Callable[[str], bool]:
    """Whether a text has something in it that fits `pattern`, which is ours: found in one pass, with the library's own expressions. Raises
    ValueError for a pattern that those refuse, and so does the function for what is no text."""
    find: Callable[[str], bool] = _build(to_json({"pattern": pattern}).decode(), _library().RegexOptions()).is_valid
    return find


class _UnusableError(Exception):
    """Why, as the end of a sentence."""


def _compiled(data: bytes) -> "jsonschema_rs.Validator":
    if len(data) > MAX_BYTES:
        raise _UnusableError(f"it is larger than {MAX_BYTES:,} bytes")
    if data.count(b"{") > MAX_SUBSCHEMAS:
        raise _UnusableError(f"it has more than {MAX_SUBSCHEMAS:,} parts")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _UnusableError("it is not UTF-8") from None
    invalid = _library().ValidationError
    try:
        return _build(text, _linear())
    except invalid as error:
        if error.kind.name == "format":
            # A pattern with look-around or back-references, which the linear engine lacks.
            try:
                return _build(text, _bounded())
            except invalid as still:
                error = still
        raise _UnusableError(_sentence(error).rstrip(".")) from None
    except (ValueError, RecursionError) as error:
        raise _UnusableError(one_line(str(error), _LONGEST_FAULT)) from None


def _build(
    text: str, patterns: "jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions"
) -> "jsonschema_rs.Validator":
    # `format` stays an annotation, as 2020-12 has it, and its checkers are not for input from outside.
    options: dict[str, Any] = {
        "retriever": _never_fetch,
        "pattern_options": patterns,
        "validate_formats": False,
        "mask": _VALUE,
    }
    library = _library()
    try:
        validator: jsonschema_rs.Validator = library.validator_for(text, **options)
        return validator
    except library.ValidationError as error:
        draft = _draft_of(text) if error.message.startswith("Unknown meta-schema") else None
        if draft is None:
            raise
        schema = msgspec.json.decode(text)
        del schema["$schema"]
        return draft(to_json(schema).decode(), **options)


def _draft_of(text: str) -> "type[jsonschema_rs.Validator] | None":
    """The draft a `$schema` means although it is misspelt (https for http, a missing `#`)."""
    declared = msgspec.json.decode(text)["$schema"]
    return next((getattr(_library(), draft) for name, draft in _DRAFTS.items() if name in declared), None)


def _never_fetch(uri: str) -> Any:
    raise ValueError("references are never fetched")


# What libraries make of an argument that may be left out: something, or null.
_NULL = f'{_VALUE} is not of type "null"'


def _sentence(error: "jsonschema_rs.ValidationError") -> str:
    if error.kind.name in ("anyOf", "oneOf"):
        branches = [
            faults for faults in getattr(error.kind, "context", ()) if [one.message for one in faults] != [_NULL]
        ]
        if len(branches) == 1 and branches[0]:
            return _sentence(branches[0][0])
    where = _path(error.instance_path)
    text = error.message
    if where and text.startswith(_VALUE):
        return one_line(where + text[len(_VALUE) :], _LONGEST_FAULT)
    return one_line(f"{where}: {text}" if where else text, _LONGEST_FAULT)


def _path(parts: list[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def _deeper_than(depth: int, value: Any) -> bool:
    level = [value]
    for _ in range(depth + 1):
        level = [child for item in level if isinstance(item, dict | list) for child in _children(item)]
        if not level:
            return False
    return True


def _children(value: dict[str, Any] | list[Any]) -> Iterator[Any]:
    yield from value.values() if isinstance(value, dict) else value


# --- the work a schema asks for ------------------------------------------------------------------------------------------------

_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_VALUE = ("not", "if", "then", "else")
_SAME_VALUE_MAPS = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Of these one applies to each member of a value; of the others every one may.
_CHILD_EITHER = ("properties", "prefixItems")
_CHILD_MAPS = ("patternProperties",)
_CHILD = (
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
)


def _depths(data: bytes) -> tuple[int | None, int | None]:
    """How deep a value may be to be checked, and to be explained. Raises when even a flat one would cost too much."""
    if data.count(b"{") <= _SURELY_CHEAP and b'ef"' not in data and b"\\u" not in data:
        # Neither `$ref` nor `$dynamicRef` nor `$recursiveRef`, nor one of them in disguise.
        return None, None
    try:
        return _Work(msgspec.json.decode(data)).depths()
    except RecursionError:
        raise _UnusableError("it is nested too deeply") from None


class _Work:
    """Counts the visits of subschemas along one branch of a value, level by level; references are followed."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._nodes: list[dict[str, Any]] = []
        self._anchors: dict[str, list[Any]] = {}
        self._collect(root)
        # For each subschema: those that see the same value, those of which one sees a member of it, those that all do.
        self._edges = {
            id(node): edges
            for node in self._nodes
            if any(edges := (_ids(self._same_value(node)), _ids(_either_child(node)), _ids(_every_child(node))))
        }
        # Visits for the depth at hand, and for a value one level less deep. A subschema without edges costs one.
        self._here: dict[int, int] = {}
        self._below: dict[int, int] = {}

    def depths(self) -> tuple[int | None, int | None]:
        value_depth, detail_depth = _DEEPEST_VALUE, -1
        for depth in range(_DEEPEST_VALUE + 1):
            self._below, self._here = self._here, {}
            for node in self._edges:
                self._visits(node)
            visits = self._visits(id(self._root))
            if visits <= _MOST_VISITS_EXPLAINED:
                detail_depth = depth
            if visits > _MOST_VISITS:
                value_depth = depth - 1
                break
            if self._here == self._below:
                # A deeper value costs no more.
                return None, None if detail_depth == depth else detail_depth
        if value_depth < 0:
            raise _UnusableError("its references multiply or go round in circles")
        return value_depth, detail_depth

    def _visits(self, node: int) -> int:
        known = self._here.get(node)
        if known is not None:
            return known
        if node not in self._edges:
            return 1
        # Met again while it is being counted, it applies to the same value for ever.
        self._here[node] = _MOST_VISITS + 1
        same, either, every = self._edges[node]
        visits = 1 + sum(map(self._visits, same))
        if self._below:
            visits += max((self._below.get(child, 1) for child in either), default=0)
            visits += sum(self._below.get(child, 1) for child in every)
        self._here[node] = min(visits, _MOST_VISITS + 1)
        return self._here[node]

    def _collect(self, value: Any) -> None:
        if isinstance(value, dict):
            self._nodes.append(value)
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(value.get(key), str):
                    self._anchors.setdefault(value[key], []).append(value)
        if isinstance(value, dict | list):
            for member in _children(value):
                self._collect(member)

    def _same_value(self, node: dict[str, Any]) -> Iterator[Any]:
        for key in _SAME_VALUE_LISTS:
            yield from node[key] if isinstance(node.get(key), list) else ()
        for key in _SAME_VALUE:
            if key in node:
                yield node[key]
        for key in _SAME_VALUE_MAPS:
            yield from node[key].values() if isinstance(node.get(key), dict) else ()
        for key in _REFERENCES:
            if isinstance(node.get(key), str):
                yield from self._targets(node[key])

    def _targets(self, reference: str) -> list[Any]:
        """What a reference leads to. One that is not understood here (by `$id`) counts as the whole schema."""
        if not reference.startswith("#/"):
            return self._anchors.get(reference.removeprefix("#"), [self._root])
        target = self._root
        for step in reference[2:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict):
                target = target.get(step)
            elif isinstance(target, list):
                target = target[int(step)] if step.isdecimal() and int(step) < len(target) else None
        return [target]


def _ids(subschemas: Iterator[Any]) -> list[int]:
    return [id(subschema) for subschema in subschemas]


def _every_child(node: dict[str, Any]) -> Iterator[Any]:
    for key in _CHILD:
        value = node.get(key)
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from value
    for key in _CHILD_MAPS:
        yield from node[key].values() if isinstance(node.get(key), dict) else ()


def _either_child(node: dict[str, Any]) -> Iterator[Any]:
    for key in _CHILD_EITHER:
        value = node.get(key)
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value
