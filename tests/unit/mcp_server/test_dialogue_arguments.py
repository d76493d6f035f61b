"""What goes into an order comes out of it, whatever it is."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from openclaw.errors import MediaError
from openclaw.mcp_server.attachments import check_counts
from openclaw.mcp_server.dialogue import Dialogue, Placed
from openclaw.mcp_server.order import MOST_COUNTED, Item, Order, read_order, written
from openclaw.mcp_server.order_tool import ORDERS
from openclaw.protocol.jsonrpc import Notification, Request
from openclaw.protocol.strict_lines import read
from openclaw.sessions.key import session_key

# Any text that is text: no half of a surrogate pair, but everything else.
texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200)
messages = texts.filter(str.strip)


@settings(max_examples=200)
@given(messages, texts, st.booleans())
def test_a_message_and_a_session_key_survive_the_wire_to_the_letter(message: str, key: str, ascii_only: bool) -> None:
    dialogue = Dialogue(ORDERS)
    dialogue.receive(Request("i", "initialize", Raw(b'{"protocolVersion":"2025-11-25"}')))
    params = {"name": "order_openclaw", "arguments": {"message": message, "sessionKey": key}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    line = read(json.dumps(request, ensure_ascii=ascii_only).encode())
    assert isinstance(line, Request | Notification)
    assert dialogue.receive(line) == Placed(1, "2025-11-25", Order(message, key))


items = st.builds(Item, st.just("x"), texts, texts, texts)


@settings(max_examples=200)
@given(messages, texts, st.lists(items, max_size=3), st.lists(items, max_size=3))
def test_an_order_that_is_written_is_read_as_the_same_order(
    message: str, key: str, images: list[Item], files: list[Item]
) -> None:
    def placed(given: list[Item], name: str) -> list[Item]:
        return [msgspec.structs.replace(item, place=f"{name}[{index}]") for index, item in enumerate(given)]

    order = Order(message, key, placed(images, "images"), placed(files, "files"))
    assert read_order(Raw(written(order))) == order


@settings(max_examples=200)
@given(texts, texts)
def test_two_session_keys_never_mean_one_conversation(one: str, other: str) -> None:
    keys = [session_key("main", key, "mcp") for key in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
    assert all(key.startswith("agent:main:mcp:") for key in keys)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=200)
@given(values, st.booleans())
def test_arguments_and_members_nobody_knows_change_nothing(value: Any, ascii_only: bool) -> None:
    item = {"unknown": value, "data": "aa", "mimeType": "image/png", "more": value}
    arguments = {"unknown": value, "message": "m", "images": [item], "more": value}
    order = Order("m", images=[Item("images[0]", "aa", "image/png")])
    assert read_order(Raw(json.dumps(arguments, ensure_ascii=ascii_only).encode())) == order


@pytest.mark.parametrize("length", range((1 << 16) - 30, (1 << 16) - 10))
def test_a_character_may_stand_anywhere_in_a_long_message(length: int) -> None:
    message = "x" * length + "\N{PARTY POPPER}"
    assert read_order(Raw(written(Order(message)))) == Order(message)


@pytest.mark.parametrize(
    ("sent", "count"),
    [(MOST_COUNTED, "100"), (MOST_COUNTED + 1, "more than 100"), (10 * MOST_COUNTED, "more than 100")],
)
def test_images_are_counted_up_to_a_hundred(sent: int, count: str) -> None:
    arguments = {"message": "m", "images": [{"data": "aa", "mimeType": "image/png"}] * sent}
    with pytest.raises(MediaError) as refused:
        check_counts(read_order(Raw(json.dumps(arguments).encode())))
    assert str(refused.value) == f"There are {count} images; 10 are the most. Send the rest in another order."
