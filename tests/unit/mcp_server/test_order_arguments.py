"""What goes into an order comes out of it, whatever it is."""

import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from openclaw.mcp_server.arguments import Item, Order, read_order, written
from openclaw.mcp_server.conversation import Conversation, Placed
from openclaw.mcp_server.wire import read
from openclaw.protocol.jsonrpc import Notification, Request
from openclaw.sessions.key import session_key

# Any text that is text: no half of a surrogate pair, but everything else.
texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200)
messages = texts.filter(str.strip)


@settings(max_examples=200)
@given(messages, texts, st.booleans())
def test_a_message_and_a_session_key_survive_the_wire_to_the_letter(message: str, key: str, ascii_only: bool) -> None:
    conversation = Conversation()
    conversation.receive(Request("i", "initialize", Raw(b'{"protocolVersion":"2025-11-25"}')))
    params = {"name": "order_openclaw", "arguments": {"message": message, "sessionKey": key}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    line = read(json.dumps(request, ensure_ascii=ascii_only).encode())
    assert isinstance(line, Request | Notification)
    assert conversation.receive(line) == Placed(1, "2025-11-25", Order(message, key))


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
