"""`web_fetch`: one public page or file, as text a model can read.

Owns what is made of each kind of content, and the bounds. The address guard is the network layer's: the default rules refuse every
address that is not public, at the moment it is dialled, redirects included; plain http is tried as https. Where the environment names a
proxy, pages are asked for there, as all else is; a name that this machine cannot resolve is the proxy's to judge. All text is framed as
untrusted. The network layer is loaded with the first call.
"""

import asyncio
import codecs
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openclaw.content import PICTURES, Image, Text
from openclaw.media import clean_type
from openclaw.security.egress import Rules, literal_address, parse_url
from openclaw.security.external import clean_label, frame
from openclaw.tool import ToolResult
from openclaw.tools.files import IMAGE_BYTES, RESULT_CHARS
from openclaw.tools.html import text_from_html

if TYPE_CHECKING:
    from openclaw.net.response import Response

# Seconds for the whole exchange: shorter than the tool's own deadline, so that the error names the host.
FETCH_SECONDS = 45.0
# Bytes read of one page after decompression; longer ones are cut. Far more than RESULT_CHARS of text in a wordy page.
FETCH_BYTES = 2 * 1024 * 1024
# Where a page says its encoding, when the headers do not.
META_BYTES = 1_024
# Of a host's name; the longest there are have 253 characters.
MAX_ORIGIN = 300

_ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.9, image/*;q=0.5, */*;q=0.1"
_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(r"text/.+|application/(?:.+\+)?(?:json|xml|javascript|yaml|x-ndjson|x-yaml|ecmascript|rtf|sql|toml)")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
# Encodings pages use. Others of Python's codecs are no character sets, or take quadratic time.
_CODECS = re.compile(
    r"utf-(?:8|16|32)(?:-[bl]e|-sig)?|ascii|iso8859-\d+|cp\d+|gb\w+|big5\w*|shift_jis\w*|euc_\w+|koi8-\w|iso2022_\w+|tis-620|mac-\w+"
)


async def web_fetch(url: str, rules: Rules, environ: Mapping[str, str] | None = None) -> ToolResult:
    """Get `url`, through the proxies of `environ`. Raises OpenClawError when it is refused or cannot be reached."""
    from openclaw.net.client import ClientOptions, HttpClient
    from openclaw.net.proxy import ProxyRules

    address = _encrypted(url)
    proxies = ProxyRules.from_environment(environ or {})
    async with HttpClient(ClientOptions(rules=rules, proxies=proxies)) as http:
        async with http.stream("GET", address, headers={"Accept": _ACCEPT}, timeout=FETCH_SECONDS) as response:
            body, cut = await _read(response)
            result = await asyncio.to_thread(_result, response, url, body, cut)
    return result


def _encrypted(url: str) -> str:
    """The address to ask: https in place of http, except for an address spelled out, which the rules judge as it stands."""
    target = parse_url(url)
    if target.scheme == "http" and literal_address(target.host) is None:
        return f"https://{target.authority}{target.path}"
    return target.url


async def _read(response: "Response") -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    size = 0
    async for piece in response.chunks():
        pieces.append(piece)
        size += len(piece)
        if size > FETCH_BYTES:
            return b"".join(pieces)[:FETCH_BYTES], True
    return b"".join(pieces), False


def _result(response: "Response", url: str, body: bytes, cut: bool) -> ToolResult:
    # The page's author chose both of these: the type, and by a redirect the host.
    kind, origin = clean_type(response.media_type or ""), clean_label(response.origin, MAX_ORIGIN)
    details = {"status": response.status, "type": kind, "bytes": len(body)}
    # The host that answered in the end, not the one that was asked.
    source = f"web:{parse_url(response.url).host}"
    failed = response.status >= 400
    head = f"{origin} answered {response.status}: " if failed else ""
    if kind in PICTURES and not failed and not cut and len(body) <= IMAGE_BYTES:
        picture = (Text(f"An image ({kind}, {len(body):,} bytes):"), Image(body, kind))
        return ToolResult(picture, details=details, source=source)
    if kind not in _HTML and not _TEXT.fullmatch(kind):
        return ToolResult(
            (Text(f"{head}{len(body):,} bytes of {kind}, which is not text."),), is_error=failed, details=details
        )
    text = _decoded(body, response.headers.get("content-type") or "")
    if kind in _HTML:
        text = text_from_html(text, response.url)
    if cut or len(text) > RESULT_CHARS:
        text = f"{text[:RESULT_CHARS]}\n[The rest is left out.]"
    framed = frame(text or "[The page holds no text.]", source="web_fetch", sender=url)
    opening = (Text(head.removesuffix(": ") + "."),) if failed else ()
    return ToolResult((*opening, Text(framed)), is_error=failed, details=details, source=source)


def _decoded(body: bytes, content_type: str) -> str:
    found = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", content_type, re.IGNORECASE)
    named = found.group(1) if found else ""
    if not named and (meta := _CHARSET.search(body[:META_BYTES])):
        named = meta.group(1).decode("ascii")
    try:
        codec = codecs.lookup(named or "utf-8").name
    except LookupError:
        codec = "utf-8"
    return body.decode(codec if _CODECS.fullmatch(codec) else "utf-8", "replace")
