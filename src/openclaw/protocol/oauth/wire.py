"""What flows are made of: requests out, answers in, and JSON read with distrust.

A flow is a generator. It yields a `FlowRequest`, is sent the `FlowResponse`, and returns what it was asked for; a failure of the network is
thrown into it. `auth/flow_runner.py` drives flows over HTTP.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Final, Literal, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from openclaw.content import to_json
from openclaw.errors import AuthError, ConnectError, OpenClawError, RefusedError
from openclaw.redact import MASK

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

# Codes of RFC 6749, 7009, 7591, 8693, 8707, 9449 and OpenID Connect. An answer's code is shown only when it is one of them.
KNOWN_CODES: Final = frozenset(
    (
        *("invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type", "invalid_scope"),
        *("server_error", "temporarily_unavailable", "invalid_client", "invalid_grant", "unsupported_grant_type"),
        *("unsupported_token_type", "invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement"),
        *("unapproved_software_statement", "invalid_target", "invalid_token", "insufficient_scope"),
        *("use_dpop_nonce", "invalid_dpop_proof", "interaction_required", "login_required"),
        *("account_selection_required", "consent_required", "registration_not_supported"),
    )
)
# Codes that speak of the moment, not of the sign-in.
PASSING_CODES: Final = frozenset(("temporarily_unavailable", "server_error"))
# RFC 6749 section 3.3: what a scope may consist of.
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")
# No server needs more; a hostile one would fill the URL with them.
MAX_SCOPES: Final = 100


class FlowRequest(msgspec.Struct, frozen=True):
    """One HTTP request. Only a GET carries no credentials: no redirect of anything else may be followed."""

    method: Literal["GET", "POST", "DELETE"]
    url: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"FlowRequest({self.method} {self.url})"


class FlowResponse(msgspec.Struct, frozen=True):
    status: int
    body: bytes = b""

    def __repr__(self) -> str:
        return f"FlowResponse({self.status})"


Flow = Generator[FlowRequest, FlowResponse, T]
Form = Sequence[tuple[str, str]]


def get(url: str) -> FlowRequest:
    return FlowRequest("GET", url, {"Accept": "application/json"})


def post_form(url: str, form: Form, headers: Mapping[str, str] | None = None) -> FlowRequest:
    kind = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    return FlowRequest(
        "POST", url, {**kind, **(headers or {})}, urlencode(form, quote_via=quote, safe="").encode("ascii")
    )


def post_json(url: str, value: object) -> FlowRequest:
    return FlowRequest("POST", url, {"Accept": "application/json", "Content-Type": "application/json"}, to_json(value))


def read(body: bytes, kind: type[S]) -> S | None:
    """The body as `kind`, or None when it is something else: not JSON, the wrong shape, nested without end."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def is_json_object(body: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(body), dict)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False


class _Refusal(msgspec.Struct):
    error: str = ""


def refusal(response: FlowResponse, what: str, *, who: str = "authorization server") -> OpenClawError:
    """What a failed request means: RefusedError with the OAuth code that was named, ConnectError when it may pass, else AuthError."""
    answer = read(response.body, _Refusal) if 400 <= response.status < 500 else None
    said = f"The {who} answered {response.status} to {what}."
    if is_passing(response.status) or (answer is not None and answer.error in PASSING_CODES):
        return ConnectError(said, hint="Try again later.")
    if answer is not None and answer.error:
        return RefusedError(answer.error, f"The {who} refused {what}: {shown_code(answer.error)}.")
    return AuthError(said)


def is_passing(status: int) -> bool:
    """Whether a status speaks of the moment: the same request may succeed a little later."""
    return status >= 500 or status == 429


def shown_code(code: str) -> str:
    """An OAuth error code, if it is one; what else a server writes there is not repeated."""
    return code if code in KNOWN_CODES else "an error code that is not in the standards"


def scopes_of(text: str | None) -> tuple[str, ...] | None:
    """The scopes of a space-separated list, without repeats and without what is no scope; None when there is no list."""
    if text is None:
        return None
    return clean_scopes(text.split(" "))


def clean_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    """Those that are scopes, each once. One that held a secret, and was masked, is none."""
    found = (scope for scope in scopes if _SCOPE.fullmatch(scope) and MASK not in scope)
    return tuple(dict.fromkeys(found))[:MAX_SCOPES]


def union(*lists: Sequence[str] | None) -> tuple[str, ...]:
    """All scopes of the lists, each once, in the order they first appear."""
    return tuple(dict.fromkeys(scope for scopes in lists for scope in scopes or ()))
