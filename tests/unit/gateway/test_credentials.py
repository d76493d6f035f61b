"""The token of the HTTP port, wherever it comes from."""

from pathlib import Path

import pytest

from openclaw.config.load import parse_config
from openclaw.errors import ConfigError, OpenClawError, StoreError
from openclaw.gateway.credentials import kept_token, rules_of
from openclaw.gateway.guard import GuardRules
from openclaw.redact import redact
from parts.modes import PRIVATE_FILE


async def rules(text: str, file: Path, **env: str) -> GuardRules:
    return await rules_of(parse_config(text, env=env), env, file)


async def test_a_token_is_made_at_the_first_start_and_kept_for_us_alone(tmp_path: Path) -> None:
    file = tmp_path / "py" / "gateway.token"
    first, second = await rules("{}", file), await rules("{}", file)

    assert first == second == GuardRules((file.read_text().strip(),))
    assert len(first.tokens[0]) >= 32
    assert file.stat().st_mode & 0o777 == PRIVATE_FILE
    assert first.tokens[0] not in redact(f"token {first.tokens[0]}")


@pytest.mark.posix_only("modes of files")
async def test_a_token_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    file = tmp_path / "gateway.token"
    file.write_text("some-old-token\n")
    file.chmod(0o644)

    assert kept_token(file) == "some-old-token"
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "\n", "short\n"])
async def test_a_file_without_a_token_gets_one(tmp_path: Path, content: str) -> None:
    file = tmp_path / "gateway.token"
    file.write_text(content)
    assert len(kept_token(file)) >= 32


async def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "gateway.token"
    file.write_bytes(b"\xff\xfe\xff\xfe\xff")
    with pytest.raises(StoreError, match="token file"):
        kept_token(file)


async def test_the_config_goes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gateway.token"
    file.write_text("from-the-file")
    configured = '{gateway: {auth: {token: "${TOKEN}", password: "pass-phrase"}, allowedHosts: ["Claw.example:80"]}}'

    assert (
        await rules(configured, file, TOKEN="from-the-config", OPENCLAW_GATEWAY_TOKEN="from-the-env")
    ) == GuardRules(("from-the-config", "pass-phrase"), hosts=frozenset({"claw.example"}))
    assert (await rules("{}", file, OPENCLAW_GATEWAY_TOKEN="from-the-env")).tokens == ("from-the-env",)
    assert (await rules("{}", file)).tokens == ("from-the-file",)


async def test_a_secret_reference_is_resolved(tmp_path: Path) -> None:
    text = '{gateway: {auth: {token: "secret://env/MY_TOKEN"}}}'
    assert (await rules(text, tmp_path / "t", MY_TOKEN="from-a-secret")).tokens == ("from-a-secret",)


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ('{gateway: {auth: {token: ""}}}', {}),
        ('{gateway: {auth: {token: "short"}}}', {}),
        ('{gateway: {auth: {token: "with a space in it"}}}', {}),
        ('{gateway: {auth: {token: "${NOT_SET}"}}}', {}),
        ('{gateway: {auth: {token: "secret://env/NOT_SET"}}}', {}),
        ("{}", {"OPENCLAW_GATEWAY_TOKEN": "short"}),
    ],
)
async def test_a_token_that_cannot_be_used_stops_the_start(tmp_path: Path, text: str, env: dict[str, str]) -> None:
    with pytest.raises(OpenClawError) as caught:
        await rules(text, tmp_path / "t", **env)
    assert not isinstance(caught.value, StoreError)
    assert "short" not in str(caught.value)


async def test_a_page_without_a_name_is_never_welcome(tmp_path: Path) -> None:
    text = '{gateway: {allowedOrigins: ["null", "https://app.example"]}}'
    assert (await rules(text, tmp_path / "t")).origins == frozenset({"https://app.example"})


@pytest.mark.parametrize(
    ("mode", "tokens"),
    [
        ("", {"token-4711", "password-4711"}),
        ("mode: 'token',", {"token-4711"}),
        ("mode: 'password',", {"password-4711"}),
    ],
)
async def test_the_mode_says_what_is_taken(tmp_path: Path, mode: str, tokens: set[str]) -> None:
    text = f"{{gateway: {{auth: {{{mode} token: 'token-4711', password: 'password-4711'}}}}}}"
    rules = await rules_of(parse_config(text), {}, tmp_path / "token")
    assert set(rules.tokens) == tokens


async def test_a_password_that_is_asked_for_and_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"The mode is password, and gateway\.auth\.password says none"):
        await rules_of(
            parse_config("{gateway: {auth: {mode: 'password', token: 'token-4711'}}}"), {}, tmp_path / "token"
        )


@pytest.mark.parametrize("mode", ["none", "trusted-proxy"])
def test_a_gateway_without_a_token_is_refused(mode: str) -> None:
    with pytest.raises(ConfigError, match=r'gateway\.auth\.mode: expected "password" or "token"'):
        parse_config(f"{{gateway: {{auth: {{mode: '{mode}'}}}}}}")
