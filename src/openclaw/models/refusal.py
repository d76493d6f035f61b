"""What an endpoint said instead of an answer, and the one sentence a person gets for it.

Pure. Owns reading the many shapes of error bodies, telling a wrong key from an unknown model from an address that is no model endpoint,
and which of them are worth another attempt or another model. A vendor's own words are quoted cleaned, bounded and masked, and never
beside a refused key: vendors repeat parts of it.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from openclaw.content import to_json
from openclaw.errors import AddressError, DeadlineError, LinkLostError, OpenClawError, ProtocolError
from openclaw.log import one_line
from openclaw.models.spec import ModelEndpoint
from openclaw.net.retry_after import retry_after
from openclaw.redact import redact
from openclaw.security.egress import parse_url

Reason = Literal[
    "key",  # wrong, expired or missing
    "forbidden",  # the key may not do this
    "credit",  # nothing left to pay with
    "model",  # it has no such model
    "too-long",  # the request does not fit the model's window
    "request",  # it understood us and says no
    "rate",  # too many requests
    "server",  # its own fault
    "not-an-endpoint",  # something else lives there
    "link",  # it could not be reached
    "cut",  # the answer broke off
    "deadline",  # it took too long
    "refused-address",  # we do not dial that
]

# As much of a vendor's message as says what is wrong.
QUOTE_CHARACTERS = 300

# Another attempt at the same endpoint may succeed.
TRANSIENT: frozenset[Reason] = frozenset({"rate", "server", "link", "cut"})
# Another model would fail in the same way, or the conversation has to become shorter first.
_SAME_ANYWHERE: frozenset[Reason] = frozenset({"request", "too-long"})

_MODEL_KINDS = re.compile(r"model_not_found|invalid_model|unknown_model|model_not_exist", re.IGNORECASE)
_MODEL_WORDS = re.compile(
    r"\bmodels?\b[^.]{0,120}\b(?:not (?:be )?found|not exist|does not exist|not a valid|unknown|not available)"
    r"|\b(?:invalid|unknown|no such) model\b|not a valid model",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|context[ _](?:length|window|size)|maximum context|prompt is too long|input is too long|too many tokens"
    r"|request_too_large|exceeds? the (?:available|maximum|model'?s?) (?:context|number of tokens)",
    re.IGNORECASE,
)
_KEY_WORDS = re.compile(
    r"(?:invalid|incorrect|missing|expired|no) (?:x-)?(?:api|auth)[ _-]?(?:key|token)|api key not valid", re.IGNORECASE
)
_CREDIT_WORDS = re.compile(
    r"insufficient_quota|insufficient (?:balance|credit|funds)|credit balance|billing", re.IGNORECASE
)
_NAMED_MESSAGE = re.compile(r"\b(?:messages|input)(?:\.|\[)(\d+)")
_PICTURES = re.compile(r"\bimages?\b", re.IGNORECASE)
_TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})


class Refusal(msgspec.Struct, frozen=True):
    """`status` is 0 when there was no HTTP answer. `kind` and `message` are the vendor's words: untrusted.

    `what` describes an answer that is no model's ("a web page"); `error` is a failure of the link.
    """

    status: int = 0
    kind: str = ""
    message: str = ""
    what: str = ""
    error: OpenClawError | None = None
    retry_after: float | None = None
    # The vendor asked not to try again.
    final: bool = False


class RefusalError(Exception):
    """Ends one attempt; never leaves `models/exchange.py`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.kind or refusal.what or str(refusal.status))
        self.refusal = refusal


def refusal_of(status: int, headers: Mapping[str, str], body: bytes, *, now: float) -> Refusal:
    """An HTTP answer that is not a stream of events. `now` is Unix time, for a Retry-After that names a date."""
    kind, message, recognised = error_of(body)
    what = ""
    if not recognised:
        page = body.lstrip()[:200].lower()
        what = (
            "a web page" if page.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<")) else "no error we know"
        )
    return Refusal(
        status,
        kind,
        message,
        what,
        retry_after=retry_after(headers, now),
        final=headers.get("x-should-retry", "").lower() == "false",
    )


