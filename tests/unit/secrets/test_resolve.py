"""The resolver over small providers of the test's own: one look-up for many callers, deadlines, the cache, and what errors say."""

import asyncio
import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from openclaw.config.entry import SecretRef
from openclaw.config.load import parse_config
from openclaw.config.sections import SecretProviderEntry, SecretsSection
from openclaw.config.servers import AuthSpec, ServerSpec
from openclaw.errors import SecretError
from openclaw.mcp.connect import resolved
from openclaw.redact import MASK, mask, redact, remember, retire
from openclaw.secrets.provider import SecretProvider
from openclaw.secrets.resolve import CACHE_SECONDS, Resolver


class Slow:
    """Answers `value of NAME` once the test lets it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.cancelled: list[str] = []
        self.go = asyncio.Event()
        self.begun = asyncio.Event()

    async def fetch(self, rest: str) -> str:
        self.asked.append(rest)
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(rest)
            raise
        return f"value of {rest}"


class Fails:
    def __init__(self, error: Callable[[], Exception]) -> None:
        self.error = error

    async def fetch(self, rest: str) -> str:
        raise self.error()


def resolver(
    provider: SecretProvider, *, settings: SecretsSection | None = None, clock: Callable[[], float] = lambda: 0.0
) -> Resolver:
    return Resolver(settings or SecretsSection(), {}, providers={"gcp": provider}, clock=clock)


async def test_plain_text_comes_back_unchanged_and_asks_nobody() -> None:
    slow = Slow()
    assert await resolver(slow).resolve("https://example.com/${NOT_OURS}") == "https://example.com/${NOT_OURS}"
    assert slow.asked == []


async def test_a_reference_inside_a_header_is_replaced() -> None:
    slow = Slow()
    slow.go.set()
    assert await resolver(slow).resolve("Bearer secret://gcp/a") == "Bearer value of a"


async def test_many_callers_of_one_reference_share_one_look_up() -> None:
    slow = Slow()
    secrets = resolver(slow)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(secrets.resolve("secret://gcp/a")) for _ in range(20)]
        await slow.begun.wait()
        slow.go.set()
    assert ([task.result() for task in tasks], slow.asked) == (["value of a"] * 20, ["a"])


async def test_a_caller_that_leaves_takes_nothing_from_the_others() -> None:
    slow = Slow()
    secrets = resolver(slow)
    leaving = asyncio.create_task(secrets.resolve("secret://gcp/a"))
    staying = asyncio.create_task(secrets.resolve("secret://gcp/a"))
    await slow.begun.wait()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    slow.go.set()
    assert (await staying, slow.asked) == ("value of a", ["a"])


async def test_a_look_up_that_nobody_waits_for_ends_and_the_next_caller_starts_afresh() -> None:
    slow = Slow()
    secrets = resolver(slow)
    only = asyncio.create_task(secrets.resolve("secret://gcp/a"))
    await slow.begun.wait()
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    slow.go.set()
    assert await secrets.resolve("secret://gcp/a") == "value of a"
    assert (slow.asked, slow.cancelled) == (["a", "a"], ["a"])


async def test_a_value_is_kept_for_seconds_and_then_asked_for_again() -> None:
    slow = Slow()
    slow.go.set()
    now = 100.0
    secrets = resolver(slow, clock=lambda: now)
    await secrets.resolve("secret://gcp/a")
    now += CACHE_SECONDS - 0.1
    await secrets.resolve("secret://gcp/a")
    assert slow.asked == ["a"]
    now += 0.2
    await secrets.resolve("secret://gcp/a")
    assert slow.asked == ["a", "a"]


class Renewing:
    """Makes a new value for each who asks for `new`, and always the same for others."""

    def __init__(self) -> None:
        self.count = 0

    async def fetch(self, rest: str) -> str:
        self.count += 1
        return f"value-{self.count:05d}-of-the-store" if rest == "new" else "value-00001-of-the-store"


def replace_many() -> None:
    """So many others that one which was replaced before them makes room."""
    for number in range(1_100):
        remember(f"another-{number:05d}-of-many")
        retire(f"another-{number:05d}-of-many")


async def test_of_the_values_a_reference_had_the_last_is_masked_for_ever_and_the_others_make_room() -> None:
    now = 0.0
    secrets = resolver(Renewing(), clock=lambda: now)
    first = await secrets.resolve("key-4711-secret://gcp/new")
    now += CACHE_SECONDS + 1
    last = await secrets.resolve("key-4711-secret://gcp/new")
    assert [mask(first), mask(last)] == [MASK, MASK]
    replace_many()
    assert [mask(first), mask(last)] == [first, MASK]


async def test_a_former_value_that_another_reference_still_has_is_masked_for_ever() -> None:
    now = 0.0
    secrets = resolver(Renewing(), clock=lambda: now)
    first = await secrets.resolve("secret://gcp/new")
    assert await secrets.resolve("secret://gcp/same") == first
    now += CACHE_SECONDS + 1
    assert await secrets.resolve("secret://gcp/new") != first
    replace_many()
    assert redact(first) == MASK


async def test_a_failure_is_not_kept() -> None:
    attempts = iter([SecretError("the store is asleep"), None])

    class Wakes:
        async def fetch(self, rest: str) -> str:
            error = next(attempts)
            if error:
                raise error
            return "awake now"

    secrets = resolver(Wakes())
    with pytest.raises(SecretError):
        await secrets.resolve("secret://gcp/a")
    assert await secrets.resolve("secret://gcp/a") == "awake now"


async def test_a_reference_that_is_not_answered_fails_at_its_deadline() -> None:
    with pytest.raises(SecretError) as caught:
        await resolver(Slow(), settings=SecretsSection(timeout_ms=20)).resolve("secret://gcp/a")
    assert str(caught.value) == "secret://gcp/a cannot be resolved: there was no answer within 0.02 s."


async def test_a_configured_provider_has_a_deadline_of_its_own() -> None:
    settings = SecretsSection(timeout_ms=600_000, providers={"op": SecretProviderEntry(source="exec", timeout_ms=20)})
    secrets = Resolver(settings, {}, providers={"exec": Slow(), "ref": Slow()})
    for reference in ("secret://exec/op/a", SecretRef(source="exec", id="a", provider="op")):
        with pytest.raises(SecretError, match=r"no answer within 0\.02 s"):
            await secrets.resolve(reference)


@pytest.mark.requirement("001-FR-5-error")
async def test_an_error_names_the_reference_and_the_cause() -> None:
    failing = Fails(lambda: SecretError("the store is asleep.", hint="Wake it."))
    with pytest.raises(SecretError) as caught:
        await resolver(failing).resolve("secret://gcp/a#2")
    assert str(caught.value) == "secret://gcp/a#2 cannot be resolved: the store is asleep. Wake it."


@pytest.mark.requirement("001-FR-5-error")
async def test_an_error_of_a_library_is_named_by_its_kind_and_not_quoted() -> None:
    failing = Fails(lambda: ValueError("cannot parse hunter2hunter2"))
    with pytest.raises(SecretError) as caught:
        await resolver(failing).resolve("secret://gcp/a")
    assert str(caught.value) == "secret://gcp/a cannot be resolved: ValueError in the provider."
    assert caught.value.__cause__ is None


@pytest.mark.requirement("002-3.6-gcp-empty")
async def test_an_empty_secret_is_an_error() -> None:
    class Empty:
        async def fetch(self, rest: str) -> str:
            return "\n"

    with pytest.raises(SecretError) as caught:
        await resolver(Empty()).resolve("secret://gcp/a")
    assert str(caught.value) == "secret://gcp/a cannot be resolved: it is empty."


@pytest.mark.requirement("001-US-5-gcp-preferred")
async def test_no_provider_stands_in_for_another() -> None:
    slow = Slow()
    slow.go.set()
    secrets = Resolver(
        SecretsSection(),
        {"a": "from the environment"},
        providers={"gcp": Fails(lambda: SecretError("gone")), "aws": slow},
    )
    with pytest.raises(SecretError, match="secret://gcp/a cannot be resolved: gone"):
        await secrets.resolve("secret://gcp/a")
    assert slow.asked == []


@pytest.mark.requirement("001-FR-5-redacted")
@pytest.mark.requirement("001-US-6-redacted")
async def test_a_resolved_value_is_redacted_in_clear_base64_and_url_form() -> None:
    value = "p@ss/word+of=the?day"
    assert await Resolver(SecretsSection(), {"DAY": value}).resolve("secret://env/DAY") == value
    forms = [value, base64.b64encode(value.encode()).decode(), quote(value, safe=""), json.dumps(value)[1:-1]]
    assert [redact(f"<{form}>") for form in forms] == [
        "<[REDACTED]>",
        # The last characters of Base64 also hold the padding, which is nobody's secret.
        f"<[REDACTED]{forms[1][len(value) * 8 // 6 :]}>",
        "<[REDACTED]>",
        "<[REDACTED]>",
    ]


SPEC = ServerSpec(
    name="s",
    args=("--key", "secret://gcp/arg"),
    env=(("A", "secret://gcp/env"), ("B", "plain")),
    headers=(("Authorization", "Bearer secret://gcp/header"),),
    url="secret://gcp/url",
    api_key="secret://gcp/key",
    auth=AuthSpec(client_id="id", client_secret="secret://gcp/client"),
)


@pytest.mark.requirement("000-14.9-managers")
@pytest.mark.requirement("002-3.1-secret-values")
@pytest.mark.requirement("002-3.6-parallel")
async def test_every_reference_of_a_server_is_looked_up_at_the_same_time() -> None:
    slow = Slow()

    class All(Slow):
        async def fetch(self, rest: str) -> str:
            slow.asked.append(rest)
            if len(slow.asked) == 6:
                slow.go.set()
            await slow.go.wait()
            return f"value of {rest}"

    assert await resolved(SPEC, resolver(All()).resolve) == replace(
        SPEC,
        args=("--key", "value of arg"),
        env=(("A", "value of env"), ("B", "plain")),
        headers=(("Authorization", "Bearer value of header"),),
        url="value of url",
        api_key="value of key",
        auth=AuthSpec(client_id="id", client_secret="value of client"),
    )


async def test_a_server_with_one_unresolvable_reference_fails_as_a_whole() -> None:
    class OneMissing:
        async def fetch(self, rest: str) -> str:
            if rest == "header":
                raise SecretError("there is no such secret")
            return "value"

    with pytest.raises(SecretError) as caught:
        await resolved(SPEC, resolver(OneMissing()).resolve)
    assert str(caught.value) == "secret://gcp/header cannot be resolved: there is no such secret."


async def test_objects_of_a_config_resolve_as_references_do() -> None:
    config = parse_config('{mcp: {servers: {a: {command: "x", env: {K: {source: "env", id: "TOKEN"}}}}}}')
    entry = config.root.mcp.servers["a"]
    secrets = Resolver.of(config, {"TOKEN": "hidden-value"})
    assert await secrets.resolve(entry.env["K"]) == "hidden-value"  # type: ignore[arg-type]
