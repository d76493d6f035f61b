"""`secret://aws` through boto3 against moto's AWS. boto3 is not in our own environment: each look-up runs in a process that has both."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from parts.cache import python_of
from parts.secret_stores import libraries, moto_server

pytestmark = pytest.mark.real

# Every credential of this machine is out of sight, also the files that AWS's libraries look for.
AWS_ENV = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "made-up-for-this-test",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "PATH": "",
}

FILL = """
import boto3, sys
client = boto3.client("secretsmanager", endpoint_url=sys.argv[1], region_name=sys.argv[2])
for name, value in [("plain", "plain-value"), ("prod/db", '{"user": "me", "password": "db-value", "port": 5432}')]:
    print(client.create_secret(Name=name, SecretString=value)["ARN"])
client.create_secret(Name="bytes", SecretBinary=b"bytes-value")
client.create_secret(Name="doomed", SecretString="x")
client.delete_secret(SecretId="doomed")
"""

RESOLVE = """
import asyncio, json, sys
sys.path.append(sys.argv[1])
from openclaw.config.load import parse_config
from openclaw.errors import SecretError
from openclaw.redact import redact
from openclaw.secrets.resolve import Resolver
import os

async def main():
    resolver = Resolver.of(parse_config(sys.argv[2]), os.environ)

    async def one(reference):
        try:
            value = await resolver.resolve(reference)
        except SecretError as error:
            return str(error)
        return [value, redact(value)]

    return await asyncio.gather(*map(one, sys.argv[3:]))

print(json.dumps(asyncio.run(main())))
"""


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    with moto_server() as address:
        yield address


@pytest.fixture(scope="module")
def arns(aws: str) -> list[str]:
    fill = [python_of("secrets"), "-c", FILL, aws, "eu-central-1"]
    return subprocess.run(fill, env=AWS_ENV, capture_output=True, text=True, check=True, timeout=110).stdout.split()


def resolve(aws: str, *references: str, region: str = "eu-central-1", **env: str) -> list[Any]:
    settings = {"endpointUrl": aws, **({"region": region} if region else {})}
    config = json.dumps({"secrets": {"aws": settings, "timeoutMs": 90_000}})
    argv = [sys.executable, "-c", RESOLVE, libraries(), config, *references]
    done = subprocess.run(argv, env={**AWS_ENV, **env}, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@pytest.mark.requirement("001-FR-5-aws")
@pytest.mark.requirement("001-US-6-schemes")
@pytest.mark.requirement("002-3.6-cli")
def test_secrets_and_their_json_fields_are_read_through_the_library(aws: str, arns: list[str]) -> None:
    found = resolve(
        aws, "secret://aws/plain", "secret://aws/prod/db#password", "secret://aws/prod/db#port", "secret://aws/bytes"
    )
    assert found == [
        ["plain-value", "[REDACTED]"],
        ["db-value", "[REDACTED]"],
        ["5432", "[REDACTED]"],
        ["bytes-value", "[REDACTED]"],
    ]


def test_an_arn_names_its_own_region(aws: str, arns: list[str]) -> None:
    assert resolve(aws, f"secret://aws/{arns[0]}", region="us-east-1") == [["plain-value", "[REDACTED]"]]


def test_the_region_comes_from_the_environment_when_config_names_none(aws: str, arns: list[str]) -> None:
    assert resolve(aws, "secret://aws/plain", region="", AWS_DEFAULT_REGION="eu-central-1") == [
        ["plain-value", "[REDACTED]"]
    ]


def test_what_aws_cannot_give_is_told_with_the_reason(aws: str, arns: list[str]) -> None:
    references = ["secret://aws/none", "secret://aws/doomed", "secret://aws/prod/db#none", "secret://aws/plain#key"]
    assert resolve(aws, *references) == [
        "secret://aws/none cannot be resolved: Secrets Manager has no such secret (ResourceNotFoundException).",
        "secret://aws/doomed cannot be resolved: it is marked for deletion, or has no value (InvalidRequestException).",
        "secret://aws/prod/db#none cannot be resolved: it has no field 'none'. It has: user, password, port.",
        "secret://aws/plain#key cannot be resolved: it is not a JSON object. Leave out the # to take it whole.",
    ]


def test_without_credentials_or_region_the_error_says_which(aws: str, arns: list[str]) -> None:
    nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    assert resolve(aws, "secret://aws/plain", **nobody) + resolve(aws, "secret://aws/plain", region="") == [
        "secret://aws/plain cannot be resolved: there are no credentials for AWS (NoCredentialsError).",
        "secret://aws/plain cannot be resolved: no region is known (NoRegionError).",
    ]
