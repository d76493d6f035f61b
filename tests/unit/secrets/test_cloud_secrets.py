"""Google's and Microsoft's stores against imitations of their REST answers, and all three vendors' command lines against small scripts.

The real libraries and stores that run on a laptop (Vault, AWS) are in tests/real.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openclaw.config.sections import Aws, Gcp, SecretsSection
from openclaw.errors import SecretError
from openclaw.redact import redact
from openclaw.secrets.aws import AwsSecrets
from openclaw.secrets.azure import AzureSecrets
from openclaw.secrets.gcp import GcpSecrets
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.resolve import Resolver
from openclaw.secrets.token import MARGIN, KeptToken, Token
from openclaw.typed_words import quote_word
from parts.cloud_imitations import TOKEN, CloudImitation, imitate_program


@pytest.fixture
async def cloud() -> AsyncIterator[CloudImitation]:
    async with CloudImitation() as cloud:
        yield cloud


async def plain(value: str) -> str:
    return value


def dependencies_of(env: dict[str, str], settings: SecretsSection | None = None) -> ProviderDependencies:
    """No library of a vendor is installed, whatever this environment has."""
    return ProviderDependencies(settings or SecretsSection(), env, Path, plain, 10.0, installed=lambda module: False)


def with_gcp(cloud: CloudImitation, settings: SecretsSection | None = None, **env: str) -> Resolver:
    """A Google machine, as far as the imitation goes."""
    dependencies = dependencies_of({"GCE_METADATA_HOST": f"127.0.0.1:{cloud.port}", **env}, settings)
    return Resolver(SecretsSection(), {}, providers={"gcp": GcpSecrets(dependencies, cloud.url)})


async def failure(secrets: Resolver, reference: str) -> str:
    with pytest.raises(SecretError) as caught:
        await secrets.resolve(reference)
    assert caught.value.message.startswith(f"{reference} cannot be resolved: ")
    return str(caught.value).removeprefix(f"{reference} cannot be resolved: ")


# Google


@pytest.mark.requirement("002-7-secrets")
@pytest.mark.requirement("001-FR-5-gcp")
@pytest.mark.requirement("001-FR-5-gcp-version")
@pytest.mark.requirement("001-US-5-managers")
@pytest.mark.requirement("001-US-6-schemes")
@pytest.mark.requirement("002-3.6-gcp-latest")
async def test_a_google_machine_reads_with_its_service_account(cloud: CloudImitation) -> None:
    cloud.google = {
        ("machine-project", "linkedin-password", "latest"): b"newest-value\n",
        ("machine-project", "linkedin-password", "3"): b"third-value",
        ("other", "shared", "latest"): b"other-value",
    }
    secrets = with_gcp(cloud)
    references = [
        "secret://gcp/linkedin-password",
        "secret://gcp/linkedin-password#3",
        "secret://gcp/projects/other/secrets/shared",
    ]
    found = await asyncio.gather(*(secrets.resolve(reference) for reference in references))
    assert found == ["newest-value", "third-value", "other-value"]
    assert cloud.asked.count("/computeMetadata/v1/instance/service-accounts/default/token") == 1
    assert redact(f"Authorization: {TOKEN}") == "Authorization: [REDACTED]"


@pytest.mark.requirement("002-3.6-gcp-project")
@pytest.mark.parametrize(
    ("settings", "env"),
    [
        (SecretsSection(gcp=Gcp(project="configured")), {"GOOGLE_CLOUD_PROJECT": "from-env"}),
        (SecretsSection(), {"GOOGLE_CLOUD_PROJECT": "configured"}),
    ],
)
async def test_the_project_is_the_configured_one_then_the_environments(
    cloud: CloudImitation, settings: SecretsSection, env: dict[str, str]
) -> None:
    cloud.google = {("configured", "a", "latest"): b"its-value"}
    assert await with_gcp(cloud, settings, **env).resolve("secret://gcp/a") == "its-value"


@pytest.mark.parametrize(
    ("reference", "cause"),
    [
        ("secret://gcp/none", "Secret Manager has no such secret (404). Check the name."),
        (
            "secret://gcp/projects/forbidden/secrets/a",
            "Secret Manager does not let us read it (403). Grant access to this secret, and check its name.",
        ),
        ("secret://gcp/bytes", "it is not text (UTF-8). Store it as text, encoded if need be."),
    ],
)
async def test_googles_refusals_are_told_in_our_words(cloud: CloudImitation, reference: str, cause: str) -> None:
    cloud.google = {("machine-project", "bytes", "latest"): b"\xff"}
    assert await failure(with_gcp(cloud), reference) == cause


async def test_a_refused_token_is_not_used_again(cloud: CloudImitation) -> None:
    cloud.google = {("machine-project", "a", "latest"): b"its-value"}
    cloud.tokens = set()
    secrets = with_gcp(cloud)
    assert await failure(secrets, "secret://gcp/a") == (
        "Secret Manager does not accept our credentials (401). Sign in again, or renew the token."
    )
    cloud.tokens = {TOKEN}
    assert await secrets.resolve("secret://gcp/a") == "its-value"
    assert cloud.asked.count("/computeMetadata/v1/instance/service-accounts/default/token") == 2


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "a b", "-a", "projects/p/secrets/", "projects/P!/secrets/a", "a#-1", "a#1/../2", "a#é"]
)
async def test_what_cannot_be_a_google_secret_is_not_asked_for(cloud: CloudImitation, name: str) -> None:
    assert (await failure(with_gcp(cloud), f"secret://gcp/{name}")).startswith("this is not the name of a secret.")
    assert cloud.asked == []


async def test_what_answers_in_the_metadata_servers_place_is_not_believed(cloud: CloudImitation) -> None:
    cloud.flavor = ""
    assert await failure(with_gcp(cloud), "secret://gcp/a") == (
        "neither the library for Google Cloud nor gcloud is installed. "
        f"Run: {quote_word(sys.executable)} -m pip install google-auth, or install gcloud and sign in."
    )


async def test_a_machine_without_a_service_account_says_so(cloud: CloudImitation) -> None:
    cloud.has_account = False
    assert await failure(with_gcp(cloud), "secret://gcp/a") == (
        f"this machine has no service account. Run: {quote_word(sys.executable)} -m pip install google-auth and sign in."
    )


@pytest.mark.posix_only("scripts that run by their first line")
@pytest.mark.requirement("002-3.6-gcloud")
async def test_gcloud_is_asked_by_its_arguments_alone(tmp_path: Path) -> None:
    record = imitate_program(
        tmp_path / "bin", "gcloud", r"print(base64.urlsafe_b64encode('wert~~~ÿ'.encode()).decode())"
    )
    env = {"PATH": str(tmp_path / "bin"), "CLOUDSDK_CONFIG": "/c", "ANTHROPIC_API_KEY": "not-for-it"}
    dependencies = dependencies_of(env, SecretsSection(gcp=Gcp(project="p-1")))
    assert await GcpSecrets(dependencies).fetch("my-secret#2") == "wert~~~ÿ"
    called = json.loads(record.read_text())
    assert called["argv"] == [
        *("secrets", "versions", "access", "2", "--secret=my-secret"),
        *("--format=get(payload.data)", "--quiet", "--project=p-1"),
    ]
    assert (called["env"].get("CLOUDSDK_CONFIG"), called["env"].get("ANTHROPIC_API_KEY")) == ("/c", None)


@pytest.mark.posix_only("scripts that run by their first line")
async def test_what_gcloud_complains_about_is_passed_on_in_one_line(tmp_path: Path) -> None:
    body = "sys.stderr.write('ERROR: (gcloud) NOT_FOUND: no such \\x1b[31msecret.\\nmore\\n'); sys.exit(1)"
    imitate_program(tmp_path / "bin", "gcloud", body)
    secrets = Resolver(
        SecretsSection(), {}, providers={"gcp": GcpSecrets(dependencies_of({"PATH": str(tmp_path / "bin")}))}
    )
    assert await failure(secrets, "secret://gcp/a") == "gcloud failed (ERROR: (gcloud) NOT_FOUND: no such secret)."


@pytest.mark.posix_only("scripts that run by their first line")
async def test_gcloud_without_a_project_is_told_in_one_sentence_of_ours(tmp_path: Path) -> None:
    words = "ERROR: (gcloud.secrets.versions.access) The required property [project] is not currently set.\\nIt can be set by\\n"
    imitate_program(tmp_path / "bin", "gcloud", f"sys.stderr.write('{words}'); sys.exit(1)")
    secrets = Resolver(
        SecretsSection(), {}, providers={"gcp": GcpSecrets(dependencies_of({"PATH": str(tmp_path / "bin")}))}
    )
    assert await failure(secrets, "secret://gcp/a") == (
        "the project is not known. Set secrets.gcp.project, or write secret://gcp/projects/P/secrets/NAME."
    )


# Microsoft


def with_azure(cloud: CloudImitation, folder: Path, body: str = "") -> tuple[Resolver, Path]:
    body = body or f"print(json.dumps({{'accessToken': {TOKEN!r}, 'expires_on': 4102444800}}))"
    record = imitate_program(folder, "az", body)
    provider = AzureSecrets(dependencies_of({"PATH": str(folder)}), cloud.url)
    return Resolver(SecretsSection(), {}, providers={"azure": provider}), record


@pytest.mark.posix_only("scripts that run by their first line")
async def test_a_key_vault_is_read_with_the_token_of_the_az_command(cloud: CloudImitation, tmp_path: Path) -> None:
    cloud.azure = {("db-password", ""): "newest-value", ("db-password", "abc123"): "older-value"}
    secrets, record = with_azure(cloud, tmp_path / "bin")
    found = [
        await secrets.resolve("secret://azure/my-vault/db-password"),
        await secrets.resolve("secret://azure/my-vault.vault.azure.net/db-password#abc123"),
    ]
    assert found == ["newest-value", "older-value"]
    assert json.loads(record.read_text())["argv"] == [
        *("account", "get-access-token", "--resource=https://vault.azure.net", "--output=json")
    ]


@pytest.mark.parametrize(
    "rest",
    [
        "evil.example/x",
        "vault.azure.net.evil.example/x",
        "a@b/x",
        "my-vault/x/y",
        "my-vault/x#..",
        "127.0.0.1:1/x",
        "ab/x",
    ],
)
async def test_a_token_for_azure_goes_to_vaults_only(cloud: CloudImitation, tmp_path: Path, rest: str) -> None:
    secrets, record = with_azure(cloud, tmp_path / "bin")
    assert (await failure(secrets, f"secret://azure/{rest}")).startswith("this is not a secret of a vault.")
    assert not record.exists()


@pytest.mark.posix_only("scripts that run by their first line")
async def test_azures_refusals_are_told_in_our_words(cloud: CloudImitation, tmp_path: Path) -> None:
    secrets, _ = with_azure(cloud, tmp_path / "a")
    assert await failure(secrets, "secret://azure/my-vault/none") == (
        "the vault my-vault has no such secret (404). Check the name."
    )
    unreadable, _ = with_azure(cloud, tmp_path / "b", "print('Please run az login')")
    assert await failure(unreadable, "secret://azure/my-vault/none") == "az printed something else than a token."


# Amazon


@pytest.mark.posix_only("scripts that run by their first line")
@pytest.mark.requirement("001-FR-5-aws")
@pytest.mark.requirement("002-3.6-cli")
async def test_the_aws_command_is_asked_by_its_arguments_alone(tmp_path: Path) -> None:
    record = imitate_program(
        tmp_path / "bin", "aws", """print(json.dumps({'SecretString': '{"user": "me", "n": 1}'}))"""
    )
    env = {"PATH": str(tmp_path / "bin"), "AWS_PROFILE": "p", "OTHER": "not-for-it"}
    settings = SecretsSection(aws=Aws(region="eu-west-1", endpoint_url="http://127.0.0.1:1"))
    provider = AwsSecrets(dependencies_of(env, settings))
    assert [await provider.fetch("prod/db#user"), await provider.fetch("prod/db#n")] == ["me", "1"]
    called = json.loads(record.read_text())
    assert called["argv"] == [
        *("secretsmanager", "get-secret-value", "--secret-id=prod/db", "--output=json"),
        *("--region=eu-west-1", "--endpoint-url=http://127.0.0.1:1"),
    ]
    assert (called["env"].get("AWS_PROFILE"), called["env"].get("OTHER")) == ("p", None)


@pytest.mark.posix_only("scripts that run by their first line")
async def test_bytes_that_the_aws_command_prints_are_decoded(tmp_path: Path) -> None:
    imitate_program(
        tmp_path / "bin", "aws", "print(json.dumps({'SecretBinary': base64.b64encode(b'as-bytes').decode()}))"
    )
    assert await AwsSecrets(dependencies_of({"PATH": str(tmp_path / "bin")})).fetch("a") == "as-bytes"


@pytest.mark.parametrize("name", ["file:///etc/passwd", "-x", "a b", "a;b", "arn:aws:s3:::bucket"])
async def test_what_cannot_be_an_aws_secret_is_not_asked_for(tmp_path: Path, name: str) -> None:
    record = imitate_program(tmp_path / "bin", "aws", "")
    secrets = Resolver(
        SecretsSection(), {}, providers={"aws": AwsSecrets(dependencies_of({"PATH": str(tmp_path / "bin")}))}
    )
    assert (await failure(secrets, f"secret://aws/{name}")).startswith("this is not the name of a secret.")
    assert not record.exists()


async def test_without_library_and_program_both_are_named() -> None:
    dependencies = dependencies_of({"PATH": ""})
    secrets = Resolver(
        SecretsSection(), {}, providers={"aws": AwsSecrets(dependencies), "azure": AzureSecrets(dependencies)}
    )
    assert await failure(secrets, "secret://aws/a") == (
        "neither the library for AWS nor aws is installed. "
        f"Run: {quote_word(sys.executable)} -m pip install boto3, or install aws and sign in."
    )
    assert await failure(secrets, "secret://azure/my-vault/a") == (
        "neither the library for Azure nor az is installed. "
        f"Run: {quote_word(sys.executable)} -m pip install azure-identity, or install az and sign in."
    )


# Tokens


async def test_a_token_is_obtained_once_for_all_and_again_shortly_before_it_ends() -> None:
    now = 0.0
    obtained = 0

    async def obtain() -> Token:
        nonlocal obtained
        obtained += 1
        await asyncio.sleep(0)
        return Token(f"token-number-{obtained}", 100)

    kept = KeptToken(obtain, clock=lambda: now)
    assert await asyncio.gather(*(kept.get() for _ in range(5))) == ["token-number-1"] * 5
    now = 100 - MARGIN - 1
    assert await kept.get() == "token-number-1"
    now += 1
    assert await kept.get() == "token-number-2"
    kept.forget("token-number-1")
    assert await kept.get() == "token-number-2"
    kept.forget("token-number-2")
    assert await kept.get() == "token-number-3"
