"""The half of a sign-in that happens in a browser: the address to open, and what comes back.

Owns PKCE, which scopes are asked for, and the checks of the redirect: `state` first, then `iss` (RFC 9207) byte for byte, and only then
anything else it says. Randomness is given in; nothing that came back is repeated in an error.
"""

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec

from openclaw.errors import AuthError, RefusedError
from openclaw.protocol.oauth.metadata import OFFLINE, S256, ServerMetadata
from openclaw.protocol.oauth.registration import OAuthClient, offers_offline
from openclaw.protocol.oauth.wire import shown_code, union

# RFC 7636: 43 to 128 characters. 64 random bytes become 86.
VERIFIER_BYTES: Final = 64
STATE_BYTES: Final = 32
_CODE: Final = re.compile(r"[\x20-\x7e]{1,8192}")
# A redirect with more parameters is no answer to our question.
_MAX_PARAMETERS: Final = 50

_AGAIN = "Start the sign-in again."


class Sources(msgspec.Struct, frozen=True):
    """Where the scopes of a request may come from, in this order; `wanted` was asked for by calls since."""

    configured: tuple[str, ...] | None = None
    challenged: tuple[str, ...] | None = None
    supported: tuple[str, ...] | None = None
    wanted: tuple[str, ...] = ()


class Question(msgspec.Struct, frozen=True):
    """What was asked in the browser, and has to be known when the answer comes."""

    issuer: str
    state: str
    verifier: str
    redirect_uri: str
    resource: str
    scopes: tuple[str, ...]
    # The server promised to say who it is, or has done so before.
    iss_expected: bool

    def __repr__(self) -> str:
        return "Question()"


class Answer(msgspec.Struct, frozen=True):
    code: str
    # Whether the server said who it is; from then on it has to.
    iss_sent: bool = False

    def __repr__(self) -> str:
        return "Answer()"


def choose_scopes(sources: Sources, server: ServerMetadata) -> tuple[str, ...]:
    """Configured, else challenged, else supported; with what calls wanted since; and `offline_access` when it is offered.

    Empty: the parameter is left out, and the server gives what it thinks right.
    """
    first = next((s for s in (sources.configured, sources.challenged, sources.supported) if s is not None), ())
    scopes = union(first, sources.wanted)
    if not offers_offline(server):
        return tuple(scope for scope in scopes if scope != OFFLINE or OFFLINE in (sources.configured or ()))
    return union(scopes, (OFFLINE,)) if scopes else ()


def code_challenge(verifier: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(verifier.encode("ascii")).digest()).rstrip(b"=").decode("ascii")


def authorization_url(server: ServerMetadata, client: OAuthClient, question: Question) -> str:
    """The address to open. Raises AuthError when the server's endpoint cannot be extended."""
    endpoint = server.authorization_endpoint or ""
    if not endpoint or "#" in endpoint:
        raise AuthError("The authorization server's authorization endpoint is no usable address.")
    parameters = [
        ("response_type", "code"),
        ("client_id", client.id),
        ("redirect_uri", question.redirect_uri),
        ("code_challenge", code_challenge(question.verifier)),
        ("code_challenge_method", S256),
        ("state", question.state),
        ("resource", question.resource),
    ]
    if question.scopes:
        parameters.append(("scope", " ".join(question.scopes)))
    if OFFLINE in question.scopes:
        # OpenID Connect grants it only to who asked the person anew.
        parameters.append(("prompt", "consent"))
    separator = "&" if urlsplit(endpoint).query else "?"
    return endpoint.rstrip("?&") + separator + urlencode(parameters, quote_via=quote, safe="")


def read_answer(callback: str, question: Question) -> Answer:
    """The code in the address the browser was sent to, or in a bare code typed by a person.

    Raises RefusedError with the server's code when it says no, AuthError when this is not the answer to our question.
    """
    text = callback.strip()
    if is_bare(text):
        return _bare(text, question)
    parameters = _parameters(text)
    _check_state(parameters, question)
    _check_issuer(parameters, question)
    if "error" in parameters:
        code = parameters["error"]
        raise RefusedError(code, f"The authorization server refused the sign-in: {shown_code(code)}.", hint=_AGAIN)
    code = parameters.get("code", "")
    if not _CODE.fullmatch(code):
        raise AuthError("The callback address carries no authorization code.", hint=_AGAIN)
    return Answer(code, iss_sent="iss" in parameters)


def is_cut(callback: str, question: Question) -> bool:
    """Whether what was pasted is incomplete: a bare code where the whole address is needed, or an address cut short."""
    text = callback.strip()
    if is_bare(text):
        return question.iss_expected or not _CODE.fullmatch(text) or " " in text
    parameters = _parameters(text)
    has_answer = "error" in parameters or bool(_CODE.fullmatch(parameters.get("code", "")))
    return not has_answer or (question.iss_expected and "iss" not in parameters)


def is_answer_to(callback: str, state: str) -> bool:
    """Whether an address carries the state of a sign-in, which nobody but its authorization server was told."""
    try:
        given = _parameters(callback).get("state", "")
    except AuthError:
        return False
    return _same(given, state)


def is_bare(callback: str) -> bool:
    """Whether a person typed a code alone, without the address it came in."""
    text = callback.strip()
    return "?" not in text and "code=" not in text and "state=" not in text and "error=" not in text


def _bare(text: str, question: Question) -> Answer:
    """A code without its address cannot show who sent it: taken only from a server that never says so either."""
    if question.iss_expected:
        raise AuthError(
            "This authorization server says who it is in the callback address, so a bare code is not enough.",
            hint="Pass the whole address from the browser's address bar, in quotes.",
        )
    if not _CODE.fullmatch(text) or " " in text:
        raise AuthError("That is neither a callback address nor a code.", hint="Pass the whole address, in quotes.")
    return Answer(text)


def _parameters(callback: str) -> Mapping[str, str]:
    address, _, query = callback.partition("?")
    query = (query or address).partition("#")[0]
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS, errors="strict")
    except ValueError:
        raise AuthError("The callback address cannot be read.", hint=_AGAIN) from None
    if len({name for name, _ in pairs}) != len(pairs):
        raise AuthError("The callback address names a parameter twice, so it is not used.", hint=_AGAIN)
    return dict(pairs)


def _check_state(parameters: Mapping[str, str], question: Question) -> None:
    if not _same(parameters.get("state", ""), question.state):
        raise AuthError(
            "The callback address does not belong to the sign-in that was started here last, so it is not used.",
            hint=_AGAIN,
        )


def _check_issuer(parameters: Mapping[str, str], question: Question) -> None:
    """RFC 9207: what is there must be the issuer, byte for byte; what was promised must be there."""
    if "iss" in parameters:
        if not _same(parameters["iss"], question.issuer):
            raise AuthError(
                "The callback address comes from another authorization server than the one that was asked, so it is not used.",
                hint="Somebody may be trying to mix up two sign-ins; start again only if you trust the server.",
            )
    elif question.iss_expected:
        raise AuthError(
            "The callback address does not say which authorization server it comes from, though this one always does; it is not used.",
            hint="Pass the whole address from the browser's address bar, in quotes.",
        )


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))
