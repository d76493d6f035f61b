"""`secret://gcp` and `secret://azure` through Google's and Microsoft's own libraries, against imitations of what they talk to.

Neither library is in our own environment: each look-up runs in a process that has both.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from parts.secret_stores import libraries

pytestmark = pytest.mark.real

TESTS = str(Path(__file__).parent.parent)

# Arguments: our tests, the libraries, what the imitation is told, and a reference.
RESOLVE = """
import asyncio, json, os, sys
tests, libraries, plan, reference = sys.argv[1:]
sys.path[:0] = [tests]
sys.path.append(libraries)
from pathlib import Path
from parts.cloud_imitations import TOKEN, CloudImitation
from openclaw.config.sections import SecretsSection
from openclaw.errors import SecretError
from openclaw.secrets.azure import AzureSecrets
from openclaw.secrets.gcp import GcpSecrets
from openclaw.secrets.resolve import Resolver
from openclaw.secrets.provider import ProviderDependencies

async def nothing(value):
    return value

async def main():
    async with CloudImitation() as cloud:
        cloud.google = {("their-project", "a", "latest"): b"google-value"}
        cloud.azure = {("a", ""): "azure-value"}
        cloud.project = "their-project"
        for name, value in json.loads(plan).items():
            value = value.replace("URL", cloud.url).replace("HOST", f"127.0.0.1:{cloud.port}").replace("TOKEN", TOKEN)
            if name == "GOOGLE_APPLICATION_CREDENTIALS":
                file = Path(os.environ["HOME"], "account.json")
                file.write_text(value)
                value = str(file)
            os.environ[name] = value
        dependencies = ProviderDependencies(SecretsSection(), os.environ, Path, nothing, 60.0)
        providers = {"gcp": GcpSecrets(dependencies, cloud.url), "azure": AzureSecrets(dependencies, cloud.url)}
        try:
            value = await Resolver(SecretsSection(timeout_ms=90_000), {}, providers=providers).resolve(reference)
        except SecretError as error:
            value = str(error)
        print(json.dumps([value, cloud.asked]))

asyncio.run(main())
"""


def resolve(home: Path, reference: str, plan: dict[str, str]) -> list[Any]:
    """The value or the error, and what the imitation was asked. No credential of this machine is in sight."""
    done = subprocess.run(
        [sys.executable, "-c", RESOLVE, TESTS, libraries(), json.dumps(plan), reference],
        env={"HOME": str(home), "PATH": "", "NO_GCE_CHECK": "false" if "GCE_METADATA_HOST" in plan else "true"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def service_account() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "their-project",
            "private_key_id": "1",
            "private_key": key.decode(),
            "client_email": "claw@their-project.example",
            "client_id": "1",
            "token_uri": "URL/token",
        }
    )


def test_a_service_account_reads_in_its_own_project(tmp_path: Path) -> None:
    assert resolve(tmp_path, "secret://gcp/a", {"GOOGLE_APPLICATION_CREDENTIALS": service_account()}) == [
        "google-value",
        ["/token", "/v1/projects/their-project/secrets/a/versions/latest:access"],
    ]


def test_the_library_finds_the_service_account_of_a_google_machine(tmp_path: Path) -> None:
    value, asked = resolve(tmp_path, "secret://gcp/a", {"GCE_METADATA_HOST": "HOST", "GCE_METADATA_IP": "HOST"})
    assert value == "google-value"
    assert "/computeMetadata/v1/instance/service-accounts/default/token" in asked


def test_without_google_credentials_the_error_says_how_to_get_some(tmp_path: Path) -> None:
    assert resolve(tmp_path, "secret://gcp/a", {}) == [
        "secret://gcp/a cannot be resolved: there are no credentials for Google Cloud. "
        "Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS.",
        [],
    ]


def test_a_managed_identity_reads_a_key_vault(tmp_path: Path) -> None:
    plan = {"IDENTITY_ENDPOINT": "URL/msi/token", "IDENTITY_HEADER": "TOKEN"}
    assert resolve(tmp_path, "secret://azure/my-vault/a", plan) == ["azure-value", ["/msi/token", "/secrets/a"]]
