"""One MCP endpoint over HTTP: every request to it, with its headers and credentials, and what 401, 403 and 429 mean.

Owns which headers go out (configured ones give way to those of the protocol and the authorizer), asking the authorizer when
challenged, waiting out a Retry-After, and turning any other status into `HttpStatusError` with a bounded body. Owns also what may be
sent again: a tool call only when its refusal is whole and no answer to it. Credentials are
offered to the resource itself only: a challenge from elsewhere, after a redirect, is reported and never answered.
Both HTTP transports send through it; what an answer holds is theirs to read.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

import msgspec

from openclaw.errors import AuthError, HttpStatusError, OpenClawError
from openclaw.net.client import Begun, ClientOptions, HttpClient, Prepared
from openclaw.net.response import Response
from openclaw.net.retry_after import retry_after
from openclaw.protocol.authorizer import Authorizer, PromptAuthorizer
from openclaw.protocol.jsonrpc import Failure, Malformed, RequestId, Result, decode
from openclaw.security.egress import Target, parse_url

# Of an error's body: enough for any JSON-RPC error, and to tell one kind of server from another.
MAX_ERROR_BODY: Final = 64 * 1024
# Of its words, for a person.
MAX_WORDS: Final = 500
# A server that sends a status and then no body must not hold up the verdict for long.
ERROR_BODY_PATIENCE: Final = 5.0
# A rate limit that asks for more than this is an answer, not a pause.
MAX_RETRY_AFTER: Final = 60.0
MAX_RATE_LIMIT_WAITS: Final = 3

DEFAULT_MAX_MESSAGE: Final = 64 * 1024 * 1024

POST_HEADERS: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
# Compression would let a proxy or middleware hold events back until its buffer is full.
GET_HEADERS: Final = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
# Names that are ours to set; a configured header of the same name would only contradict.
_OURS = frozenset(
    ("accept", "content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id")
)

_NONE: Final[Mapping[str, str]] = {}


class Destination(msgspec.Struct, frozen=True):
    """Where a server is, and what it takes to get there: the configured headers, and who knows the credentials, if there are any."""

    url: str
    options: ClientOptions
    headers: Mapping[str, str] = {}
    authorizer: Authorizer | None = None
    max_message_bytes: int = DEFAULT_MAX_MESSAGE

    def endpoint(self, client: HttpClient) -> "Endpoint":
        return Endpoint(client, self.url, headers=self.headers, authorizer=self.authorizer)


class Endpoint:
    def __init__(
        self, client: HttpClient, url: str, *, headers: Mapping[str, str], authorizer: Authorizer | None = None
    ) -> None:
        self.client = client
        self.url = url
        self.target = parse_url(url)
        self.origin = self.target.origin
        self._address = self.target.url
        self._authorizer = authorizer
        self._prompt = authorizer if isinstance(authorizer, PromptAuthorizer) else None
        dropped = _OURS | {"authorization"} if authorizer is not None else _OURS
        self._headers = {name: value for name, value in headers.items() if name.lower() not in dropped}

    @property
    def has_credentials(self) -> bool:
        """Whether anything goes out that is meant for this server alone."""
        return self._authorizer is not None or bool(self._headers)

    def credentials_at_hand(self) -> Mapping[str, str] | None:
        """The credentials that the next request carries, the same object while they are the same; None when they have to be waited for."""
        if self._prompt is not None:
            return self._prompt.headers_at_hand()
        return _NONE if self._authorizer is None else None

    def prepare(self, headers: Mapping[str, str], sent: Mapping[str, str]) -> Prepared:
        """A POST with these headers and credentials, for `HttpClient.ask`. Raises what the client raises."""
        return self.client.prepare(self._address, {**self._headers, **headers, **sent})

    async def request(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        url: str | None = None,
        once: int | None = None,
        begun: tuple[Begun, Mapping[str, str]] | None = None,
    ) -> Response:
        """An answer with a status below 300; the caller closes it. Raises HttpStatusError, AuthError, or what the client raises.

        Sends again only what was surely not processed: after a challenge that the authorizer met (once for each status), and after
        a 429 whose Retry-After is short. `once` is the id of a request that may be carried out at most once: it is sent again only
        when what the server said is whole, and no answer to it. Otherwise an AuthError carries what it said. `begun` is the request when
        it was sent already, and the credentials that it carries.
        """
        target = self.target if url is None else parse_url(url)
        challenges: set[int] = set()
        waits = 0
        while True:
            sent = _NONE
            if begun is not None:
                sent = begun[1]
            elif self._authorizer is not None:
                sent = await self._authorizer.headers()
            all_of_them = {**self._headers, **headers, **sent} if self._headers or sent else headers
            address = self._address if url is None else target.url
            exchange, begun = begun and begun[0], None
            response = await self.client.open(method, address, headers=all_of_them, body=body, begun=exchange)
            status = response.status
            if status < 300:
                return response
            try:
                refusal = await self._refusal(response, target) if once is not None else None
                is_final = refusal is not None and not is_unanswered(refusal, once)
                is_new = status in (401, 403) and status not in challenges and response.is_from(target)
                answer = refusal if is_final else None
                if is_new and await self._met(response, {**headers, **sent}, answer):
                    challenges.add(status)
                    if not is_final:
                        continue
                pause = retry_after(response.headers, time.time()) if status == 429 else None
                if is_final or pause is None or pause > MAX_RETRY_AFTER or waits >= MAX_RATE_LIMIT_WAITS:
                    raise refusal or await self._refusal(response, target)
            finally:
                response.close()
            waits += 1
            await asyncio.sleep(pause)

    async def _met(self, response: Response, sent: Mapping[str, str], answer: HttpStatusError | None) -> bool:
        """Whether the challenge was met. With an `answer` no failure to meet it may look as if nothing had been processed."""
        if self._authorizer is None:
            return False
        try:
            return await self._authorizer.challenged(response.status, response.headers, sent)
        except AuthError as error:
            error.answered(answer)
            raise
        except OpenClawError:
            if answer is None:
                raise
            return False

    async def _refusal(self, response: Response, target: Target) -> HttpStatusError:
        status, origin = response.status, response.origin
        hint = _HINTS.get(status, "")
        if not response.is_from(target):
            there = response.url.partition("?")[0]
            hint = f"{self.origin} redirects to {there}; credentials are not sent there: configure the new URL."
        body, whole = await read_excerpt(response)
        return HttpStatusError(
            status,
            f"{origin} answered {status}.",
            hint=hint,
            headers=dict(response.headers),
            body=body,
            whole=whole,
            said=words_of(body, response.media_type),
        )


_HINTS = {
    401: "Check the credentials of this server, or sign in.",
    403: "The credentials of this server do not allow this.",
    404: "Check the URL of this server.",
    405: "Check the URL and the transport of this server.",
    429: "The server limits how often it may be called; try again later.",
}


async def read_excerpt(response: Response) -> tuple[bytes, bool]:
    """What can be had of an error's body: its beginning, as far as it arrives in time; and whether that is surely all. Never raises."""
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(ERROR_BODY_PATIENCE):
            async for piece in response.chunks():
                pieces.append(piece)
                size += len(piece)
                if size > MAX_ERROR_BODY:
                    return b"".join(pieces)[:MAX_ERROR_BODY], False
    except (OpenClawError, TimeoutError):
        # The status is the verdict; its explanation is optional.
        return b"".join(pieces), False
    return b"".join(pieces), response.is_delimited


def words_of(body: bytes, kind: str) -> str:
    """What a refusal says, for a person: plain text, or the usual fields of a JSON object; nothing of a page. Untrusted."""
    if kind == "text/plain":
        return body.decode("utf-8", "replace").strip()[:MAX_WORDS]
    if kind != "application/json" and not kind.endswith("+json"):
        return ""
    try:
        told: object = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    for field in ("error_description", "detail", "message", "error", "title"):
        found = told.get(field) if isinstance(told, dict) else None
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, str) and found.strip():
            return found.strip()[:MAX_WORDS]
    return ""


def answered_ids(body: bytes) -> list[RequestId | None]:
    """The ids of the JSON-RPC answers in a body, as far as it can be read: None for one without an id, and for what is no answer."""
    return [message.id for message in decode(body) if isinstance(message, Result | Failure | Malformed)]


def is_answer(error: HttpStatusError, id: int | None) -> bool:
    """Whether a refusal is the server's answer to this request. An id that only looks like ours counts: then it is not sent again."""
    return id is not None and str(id) in {str(one) for one in answered_ids(error.body)}


def is_unanswered(error: HttpStatusError, id: int | None) -> bool:
    """Whether a refusal is surely no answer to this request."""
    return error.whole and not is_answer(error, id)
