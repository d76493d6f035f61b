"""JSON read no deeper than it is looked at: types for values whose kind is checked by hand, and whose inside nobody asked for.

Millions of empty lists in a line would take thirty times its length as Python values. Decoded as one of these types, an object holds the
members that its type names, and a list as many items as it may have; the rest is passed over, which takes no memory. Light to import.
"""

from typing import Any, TypedDict

import msgspec
from msgspec import UNSET, UnsetType


class AnyObject(TypedDict):
    """Any object, without its members."""


class List(msgspec.Struct, array_like=True):
    """Any list, without its items; `list_of` makes one that has some."""


Scalar = str | int | float | bool | None
Value = Scalar | AnyObject | List

_KINDS = {str: "a string", dict: "an object", List: "a list", bool: "true or false", int: "a number", float: "a number"}


def list_of(item: Any, most: int) -> Any:
    """The type of a list whose first `most` items are read, each as an `item`."""
    fields = [(f"item{number}", item | UnsetType, UNSET) for number in range(most)]
    return msgspec.defstruct("_List", fields, bases=(List,))


def items_of(value: List) -> list[Any]:
    return [item for item in msgspec.structs.astuple(value) if item is not UNSET]


def is_object(value: Any) -> bool:
    """For values that a type checker takes for something else: to it, a TypedDict is no dict."""
    return isinstance(value, dict)


def kind(value: Any) -> str:
    """What a value is, for people."""
    return "null" if value is None else _KINDS.get(type(value), "something else")
