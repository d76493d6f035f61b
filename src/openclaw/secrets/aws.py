"""`secret://aws/NAME[#JSON_KEY]`: AWS Secrets Manager, through boto3 (the extra `aws`) or else the `aws` command line.

Owns no credentials: region, profile and role are found as AWS's own programs find them, unless `secrets.aws` names them. NAME may be an
ARN, whose region then counts. With a key, the secret is a JSON object and the value one of its fields.
"""

import base64
import json
import re
import threading
from typing import Any

from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import SecretError
from openclaw.secrets.helper_program import ask_vendor, find_vendor, missing, text_of
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import member, split_fragment

_NAME = re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}")
_ARN = re.compile(r"arn:[a-z0-9-]+:secretsmanager:([a-z0-9-]+):[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]{1,512}")
# Seconds for each connection and answer: two attempts fit into the default deadline.
_ATTEMPT_SECONDS = 4
_ATTEMPTS = 2

_CAUSES = {
    "ResourceNotFoundException": "Secrets Manager has no such secret",
    "AccessDeniedException": "Secrets Manager does not let us read it",
    "DecryptionFailure": "the key that encrypts it cannot be used",
    "UnrecognizedClientException": "AWS does not accept our credentials",
    "InvalidSignatureException": "AWS does not accept our credentials",
    "ExpiredTokenException": "our credentials for AWS have expired",
    "InvalidRequestException": "it is marked for deletion, or has no value",
    "NoCredentialsError": "there are no credentials for AWS",
    "NoRegionError": "no region is known",
    "ProfileNotFound": "there is no such profile",
    "EndpointConnectionError": "Secrets Manager cannot be reached",
}


class AwsSecrets:
    def __init__(self, dependencies: ProviderDependencies) -> None:
        self._dependencies = dependencies
        self._clients: dict[str, Any] = {}
        self._making = threading.Lock()

    async def fetch(self, rest: str) -> str:
        name, key = split_fragment(rest)
        arn = _ARN.fullmatch(name)
        if arn is None and (not _NAME.fullmatch(name) or name.startswith("-")):
            raise SecretError(
                "this is not the name of a secret", hint="Write secret://aws/NAME, or an ARN in place of NAME."
            )
        region = arn[1] if arn else self._dependencies.settings.aws.region or ""
        if self._dependencies.installed("boto3"):
            answer = await in_daemon_thread(lambda: self._library(name, region))
        else:
            answer = await self._program(name, region)
        text = _text(answer)
        return _field(text, key) if key else text

    def _library(self, name: str, region: str) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer: dict[str, Any] = self._client(region).get_secret_value(SecretId=name)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            raise SecretError(_cause(code)) from None
        except BotoCoreError as error:
            raise SecretError(_cause(type(error).__name__)) from None
        return answer

    def _client(self, region: str) -> Any:
        """One client a region, for all threads: making one reads megabytes of descriptions."""
        from boto3.session import Session
        from botocore.config import Config

        settings = self._dependencies.settings.aws
        with self._making:
            if region not in self._clients:
                session = Session(profile_name=settings.profile, region_name=region or None)
                options = Config(
                    connect_timeout=_ATTEMPT_SECONDS,
                    read_timeout=_ATTEMPT_SECONDS,
                    retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
                )
                self._clients[region] = session.client(
                    "secretsmanager", endpoint_url=settings.endpoint_url, config=options
                )
            return self._clients[region]

    async def _program(self, name: str, region: str) -> dict[str, Any]:
        program = find_vendor("aws", self._dependencies)
        if not program:
            raise missing("aws", "boto3", "AWS")
        settings = self._dependencies.settings.aws
        options = {"region": region, "profile": settings.profile, "endpoint-url": settings.endpoint_url}
        argv = [program, "secretsmanager", "get-secret-value", f"--secret-id={name}", "--output=json"]
        argv += [f"--{option}={value}" for option, value in options.items() if value]
        printed = await ask_vendor(argv, self._dependencies, "AWS_")
        try:
            answer = json.loads(printed)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise SecretError("aws printed something else than a secret")
        # On the command line bytes are written as Base64; the library decodes them.
        if isinstance(answer.get("SecretBinary"), str):
            answer["SecretBinary"] = base64.b64decode(answer["SecretBinary"])
        return answer


def _text(answer: dict[str, Any]) -> str:
    text, data = answer.get("SecretString"), answer.get("SecretBinary")
    if isinstance(text, str):
        return text
    if isinstance(data, bytes):
        return text_of(data)
    raise SecretError("it has no value")


def _field(text: str, key: str) -> str:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise SecretError("it is not a JSON object", hint="Leave out the # to take it whole.")
    return member(document, key)


def _cause(code: str) -> str:
    words = _CAUSES.get(code)
    shown = code if code.isidentifier() else "unknown error"
    return f"{words} ({shown})" if words else f"AWS answered {shown}"
