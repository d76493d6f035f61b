"""The arguments of `order_openclaw`, checked one by one: every fault is a sentence that names the argument and says what it should be.

Owns the shape of an order. What the attachments hold is `inbound.py`'s business. Light to import: it is needed before the agent is loaded.
"""

from typing import Any

import msgspec
from msgspec import Raw

from openclaw.errors import UsageError

_KINDS = {str: "a string", dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number"}


class Item(msgspec.Struct):
    """One attachment as it was sent: `place` names it in messages, `data` is Base64. Whoever decodes it may empty `data`."""

    place: str
    data: str
    mime_type: str
    filename: str = ""


class Order(msgspec.Struct):
    """`session_key` is empty when the caller named no conversation, or named it with an empty word."""

    message: str
    session_key: str = ""
    images: list[Item] = msgspec.field(default_factory=list)
    files: list[Item] = msgspec.field(default_factory=list)


def read_order(arguments: Raw) -> Order:
    """Raises UsageError for what an order cannot be, and msgspec's errors for what is not JSON."""
    given: Any = msgspec.json.decode(arguments) if bytes(memoryview(arguments)[:1]) else {}
    if not isinstance(given, dict):
        raise UsageError(f"The arguments must be an object, not {_kind(given)}.")
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
    return msgspec.json.encode(given)


def _text(given: dict[str, Any], name: str, place: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise UsageError(f"The argument {place}{name} must be a string, not {_kind(value)}.")
    return value


def _items(given: dict[str, Any], name: str) -> list[Item]:
    """Nothing at all and null both mean none."""
    value = given.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise UsageError(f"The argument {name} must be a list, not {_kind(value)}.")
    return [_item(item, f"{name}[{index}]") for index, item in enumerate(value)]


def _item(item: Any, place: str) -> Item:
    if not isinstance(item, dict):
        raise UsageError(f"The argument {place} must be an object, not {_kind(item)}.")
    for name in ("data", "mimeType"):
        if name not in item:
            raise UsageError(f"The argument {place}.{name} is missing.")
    filename = _text(item, "filename", f"{place}.") if item.get("filename") is not None else ""
    return Item(place, _text(item, "data", f"{place}."), _text(item, "mimeType", f"{place}."), filename)


def _kind(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value), "something else")
