"""What takes as long as a vendor's program may take."""

from pathlib import Path

import pytest

from openclaw.config.sections import SecretsSection
from openclaw.errors import SecretError
from openclaw.secrets.gcp import GcpSecrets
from openclaw.secrets.provider import ProviderDependencies
from parts.cloud_imitations import imitate_program

pytestmark = pytest.mark.full


async def plain(value: str) -> str:
    return value


@pytest.mark.requirement("002-3.6-gcloud-time")
async def test_gcloud_is_given_ten_seconds(tmp_path: Path) -> None:
    imitate_program(tmp_path / "bin", "gcloud", "import time; time.sleep(600)")
    dependencies = ProviderDependencies(
        SecretsSection(), {"PATH": str(tmp_path / "bin")}, Path, plain, 60.0, installed=lambda module: False
    )
    with pytest.raises(SecretError, match="gcloud did not answer within 10 s"):
        await GcpSecrets(dependencies).fetch("my-secret")
