"""The forms that servers may ask for: flat, of a few kinds of fields, and never for a secret. Pure.

Owns which schemas are forms (everything else is refused, with the field named), the defaults that an accepted form carries, whether an
answer fits, and which fields look as if a secret were wanted. What a form looks like is for whoever shows it to decide.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from openclaw.content import to_json
from openclaw.json_schema import Checker, problems_of_schema
from openclaw.security.external import clean_label, clean_text

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]

# A form that is longer is nothing that a person fills in beside something else.
MOST_FIELDS = 50
MOST_CHOICES = 200
_LONGEST_NAME = 200
# Of a bound that is a whole number: beyond it lies nothing that anybody counts, and at some point nothing that can be shown.
_MOST_BOUND = 1 << 63
_LONGEST_TITLE, _LONGEST_DESCRIPTION = 200, 1_000

_FORMATS = frozenset({"email", "uri", "date", "date-time"})
# What may stand in a field of each kind, beside `type`, `title`, `description` and `default`. Anything else is dropped: it asks for nothing
# that a person could see.
_BOUNDS: Mapping[str, tuple[str, ...]] = {
    "text": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
    "choice": ("enum", "oneOf", "enumNames"),
    "choices": ("minItems", "maxItems", "items"),
}
_PLAIN: Mapping[Any, FieldKind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
# Whole words, in a name taken apart (`apiKey` is "api key"). A yes or no and a choice from a list can hold no secret.
_SECRET = re.compile(
    r"\b(?:password|passwd|passcode|passphrase|secret|token|api ?key|private ?key|cvv|cvc|card ?number|otp)\b"
)
# A pin is many things, and a description may well say not to give one.
_PIN = re.compile(r"\bpin\b")
_PIN_WANTED = re.compile(r"\b(?:your|the|enter|card|bank|security) pin\b")
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")


class FormError(Exception):
    """Why a schema is no form, in a sentence that names the field."""


class Field(msgspec.Struct, frozen=True):
    """`schema` is what is left of the server's when everything unknown is dropped and its words are clean."""

    name: str
    kind: FieldKind
    schema: Mapping[str, Any]
    default: Any = msgspec.UNSET

    @property
    def wants_secret(self) -> bool:
        if self.kind not in ("text", "number", "integer"):
            return False
        named = _apart(f"{self.name} {self.schema.get('title', '')}")
        described = _apart(self.schema.get("description", ""))
        if self.schema.get("format") == "password" or _SECRET.search(named) or _SECRET.search(described):
            return True
        return bool(_PIN.search(named) or _PIN_WANTED.search(described))


