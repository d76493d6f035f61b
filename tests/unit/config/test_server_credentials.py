"""Which values that a server is given count as secret."""

from openclaw.config.server_credentials import credentials_of
from openclaw.config.servers import AuthSpec, ServerSpec

ENVIRON = {
    "MY_LICENCE": "lic-4711-0815-abcd",
    "NODE_ENV": "production",
    "REGION": "eu-central-1",
    "DB_PASSWORD": "hunter2",
    "WORK_DIR": "/srv/data/4711",
    "NOT_PASSED": "never-4711-0815-looked-at",
}


def known(spec: ServerSpec) -> set[str]:
    return {value for value in credentials_of(spec, ENVIRON) if value}


def test_variables_that_are_passed_on_are_secret_unless_they_are_ordinary() -> None:
    passed = ("MY_LICENCE", "NODE_ENV", "REGION", "DB_PASSWORD", "WORK_DIR", "UNSET")
    assert known(ServerSpec("a", command="x", pass_env=passed)) == {"lic-4711-0815-abcd", "hunter2"}


def test_values_after_options_that_ask_for_a_credential_are_secret() -> None:
    args = (
        "--api-key",
        "plainvalue",
        "--mode",
        "production",
        "--token=other1",
        "STRIPE_KEY=abc123",
        "--port",
        "8080",
        "go",
    )
    assert known(ServerSpec("a", command="x", args=args)) == {"plainvalue", "other1", "--token=other1", "abc123"}


def test_variables_and_headers_with_a_telling_name_are_secret_and_so_is_the_word_behind_the_scheme() -> None:
    spec = ServerSpec(
        "a",
        url="https://api.example",
        env=(("STRIPE_KEY", "abc123"), ("MODE", "some-mode-4711"), ("API_TOKEN", "production")),
        headers=(("Authorization", "Bearer qwertz"), ("X-Tenant", "tenant-4711-0815"), ("Accept", "text/x-4711-0815")),
        api_key="key-of-mine",
        auth=AuthSpec(client_secret="client-secret"),
    )
    assert known(spec) == {
        *("abc123", "qwertz", "Bearer qwertz", "tenant-4711-0815", "key-of-mine", "client-secret"),
    }


def test_the_credentials_in_an_address_are_secret_and_its_host_is_not() -> None:
    url = (
        "https://me:pass%2Fword@api.example/mcp/AbCdEf0123456789AbCdEf0123456789ab?key=k1234&page=2&access_token=t5678"
    )
    assert known(ServerSpec("a", url=url)) == {
        *("pass/word", "AbCdEf0123456789AbCdEf0123456789ab", "k1234", "t5678"),
    }
