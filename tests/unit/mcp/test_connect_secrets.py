"""The secret references of a spec, just before it is connected to."""

import asyncio

import pytest
from msgspec.structs import replace

from openclaw.config.servers import AuthSpec, ServerSpec
from openclaw.errors import SecretError
from openclaw.mcp.connect import resolved
from openclaw.redact import redact

SPEC = ServerSpec(
    "shop",
    transport="streamable-http",
    args=("--key", "secret://x/arg"),
    env=(("A", "secret://x/env"), ("B", "plain")),
    headers=(("Authorization", "Bearer secret://x/header"),),
    url="https://shop.example/?key=secret://x/url",
    api_key="secret://x/key",
    auth=AuthSpec(client_id="id", client_secret="secret://x/client", scopes=("read", "secret://x/scope")),
)


@pytest.mark.requirement("002-3.6-parallel")
async def test_every_reference_of_a_spec_is_looked_up_at_the_same_time() -> None:
    asked: list[str] = []
    all_asked = asyncio.Event()

    async def resolve(text: str) -> str:
        asked.append(text)
        if len(asked) == 7:
            all_asked.set()
        await all_asked.wait()
        return text.replace("secret://x/", "value-of-")

    assert await resolved(SPEC, resolve) == replace(
        SPEC,
        args=("--key", "value-of-arg"),
        env=(("A", "value-of-env"), ("B", "plain")),
        headers=(("Authorization", "Bearer value-of-header"),),
        url="https://shop.example/?key=value-of-url",
        api_key="value-of-key",
        auth=AuthSpec(client_id="id", client_secret="value-of-client", scopes=("read", "value-of-scope")),
    )
    assert redact("it said value-of-client") == "it said [REDACTED]"


async def test_a_reference_that_stands_twice_is_looked_up_once() -> None:
    asked: list[str] = []

    async def resolve(text: str) -> str:
        asked.append(text)
        return "one and the same value"

    spec = ServerSpec("shop", command="shop", env=(("A", "secret://x/y"), ("B", "secret://x/y")))
    assert dict((await resolved(spec, resolve)).env) == dict.fromkeys("AB", "one and the same value")
    assert asked == ["secret://x/y"]


async def test_no_look_up_is_left_behind_by_another_that_fails() -> None:
    ended: list[str] = []
    failed = asyncio.Event()

    async def resolve(text: str) -> str:
        if text == "secret://x/env":
            failed.set()
            raise SecretError("There is no such secret.")
        await failed.wait()
        await asyncio.sleep(0)
        ended.append(text)
        return "found"

    with pytest.raises(SecretError, match="no such secret"):
        await resolved(SPEC, resolve)
    assert len(ended) == 6


async def test_plain_credentials_are_known_to_the_log_from_then_on() -> None:
    async def resolve(text: str) -> str:
        raise AssertionError(text)

    spec = ServerSpec("shop", command="shop", env=(("SHOP_PASSWORD", "open sesame, said Ali"), ("COLOUR", "green")))
    assert await resolved(spec, resolve) == spec
    assert redact("open sesame, said Ali: green") == "[REDACTED]: green"
