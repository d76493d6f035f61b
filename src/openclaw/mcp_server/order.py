"""An order: the arguments of `order_openclaw`, checked one by one. Every fault is a sentence that names the argument and what it should be.

JSON is read no deeper than it is looked at: millions of empty lists in a line would take thirty times its length as Python values. Decoded
as one of the types below, an object holds the members that its type names, and a list as many items as it may have; the rest is passed
over, which takes no memory. What attachments hold is checked in `attachments.py`. Light to import: it is needed before the agent is loaded.
"""

import codecs
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypedDict

import msgspec
from msgspec import UNSET, Raw, UnsetType

from openclaw.content import to_json
from openclaw.errors import UsageError

# Images, or files, that are read and counted. An order may have far fewer; a line has room for a hundred million.
MOST_COUNTED = 100
# Bytes whose encoding is checked at a time: little enough to stay in a processor's cache.
_PIECE = 1 << 16


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


class Item(msgspec.Struct):
    """One attachment as it was sent: `place` names it in messages, `data` is Base64 until it is taken."""

    place: str
    data: str
    mime_type: str
    filename: str = ""

    def take_data(self) -> str:
        """The Base64, which is forgotten here: it may be twenty megabytes."""
        data, self.data = self.data, ""
        return data


class Order(msgspec.Struct, frozen=True):
    """`session_key` is empty when the caller named no conversation, or named it with an empty word. `waited` is how many seconds of the
    agent's time it has spent waiting for an earlier order of its conversation. `caller` is the trace that the client is part of
    (`trace_context.py`)."""

    message: str
    session_key: str = ""
    images: list[Item] = msgspec.field(default_factory=list)
    files: list[Item] = msgspec.field(default_factory=list)
    waited: float = 0.0
    caller: Mapping[str, str] = {}


class _GivenItem(TypedDict, total=False):
    data: Value
    mimeType: Value
    filename: Value


@cache
def _arguments() -> msgspec.json.Decoder[Any]:
    """Reads what an order may have, of whatever kind it is, and one item more than are counted."""
    items: Any = Scalar | AnyObject | list_of(Scalar | _GivenItem | List, MOST_COUNTED + 1)
    known = {"message": Value, "sessionKey": Value, "images": items, "files": items}
    given: Any = TypedDict("_Given", known, total=False)  # type: ignore[misc]
    return msgspec.json.Decoder(Scalar | given | List)


def read_order(arguments: Raw) -> Order:
    """Raises UsageError for what an order cannot be, and msgspec's errors and UnicodeDecodeError for what is not JSON.

    Of a list that is far too long the first items are read, one more than `MOST_COUNTED`.
    """
    _check_encoding(memoryview(arguments))
    given: Any = _arguments().decode(arguments) if memoryview(arguments).nbytes else {}
    if not isinstance(given, dict):
        raise UsageError(f"The arguments must be an object, not {kind(given)}.")
    if "message" not in given:
        raise UsageError("The argument message is missing.", hint="It is the text to send to OpenClaw.")
    order = Order(
        message=_text(given, "message", ""),
        session_key=_text(given, "sessionKey", "") if given.get("sessionKey") is not None else "",
        images=_items(given, "images"),
        files=_items(given, "files"),
    )
    if not order.message.strip() and not order.images and not order.files:
        raise UsageError("The argument message is empty.", hint="Say what OpenClaw should do.")
    return order


def pieces(order: Order) -> Iterator[bytes]:
    """What tells this order from any other that is not the same."""
    for text in (order.message, order.session_key, str(len(order.images))):
        yield text.encode()
    for item in (*order.images, *order.files):
        for text in (item.data, item.mime_type, item.filename):
            yield text.encode()


def written(order: Order) -> bytes:
    """The order as arguments again, for somebody else to read."""
    given: dict[str, Any] = {"message": order.message}
    if order.session_key:
        given["sessionKey"] = order.session_key
    for name, items in (("images", order.images), ("files", order.files)):
        if items:
            given[name] = [
                {"data": item.data, "mimeType": item.mime_type} | ({"filename": item.filename} if item.filename else {})
                for item in items
            ]
    return to_json(given)


def _check_encoding(text: memoryview) -> None:
    """What is passed over is not decoded, and must be text all the same."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(text), _PIECE):
        decoder.decode(text[start : start + _PIECE])
    decoder.decode(b"", final=True)


def _text(given: dict[str, Any], name: str, place: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise UsageError(f"The argument {place}{name} must be a string, not {kind(value)}.")
    return value


def _items(given: dict[str, Any], name: str) -> list[Item]:
    """Nothing at all and null both mean none."""
    value = given.get(name)
    if value is None:
        return []
    if not isinstance(value, List):
        raise UsageError(f"The argument {name} must be a list, not {kind(value)}.")
    return [_item(item, f"{name}[{index}]") for index, item in enumerate(items_of(value))]


def _item(item: Any, place: str) -> Item:
    if not isinstance(item, dict):
        raise UsageError(f"The argument {place} must be an object, not {kind(item)}.")
    for name in ("data", "mimeType"):
        if name not in item:
            raise UsageError(f"The argument {place}.{name} is missing.")
    filename = _text(item, "filename", f"{place}.") if item.get("filename") is not None else ""
    return Item(place, _text(item, "data", f"{place}."), _text(item, "mimeType", f"{place}."), filename)