class Form(msgspec.Struct, frozen=True):
    fields: tuple[Field, ...]
    required: tuple[str, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """As it is shown."""
        properties = {field.name: field.schema for field in self.fields}
        return {"type": "object", "properties": properties, "required": list(self.required)}

    def filled(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """An answer with the default of every field that it leaves out."""
        defaults = {field.name: field.default for field in self.fields if field.default is not msgspec.UNSET}
        return {**defaults, **content}

    def fault(self, content: Mapping[str, Any]) -> str:
        """What is wrong with an answer, the field named and the value not; empty when nothing is."""
        if missing := next((name for name in self.required if name not in content), ""):
            return f"{_shown(missing)} is missing."
        known = {field.name: field for field in self.fields}
        for name, value in content.items():
            if name not in known:
                return f"{_shown(name)} is no field of this form."
            if fault := fault_of(known[name], value):
                return f"{_shown(name)}: {fault}"
        return ""


def read_form(schema: object) -> Form:
    """The form that a server's `requestedSchema` means. Raises FormError for everything that is none."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise FormError("The form is no object with fields.")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping):
        raise FormError("The fields of the form are no object.")
    if len(properties) > MOST_FIELDS:
        raise FormError(f"The form has more than {MOST_FIELDS} fields.")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise FormError("What the form requires is no list of names.")
    if missing := next((name for name in required if name not in properties), ""):
        raise FormError(f"The form requires {_shown(missing)}, which it does not have.")
    fields = tuple(_field(name, given) for name, given in properties.items())
    return Form(fields, tuple(dict.fromkeys(required)))


def _field(name: str, given: object) -> Field:
    shown = _shown(name)
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise FormError(f"The field {shown} has a name that cannot be shown.")
    if not isinstance(given, Mapping):
        raise FormError(f"The field {shown} is no schema.")
    kind = _kind(given)
    if kind is None:
        raise FormError(f"The field {shown} is neither text, number, yes or no, nor a choice.")
    schema: dict[str, Any] = {"type": given.get("type", "string")}
    for word, clean, limit in (
        ("title", clean_label, _LONGEST_TITLE),
        ("description", clean_text, _LONGEST_DESCRIPTION),
    ):
        if isinstance(given.get(word), str):
            schema[word] = clean(given[word], limit)
    schema |= {word: given[word] for word in _BOUNDS[kind] if word in given}
    if schema.get("format", "email") not in (*_FORMATS, "password"):
        raise FormError(f"The field {shown} has a format that is not known here.")
    if any(isinstance(schema.get(word), int) and abs(schema[word]) > _MOST_BOUND for word in _BOUNDS[kind]):
        raise FormError(f"The field {shown} has a bound that cannot be shown.")
    _check_choices(shown, schema, kind)
    checked = {word: value for word, value in schema.items() if word != "enumNames"}
    if fault := problems_of_schema(to_json(checked)):
        raise FormError(f"The field {shown} cannot be used: {fault}")
    field = Field(name, kind, schema)
    default = given.get("default", msgspec.UNSET)
    # One that does not fit would be sent without anybody having looked at it.
    if default is msgspec.UNSET or default is None or fault_of(field, default):
        return field
    return Field(name, kind, {**schema, "default": default}, default)


def _kind(given: Mapping[str, Any]) -> FieldKind | None:
    named = given.get("type", "string" if "enum" in given or "oneOf" in given else None)
    if named == "string" and ("enum" in given or "oneOf" in given):
        return "choice"
    if named == "array":
        return "choices"
    return _PLAIN.get(named) if isinstance(named, str) else None


def _check_choices(shown: str, schema: Mapping[str, Any], kind: FieldKind) -> None:
    if kind not in ("choice", "choices"):
        return
    choices = choices_of(schema)
    if not choices:
        raise FormError(f"The field {shown} offers nothing to choose from.")
    if len(choices) > MOST_CHOICES:
        raise FormError(f"The field {shown} offers more than {MOST_CHOICES} choices.")


def choices_of(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The values of a choice, of one or of several, each with what stands for it. None where they are not all texts."""
    holder = schema.get("items") if schema.get("type") == "array" else schema
    if not isinstance(holder, Mapping):
        return ()
    listed, titled = holder.get("enum"), holder.get("oneOf", holder.get("anyOf"))
    if isinstance(listed, list) and all(isinstance(value, str) for value in listed):
        names = holder.get("enumNames")
        if not isinstance(names, list) or len(names) != len(listed):
            names = listed
        return tuple((value, str(name)) for value, name in zip(listed, names, strict=True))
    if isinstance(titled, list) and all(
        isinstance(one, Mapping) and isinstance(one.get("const"), str) for one in titled
    ):
        return tuple((one["const"], str(one.get("title") or one["const"])) for one in titled)
    return ()


def fault_of(field: Field, value: Any) -> str:
    """What is wrong with a value of a field, in a sentence without it; empty when nothing is."""
    if fault := Checker(to_json(field.schema), what="answers").check(value):
        return fault
    if field.kind == "text" and not _has_format(str(value), field.schema.get("format", "")):
        return f"It is not of the format {field.schema['format']}."
    return ""


def _has_format(text: str, format: str) -> bool:
    match format:
        case "email":
            return _EMAIL.fullmatch(text) is not None
        case "uri":
            return _is_address(text)
        case "date" | "date-time":
            return _is_time(text, whole=format == "date-time")
        case _:
            return True


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", text)


def _is_time(text: str, *, whole: bool) -> bool:
    try:
        if not whole:
            return bool(date.fromisoformat(text)) and len(text) == len("2026-07-28")
        return datetime.fromisoformat(text).tzinfo is not None and "T" in text.upper()
    except ValueError:
        return False


def _apart(text: str) -> str:
    """`apiKey`, `API_KEY` and `api-key` as "api key"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[\W_]+", " ", spaced).lower()


def _shown(name: object) -> str:
    return f"'{clean_label(str(name), 60)}'"
