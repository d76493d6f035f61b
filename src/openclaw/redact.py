"""The secret values this process knows, and the shapes of those it does not: what a log, an error or a status never shows.

Owns the process-wide register (`remember`), the masking of text (`redact`) and the guess whether a config value is a credential in
plain sight (`looks_secret`). Whoever resolves a secret remembers it before using it. Masks text only: it is no substitute for not
writing a secret down. `log.py` masks every line, `commands/dispatch.py` every error; who shows or stores other text calls `redact`.
"""

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from urllib.parse import quote, quote_plus

import msgspec

MASK = "[REDACTED]"
# What a reference to a secret starts with: the secret itself is elsewhere.
SECRET_SCHEME = "secret://"

# A shorter value stands in ordinary words by chance: masking it would garble every line and so reveal it.
_SHORTEST = 4
# Lines of a multi-line secret (a key file, a service account) that are masked on their own; shorter ones are braces and blanks.
_SHORTEST_LINE = 16
# Base64 cores below this many characters match unrelated data.
_SHORTEST_CORE = 5
# Tokens are renewed for as long as a gateway lives: past this many values the oldest, long expired, make room.
_MOST_VALUES = 1_000

_lock = threading.Lock()
_known: dict[str, tuple[str, ...]] = {}
# Every form of every known value, longest first. Replaced whole, so that readers need no lock.
_forms: tuple[str, ...] = ()


def remember(value: str) -> None:
    """From now on `redact` masks this value in every form. Values of fewer than 4 characters are ignored, and words such as `true`."""
    global _forms
    value = value.strip()
    if len(value) < _SHORTEST or value.lower() in _SWITCHES:
        return
    with _lock:
        if _known.pop(value, None) is None and len(_known) >= _MOST_VALUES:
            del _known[next(iter(_known))]
        parts = {value, *(line.strip() for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE)}
        _known[value] = tuple({form for part in parts for form in _forms_of(part)})
        _forms = tuple(sorted({form for forms in _known.values() for form in forms}, key=len, reverse=True))


def redact(text: str) -> str:
    """`text` with every known secret and everything shaped like a credential replaced by `[REDACTED]`. Linear in its length."""
    if _forms:
        text = _mask_known(text, _forms)
    folded = text.lower()
    for shape in _SHAPES:
        if shape.hint in folded:
            text = _compiled(shape.pattern, shape.flags).sub(shape.replacement, text)
    return text


def known_forms() -> object:
    """What is known by now: another object after every `remember`, so that whoever keeps an answer of `redact` can tell its age."""
    return _forms


@contextmanager
def forgetting() -> Iterator[None]:
    """What is remembered within the block is forgotten at its end. For tests, of which many share a process."""
    global _forms
    with _lock:
        known, forms = dict(_known), _forms
    try:
        yield
    finally:
        with _lock:
            _known.clear()
            _known.update(known)
            _forms = forms


def looks_secret(key_name: str, value: str) -> bool:
    """Whether a config value is probably a credential written in plain sight: by the name it stands under, or by its shape.

    References (`secret://…`, `${VAR}`, `$VAR`) are not: the value is elsewhere. `key_name` may be empty, for arguments and addresses.
    """
    value = value.strip()
    if not value or SECRET_SCHEME in value or _REFERENCE.search(value):
        return False
    if redact(value) != value or _RANDOM.fullmatch(value):
        return True
    return _names_a_secret(key_name) and value.lower() not in _SWITCHES and not value.isdigit()


def _forms_of(value: str) -> Iterator[str]:
    yield value
    # As Python and JSON print it inside quotes, ASCII only or not, and JSON inside JSON.
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)):
        yield text[1:-1]
    yield json.dumps(json.dumps(value)[1:-1])[1:-1]
    yield json.dumps(value)[1:-1].replace("/", "\\/")
    data = value.encode("utf-8", "surrogatepass")
    for text in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield text
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text)
    for core in _base64_cores(data):
        if len(core) >= _SHORTEST_CORE:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _base64_cores(data: bytes) -> Iterator[str]:
    """The characters of the Base64 form that depend on `data` alone, for each of the three places it can start at."""
    for before, shared in ((0, 0), (1, 2), (2, 3)):
        padded = bytes(before) + data
        whole = len(padded) * 8 // 6
        yield base64.b64encode(padded).decode()[shared:whole]


def _mask_known(text: str, forms: tuple[str, ...]) -> str:
    """Spans are collected before any is replaced, so that of two overlapping secrets no half stays."""
    spans: list[tuple[int, int]] = []
    for form in forms:
        start = text.find(form)
        while start >= 0:
            spans.append((start, start + len(form)))
            start = text.find(form, start + len(form))
    if not spans:
        return text
    pieces: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if start >= end:
            pieces += (text[end:start], MASK)
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


class _Shape(msgspec.Struct, frozen=True):
    """A pattern, what it is replaced by, and a lower-case literal without which it cannot match: most lines cost one look each.

    The patterns start at a literal or behind a look-behind and use possessive repeats, so none can go back over what it has read.
    """

    hint: str
    pattern: str
    replacement: str = MASK
    flags: int = 0


