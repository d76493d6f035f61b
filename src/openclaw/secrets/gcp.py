"""`secret://gcp/NAME[#VERSION]` and `secret://gcp/projects/P/secrets/NAME[#VERSION]`: Google Secret Manager.

Owns who we are there and which project is meant. With the extra `gcp` it is whoever Application Default Credentials say; without it the
`gcloud` command line is asked; without that the metadata server of a Google machine. The secret itself is one REST call.
"""

import base64
import binascii
import re

from openclaw.errors import OpenClawError, SecretError
from openclaw.libraries import install
from openclaw.secrets.google_token import default_token
from openclaw.secrets.helper_program import ask_vendor, find_vendor, missing, text_of
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.reference import split_fragment
from openclaw.secrets.rest import StoreAnswer, StoreApi, explain
from openclaw.secrets.token import KeptToken, Token
from openclaw.security.egress import Rules

_API = "https://secretmanager.googleapis.com"
_METADATA = "metadata.google.internal"
_FLAVOR = {"Metadata-Flavor": "Google"}
# Seconds: on a Google machine the metadata server is next door, elsewhere nobody answers.
_METADATA_SECONDS = 2.0
# It has a link-local address and speaks plain http; GCE_METADATA_HOST may put it on this machine.
_METADATA_RULES = Rules(allow_loopback=True, allow_link_local=True, allow_plain_http=True)

_PROJECT = re.compile(r"[a-z0-9][a-z0-9.:-]{0,99}")
_SECRET = re.compile(rf"(?:projects/({_PROJECT.pattern})/secrets/)?([A-Za-z0-9_][A-Za-z0-9_-]{{0,254}})")
_VERSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}")
_PLACE = "Secret Manager"
_STANDARD_ALPHABET = str.maketrans("-_", "+/")


class GcpSecrets:
    def __init__(self, dependencies: ProviderDependencies, api: str = _API) -> None:
        self._dependencies = dependencies
        self._api = api
        self._endpoint = StoreApi(dependencies.env, dependencies.timeout)
        self._metadata = StoreApi(dependencies.env, _METADATA_SECONDS, rules=_METADATA_RULES, proxied=False)
        self._token = KeptToken(self._sign_in)
        # The project that the credentials belong to, known once there is a token.
        self._own_project = ""

    async def fetch(self, rest: str) -> str:
        path, version = split_fragment(rest)
        found = _SECRET.fullmatch(path)
        version = version or "latest"
        if found is None or not _VERSION.fullmatch(version):
            raise SecretError(
                "this is not the name of a secret",
                hint="Write secret://gcp/NAME#VERSION or secret://gcp/projects/PROJECT/secrets/NAME#VERSION.",
            )
        project, name = found[1] or self._configured_project(), found[2]
        if not self._dependencies.installed("google.auth") and (program := find_vendor("gcloud", self._dependencies)):
            return await self._ask_gcloud(program, project, name, version)
        token = await self._token.get()
        project = project or self._own_project
        if not project:
            raise _no_project()
        url = f"{self._api}/v1/projects/{project}/secrets/{name}/versions/{version}:access"
        answer = await self._endpoint.call("GET", url, {"Authorization": f"Bearer {token}"})
        if answer.status == 401:
            self._token.forget(token)
        if answer.status != 200:
            raise explain(answer, _PLACE)
        payload = answer.data.get("payload")
        return _decoded(payload.get("data") if isinstance(payload, dict) else None)

    def _configured_project(self) -> str:
        env = self._dependencies.env
        return (
            self._dependencies.settings.gcp.project
            or env.get("GOOGLE_CLOUD_PROJECT")
            or env.get("GCLOUD_PROJECT")
            or ""
        )

    async def _ask_gcloud(self, program: str, project: str, name: str, version: str) -> str:
        argv = [program, "secrets", "versions", "access", version, f"--secret={name}", "--format=get(payload.data)"]
        argv += ["--quiet", *([f"--project={project}"] if project else [])]
        try:
            printed = await ask_vendor(argv, self._dependencies, "CLOUDSDK_", "GOOGLE_", "GCLOUD_")
        except SecretError as error:
            # How it says that it has no project of its own either.
            if not project and "[project]" in error.message:
                raise _no_project() from None
            raise
        return _decoded(printed.strip())

    async def _sign_in(self) -> Token:
        if self._dependencies.installed("google.auth"):
            token, self._own_project = await default_token(self._dependencies.env, self._dependencies.timeout)
            return token
        try:
            answer = await self._ask_metadata("instance/service-accounts/default/token")
        except OpenClawError:
            raise missing("gcloud", "google-auth", "Google Cloud") from None
        text, seconds = answer.data.get("access_token"), answer.data.get("expires_in")
        if answer.status != 200 or not isinstance(text, str) or not isinstance(seconds, int):
            raise SecretError("this machine has no service account", hint=f"Run: {install('google-auth')} and sign in.")
        if not self._configured_project():
            self._own_project = await self._metadata_project()
        return Token(text, float(seconds))

    async def _ask_metadata(self, path: str) -> StoreAnswer:
        host = self._dependencies.env.get("GCE_METADATA_HOST") or _METADATA
        answer = await self._metadata.call("GET", f"http://{host}/computeMetadata/v1/{path}", _FLAVOR)
        if answer.headers.get("metadata-flavor") != "Google":
            # Something else answers to that name: a captive portal, or an attacker.
            raise SecretError("the metadata server is not Google's")
        return answer

    async def _metadata_project(self) -> str:
        answer = await self._ask_metadata("project/project-id")
        project = answer.body.decode("ascii", "replace").strip()
        return project if answer.status == 200 and _PROJECT.fullmatch(project) else ""


def _no_project() -> SecretError:
    return SecretError(
        "the project is not known", hint="Set secrets.gcp.project, or write secret://gcp/projects/P/secrets/NAME."
    )


def _decoded(data: object) -> str:
    """A payload is Base64 on the wire, and in the URL-safe alphabet from gcloud."""
    if not isinstance(data, str):
        raise SecretError("it has no value")
    try:
        return text_of(base64.b64decode(data.translate(_STANDARD_ALPHABET), validate=True))
    except binascii.Error:
        raise SecretError("what came back is not Base64") from None