def error_of(body: bytes | str) -> tuple[str, str, bool]:
    """The kind and message of an error body in any of the shapes that are around, and whether it was one."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return "", "", False
    return error_in(value)


def error_in(value: Any) -> tuple[str, str, bool]:
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return "", "", False
    error = value.get("error", value)
    if isinstance(error, str):
        return "", error, True
    if not isinstance(error, dict):
        return "", "", False
    kinds = [error.get(key) for key in ("code", "type", "status")]
    kind = " ".join(str(kind) for kind in kinds if isinstance(kind, str | int) and kind not in ("error", "", None))
    message = next((error[key] for key in ("message", "detail", "msg") if isinstance(error.get(key), str)), "")
    if not message and error.get("detail"):
        message = to_json(error["detail"]).decode()
    return kind, message, bool(message) or "error" in value


def reason_of(refusal: Refusal) -> Reason:
    if refusal.error is not None:
        return _link_reason(refusal.error)
    said = f"{refusal.kind} {refusal.message}"
    status = refusal.status
    by_words: tuple[tuple[re.Pattern[str], Reason, frozenset[int]], ...] = (
        (_CREDIT_WORDS, "credit", frozenset({400, 402, 403, 429})),
        (_TOO_LONG, "too-long", frozenset({400, 413, 422, 500})),
        (_MODEL_KINDS, "model", frozenset({400, 403, 404, 422})),
        (_MODEL_WORDS, "model", frozenset({400, 404, 422})),
        (_KEY_WORDS, "key", frozenset({400, 403})),
    )
    for pattern, reason, statuses in by_words:
        if status in statuses and pattern.search(said):
            return reason
    by_status: dict[int, Reason] = {401: "key", 402: "credit", 403: "forbidden", 413: "too-long", 429: "rate"}
    if status in by_status:
        return by_status[status]
    # Anthropic answers 404 with a JSON error of its own only for a model it does not have.
    if status == 404 and "not_found_error" in refusal.kind:
        return "model"
    if status in _TEMPORARY or status > 524:
        return "server"
    if status == 200:
        return "not-an-endpoint" if refusal.what else "server"
    if refusal.what or status in {404, 405} or status < 400:
        return "not-an-endpoint"
    return "server" if status >= 500 else "request"


def named_message(refusal: Refusal) -> int | None:
    """Which message of the request the endpoint refuses, counted from 0; None when it does not say."""
    found = _NAMED_MESSAGE.search(refusal.message)
    return int(found[1]) if found else None


def about_pictures(refusal: Refusal) -> bool:
    return _PICTURES.search(refusal.message) is not None


def _link_reason(error: OpenClawError) -> Reason:
    if isinstance(error, DeadlineError):
        return "deadline"
    if isinstance(error, AddressError):
        return "refused-address"
    if isinstance(error, LinkLostError):
        return "cut"
    return "not-an-endpoint" if isinstance(error, ProtocolError) else "link"


def may_fall_back(reason: Reason) -> bool:
    """Whether another model may be tried instead."""
    return reason not in _SAME_ANYWHERE


def quoted(text: str) -> str:
    """A vendor's words, fit to be shown: one line, bounded, masked, without its own full stop."""
    text = redact(one_line(" ".join(text.split())))
    return (text[:QUOTE_CHARACTERS].rstrip() + "…" if len(text) > QUOTE_CHARACTERS else text).rstrip(".")


def sentence(reason: Reason, refusal: Refusal, endpoint: ModelEndpoint, model: str, *, wire: str, url: str) -> str:
    """What happened and what to do, in one or two sentences; no secret value is in it. `url` is where the wire sent the request."""
    who = endpoint.provider
    code = f" ({refusal.status})" if refusal.status else ""
    words = f": {quoted(refusal.message)}" if refusal.message else ""
    base = f"models.providers.{who}.baseUrl"
    match reason:
        case "key" if endpoint.api_key or ".headers." in endpoint.key_place:
            return f"{who} refused the API key{code}. Check {endpoint.key_place}."
        case "key":
            return f"{who} asks for an API key{code}. Run `openclaw keys set {who}`, or set {endpoint.key_place}."
        case "forbidden":
            return f"{who} refused access{code}{words}. Check what the key in {endpoint.key_place} may use."
        case "credit":
            return f"{who} has no credit left for this key{code}. Top up the account, or choose another model."
        case "model":
            pull = f"Run `ollama pull {model}`, or choose" if who == "ollama" else "Choose"
            return f"{who} has no model named {model}{code}. {pull} one of `openclaw models list {who}`."
        case "too-long":
            return f"The conversation is longer than {who}/{model} takes{code}. Start a new session, or choose another model."
        case "rate":
            wait = f", and asks to wait {refusal.retry_after:.0f} s" if refusal.retry_after else ""
            return f"{who} limits how often it answers{code}{wait}. Wait, or name other models in agents.defaults.model.fallbacks."
        case "server":
            return (
                f"{who} failed{code}{words}. Try again later, or name other models in agents.defaults.model.fallbacks."
            )
        case "not-an-endpoint":
            what = refusal.what or (
                quoted(refusal.error.message) if refusal.error else quoted(refusal.message) or "not found"
            )
            place = _shown(url) or who
            check = f"Check {base} (it usually ends in /v1) and models.providers.{who}.api."
            return f"{place} is not a chat endpoint that speaks {wire}{code}: {what}. {check}"
        case "link":
            why = quoted(refusal.error.message) if refusal.error else "the connection failed"
            start = "Start it with `ollama serve`, or check" if who == "ollama" else "Check the network and"
            return f"{who} cannot be reached: {why}. {start} {base}."
        case "cut":
            return f"The answer of {who}/{model} broke off. Ask again."
        case "deadline":
            return f"{who}/{model} did not finish its answer in time. Ask for less, or raise models.providers.{who}.timeoutSeconds."
        case "refused-address":
            return f"{who} is not reached: {quoted(str(refusal.error))}. Check {base}."
        case "request":
            return f"{who} refused the request{code}{words}. Check the settings of {model}, or choose another model."


def _shown(url: str) -> str:
    """The address that was asked, without its query, which can hold a key; empty for one with a password, or that is none."""
    try:
        target = parse_url(url)
    except AddressError:
        return ""
    return one_line(redact(target.origin + target.path.partition("?")[0]))