@cache
def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    """Compiled when first needed: a short command needs none of them, and all take longer than the rest of this module."""
    return re.compile(pattern, flags)


def _token(hint: str, pattern: str) -> _Shape:
    return _Shape(hint, rf"(?<![A-Za-z0-9]){pattern}")


# A value in a query, a command line or a header.
_VALUE = r"[^\s\"'&;,\\<>]++"


def _named(hint: str, name: str) -> _Shape:
    """`name=value`, and "name": "value" also in JSON inside JSON; without quotes a colon is prose ("token: expired")."""
    assigned = rf"({name}[\"']?\s{{0,4}}=\s{{0,4}}\\?[\"']?){_VALUE}"
    member = rf"({name}\\?[\"']\s{{0,4}}:\s{{0,4}}\\?[\"'])(?:[^\"'\\]|\\(?![\"']))++"
    return _Shape(hint, f"{assigned}|{member}", rf"\1\2{MASK}", re.IGNORECASE)


_SHAPES = (
    _Shape(
        "private key-----",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
        flags=re.DOTALL,
    ),
    _token("sk-", r"sk-[A-Za-z0-9_-]{16,}+"),
    _token("gh", r"gh[pousr]_[A-Za-z0-9]{16,}+"),
    _token("github_pat_", r"github_pat_[A-Za-z0-9_]{16,}+"),
    _token("glpat-", r"glpat-[A-Za-z0-9_-]{16,}+"),
    _token("xox", r"xox[a-z]-[A-Za-z0-9-]{8,}+"),
    _token("xapp-", r"xapp-[A-Za-z0-9-]{8,}+"),
    _token("akia", r"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("asia", r"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("aiza", r"AIza[A-Za-z0-9_-]{30,}+"),
    _token("ya29.", r"ya29\.[A-Za-z0-9_-]{16,}+"),
    _token("tvly-", r"tvly-[A-Za-z0-9_-]{8,}+"),
    _token("hf_", r"hf_[A-Za-z0-9]{16,}+"),
    _token("npm_", r"npm_[A-Za-z0-9]{16,}+"),
    _token("hvs.", r"hvs\.[A-Za-z0-9_-]{16,}+"),
    _Shape("eyj", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){1,3}"),
    _Shape(
        "authorization",
        rf"(authorization[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?(?:[a-z]{{2,16}} {{1,4}})?){_VALUE}",
        rf"\1{MASK}",
        re.IGNORECASE,
    ),
    _Shape("bearer", r"(\bbearer\s{1,4})[A-Za-z0-9._~+/=-]{8,}+", rf"\1{MASK}", re.IGNORECASE),
    _Shape("cookie", r"(\b(?:set-)?cookie[\"']?\s{0,4}:\s{0,4})[^\r\n]++", rf"\1{MASK}", re.IGNORECASE),
    _named("passw", "passw(?:or)?d"),
    _named("passphrase", "passphrase"),
    _named("pwd", "pwd"),
    _named("secret", "secret"),
    _named("token", "token"),
    _named("key", "(?:api|access|private)[-_]?key"),
    _named("credential", "credentials?"),
    _named("signature", "signature"),
    _named("code_verifier", "code_verifier"),
    _named("client_assertion", "client_assertion"),
    _Shape(
        "api-key",
        rf"(\b(?:x-[a-z-]{{0,24}}|)api-key\s{{0,4}}:\s{{0,4}}){_VALUE}",
        rf"\1{MASK}",
        re.IGNORECASE,
    ),
    # The sign-in redirect: only as a query parameter, `code=` alone is an exit status.
    _Shape("code=", r"([?&]code=)[^\s&\"'#]++", rf"\1{MASK}", re.IGNORECASE),
    _Shape("://", r"(://)[^/?#\s\"'<>@]*+@(?:[^/?#\s\"'<>@]*+@)*+", rf"\1{MASK}@"),
)

_REFERENCE = re.compile(r"\$\{[^}]*\}|^\$[A-Za-z_][A-Za-z0-9_]*$")
# Long, one word, with small and capital letters and digits: chosen by a machine to be guessed by nobody.
_RANDOM = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[A-Za-z0-9_+=-]{32,}")
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "none", "null"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_WORDS = frozenset(
    {"password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "credential", "credentials"}
    | {"auth", "authorization", "bearer", "cookie", "pat"}
)
_SECRET_KEYS = frozenset({"api", "access", "private", "secret", "auth", "encryption", "signing", "account", "service"})
# A name that ends in one of these says where a secret is or what is done with it, not what it is.
_NOT_THE_VALUE = frozenset(
    {"url", "uri", "file", "path", "dir", "name", "id", "type", "method", "endpoint", "issuer"}
    | {"ttl", "limit", "count", "size", "timeout", "header", "mode"}
)


def _names_a_secret(key_name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(key_name)]
    if not words or words[-1] in _NOT_THE_VALUE:
        return False
    pairs = pairwise(words)
    return not _SECRET_WORDS.isdisjoint(words) or any(b == "key" and a in _SECRET_KEYS for a, b in pairs)
