"""The secret values this process knows, and the shapes of those it does not: what a log, an error or a status never shows.

Owns the process-wide register (`remember`, `remember_guess`, `retire`), the masking of text (`redact`, and `mask` for known values alone),
and the guess whether a config value is a credential (`looks_secret`, `tells_secret`). Whoever resolves a secret remembers it before using
it. It is no substitute for not writing a secret down. `log.py` masks every line, `commands/dispatch.py` every error,
`transport/connection.py` every message of a server, `tools/invoke.py` every result of other tools; who shows or stores other text calls
`redact`.
"""

import base64
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice, pairwise
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from openclaw.content import to_json
from openclaw.late_pattern import late_pattern

MASK = "[REDACTED]"
# What a reference to a secret starts with: the secret itself is elsewhere.
SECRET_SCHEME = "secret://"

# A shorter value stands in ordinary words by chance: masking it would garble every line and so reveal it.
_SHORTEST = 4
# Lines of a multi-line secret (a key file, a service account) that are masked on their own; shorter ones are braces and blanks.
_SHORTEST_LINE = 16
# Base64 cores below this many characters match unrelated data: a megabyte of a picture holds any four of them.
_SHORTEST_CORE = 8
# Tokens are renewed for as long as a gateway lives: of those that were replaced this many are still masked, the newest.
_MOST_RETIRED = 1_000
# Replaced values make room so many at a time: what is known is made searchable anew when some go.
_LEAVING = 100
# How a text is searched for all forms at once: every so many words of this size are looked up.
_WORD_BYTES = 8
_MOST_STEPS = 6
# Words that are made to be looked up, as far as that can be chosen: half a microsecond each.
_MOST_WORDS = 100_000
# Of a long text so many bytes are searched in one go, a millisecond or so: in a thread others have their turn in between.
_PIECE = 1 << 20
# Up to so many values are made searchable together each time one comes; of more, those that came since, and now and then others with them.
_FEW = 16
# What that costs, and what searching for one form by itself costs, in nanoseconds a byte (measured; only their ratio matters).
_WORDS_COST = 4.4
_FIND_COST = 0.35


class _Known(msgspec.Struct, frozen=True):
    """Every form of some known values, made to be searched for in one pass.

    A form of at least `step` words and a bit covers one of the places that are looked at, wherever it stands; so a text that has none of
    the `words` there holds no such form. Shorter forms are searched one by one.
    """

    values: frozenset[str]
    short: tuple[tuple[bytes, str], ...] = ()
    words: dict[int, list[str]] = {}
    step: int = 1
    # Forms of values that read like a name, which are left alone where names stand.
    nameable: frozenset[str] = frozenset()

    def found(self, data: "bytes | msgspec.Raw") -> set[str]:
        """The forms that may be in `data`: none is missing."""
        found: set[str] = set()
        view = memoryview(data).cast("B")
        if self.words:
            words = view[: len(view) // _WORD_BYTES * _WORD_BYTES].cast("Q")
            # Whole steps, so that the places looked at are the same however long a piece is.
            piece = _PIECE // _WORD_BYTES // self.step * self.step
            for start in range(0, len(words), piece):
                looks = words[start : start + piece : self.step]
                if not self.words.keys().isdisjoint(looks):
                    found.update(*(self.words[word] for word in looks if word in self.words))
        if self.short:
            overlap = max(len(form) for form, _ in self.short) - 1
            for start in range(0, len(view), _PIECE):
                part = bytes(view[start : start + _PIECE + overlap])
                found.update(form for piece_of, form in self.short if piece_of in part)
        return found


_lock = threading.Lock()
_values: dict[str, tuple[str, ...]] = {}
# Those among them that nobody accepts any more, the oldest first.
_retired: dict[str, None] = {}
# Values that came since they were last searched for.
_fresh: set[str] = set()
# All others, in parts of which each is more than twice the next. Replaced whole, so that readers need no lock.
_known: tuple[_Known, ...] = ()


def remember(value: str) -> None:
    """From now on `redact` masks this value in every form. Values of fewer than 4 characters are ignored, and words such as `true`."""
    value = value.strip()
    if len(value) < _SHORTEST or value.lower() in _ORDINARY:
        return
    with _lock:
        _retired.pop(value, None)
        if value not in _values:
            parts = {value, *(line.strip() for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE)}
            _values[value] = tuple({form for part in parts for form in _forms_of(part)})
            _fresh.add(value)


def remember_guess(value: str) -> None:
    """The same for a value that only its name or place makes suspicious (`PARTITION_KEY=title`): a plain word is no secret for that."""
    if not _PLAIN_WORD.fullmatch(value.strip()):
        remember(value)


def retire(value: str) -> None:
    """This value was replaced by another and is accepted nowhere: it makes room once many more were. A live one never does."""
    global _known
    value = value.strip()
    with _lock:
        if value in _values:
            _retired.pop(value, None)
            _retired[value] = None
        if len(_retired) >= _MOST_RETIRED + _LEAVING:
            for oldest in list(islice(_retired, _LEAVING)):
                del _retired[oldest], _values[oldest]
                _fresh.discard(oldest)
            # Made anew at once: a reader who has no lock finds what was made before, or this.
            _known = (_searchable(frozenset(_values)),)
            _fresh.clear()


def _all_known() -> tuple[_Known, ...]:
    """Everything known, searchable. Many values that come one by one are each made so a few times, not once for every other."""
    global _known
    if _fresh:
        with _lock:
            if not _fresh:
                return _known
            values, parts = set(_fresh), list(_known)
            while parts and (len(parts[-1].values) <= 2 * len(values) or len(values) + len(parts[-1].values) <= _FEW):
                values |= parts.pop().values
            _known = (*parts, _searchable(frozenset(values)))
            _fresh.clear()
    return _known


def _searchable(values: frozenset[str]) -> _Known:
    forms = {form for value in values for form in _values[value]}
    clear = {form for value in values if not _NAME.fullmatch(value) for form in _values[value]}
    nameable = frozenset(forms - clear)
    encoded = [(form.encode("utf-8", "surrogatepass"), form) for form in forms]

    def cost(step: int) -> float:
        return _WORDS_COST / step + _FIND_COST * sum(len(data) < _length(step) for data, _ in encoded)

    most = min(_MOST_STEPS, max(1, _MOST_WORDS // (_WORD_BYTES * (len(encoded) or 1))))
    step = min(range(1, most + 1), key=cost)
    if _FIND_COST * len(encoded) <= cost(step):
        return _Known(values, tuple(encoded), nameable=nameable)
    words: dict[int, list[str]] = {}
    for data, form in encoded:
        if len(data) >= _length(step):
            for start in range(_WORD_BYTES * step):
                word = int.from_bytes(data[start : start + _WORD_BYTES], sys.byteorder)
                words.setdefault(word, []).append(form)
    short = tuple((data, form) for data, form in encoded if len(data) < _length(step))
    return _Known(values, short, words, step, nameable)


def _length(step: int) -> int:
    """From how many bytes on a form surely covers one of the places that are looked at."""
    return _WORD_BYTES * (step + 1) - 1


def mask(text: str) -> str:
    """`text` with every known secret replaced by `[REDACTED]`. A few passes at most, however many are known."""
    known = _all_known()
    if not known:
        return text
    data = text.encode("utf-8", "surrogatepass")
    return _mask_known(text, {form for part in known for form in part.found(data)})


def _mask_name(text: str) -> str:
    """The same where names stand: a value that reads like one (`postgres`, `user_id`) is left, since the name must stay what it is."""
    known = _all_known()
    if not known:
        return text
    data = text.encode("utf-8", "surrogatepass")
    return _mask_known(text, {form for part in known for form in part.found(data) - part.nameable})


def mask_json(data: bytes | msgspec.Raw, *, keep: frozenset[str] = frozenset()) -> bytes | msgspec.Raw:
    """A message with every known secret in its strings and names replaced; the very same object when it holds none.

    In names of members and in what is sent back or looked up by its name (`name`, `uri`, `type`, ...) a value that reads like a name
    itself stays: masking it would make a tool that cannot be called, or a message that cannot be read. Members called one
    of `keep` in the outermost object stay as they are.
    """
    if not any(part.found(data) for part in _all_known()):
        return data
    try:
        value = msgspec.json.decode(data)
        if isinstance(value, dict):
            kept = {name: member for name, member in value.items() if name in keep}
            return to_json({**mask_value(value), **kept})
        return to_json(mask_value(value))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # Not JSON to us: whoever reads it will say so, and shows how it begins.
        return mask(bytes(data).decode("utf-8", "replace")).encode()


def mask_value(value: Any) -> Any:
    """The same for a decoded JSON value."""
    return _masked(value, mask)


def _masked(value: Any, masked: Callable[[str], str]) -> Any:
    match value:
        case str():
            return masked(value)
        case dict():
            return {
                _mask_name(name): _masked(member, _mask_name if name in _IDENTIFIERS else mask)
                for name, member in value.items()
            }
        case list():
            return [_masked(member, masked) for member in value]
        case int() if str(value) in _values:
            return MASK
        case _:
            return value


def redact(text: str) -> str:
    """`text` with every known secret and everything shaped like a credential replaced by `[REDACTED]`. Linear in its length."""
    text = mask(text)
    folded = text.lower()
    for shape in _SHAPES:
        if shape.hint in folded:
            text = _compiled(shape.pattern, shape.flags).sub(shape.replacement, text)
    return text


def known_forms() -> object:
    """What is known by now: another object after every `remember`, so that whoever keeps an answer of `redact` can tell its age."""
    return _all_known()


def knows_secrets() -> bool:
    """Whether there is anything to mask."""
    return bool(_values)


@contextmanager
def forgetting() -> Iterator[None]:
    """What is remembered within the block is forgotten at its end. For tests, of which many share a process."""
    global _known
    known = _all_known()
    with _lock:
        values, retired = dict(_values), dict(_retired)
    try:
        yield
    finally:
        with _lock:
            _values.clear()
            _values.update(values)
            _retired.clear()
            _retired.update(retired)
            _fresh.clear()
            _known = known


def looks_secret(key_name: str, value: str) -> bool:
    """Whether a config value is probably a credential written in plain sight: by the name it stands under, or by its shape.

    References (`secret://…`, `${VAR}`, `$VAR`) are not: the value is elsewhere. `key_name` may be empty, for arguments and addresses.
    """
    value = value.strip()
    if not value or SECRET_SCHEME in value or _REFERENCE.search(value):
        return False
    if redact(value) != value or _RANDOM.fullmatch(value):
        return True
    return _names_a_secret(key_name) and value.lower() not in _ORDINARY and not value.isdigit()


def tells_secret(name: str, value: str) -> bool:
    """The same for a variable or a header, whose names say more than those of other settings: `STRIPE_KEY`, `X-Shop-Key`, `PGPASSWORD`."""
    if looks_secret(name, value):
        return True
    value = value.strip()
    if value.lower() in _ORDINARY or SECRET_SCHEME in value or _REFERENCE.search(value):
        return False
    return _TELLING_NAME.fullmatch(name) is not None and not _NO_CREDENTIAL.fullmatch(value)


def is_ordinary(value: str) -> bool:
    """Whether a value is one that stands in many places and means nothing: a word, a number, a file, an address, a region."""
    value = value.strip()
    return (
        len(value) < _SHORTEST_UNNAMED or _NO_CREDENTIAL.fullmatch(value) is not None or bool(_WORDS.fullmatch(value))
    )


def _forms_of(value: str) -> Iterator[str]:
    yield value
    # As Python and JSON print it inside quotes, ASCII only or not, and JSON inside JSON.
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)):
        yield text[1:-1]
    yield json.dumps(json.dumps(value)[1:-1])[1:-1]
    yield json.dumps(value)[1:-1].replace("/", "\\/")
    # As Go's encoder writes them.
    yield json.dumps(value)[1:-1].replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    data = value.encode("utf-8", "surrogatepass")
    for text in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield text
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text)
    if len(data) >= _SHORTEST_CORE:
        yield from (data.hex(), data.hex().upper())
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


def _mask_known(text: str, forms: set[str]) -> str:
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

    The patterns start at a literal or behind a look-behind and use possessive repeats, so none can go back over what it has read by
    more than a character.
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
    # The backslash in front of a quote is not the value's. Said without a possessive group: Python reads on behind its end before 3.11.5.
    member = rf"({name}\\?[\"']\s{{0,4}}:\s{{0,4}}\\?[\"'])[^\"']+(?!(?<=\\)[\"'])"
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
# Words that stand everywhere: masking them would garble every text, whoever calls them a secret.
_ORDINARY = frozenset(
    {"true", "false", "yes", "no", "on", "off", "none", "null", "default", "auto", "local", "localhost", "public"}
    | {"production", "development", "staging", "testing", "test", "prod", "debug", "info", "warn", "warning", "error"}
    | {"admin", "root", "user", "guest", "main", "master", "latest", "stdio", "http", "https", "json", "text"}
)
# A word of one language, as a setting or a name has it. Random letters of this length and more are credentials: mail providers make such.
_PLAIN_WORD = re.compile(r"[a-z]{1,15}")
# What names are made of: such words, with capitals and joined (`inputSchema`, `user_id`).
_NAME = late_pattern(r"(?=.{0,32}$)[A-Za-z]{1,15}(?:[_.-][A-Za-z]{1,15})*")
# Members of the protocol, and of the schemas in it, whose value is a name: somebody compares it, calls by it or sends it back.
_IDENTIFIERS = frozenset(
    {"name", "uri", "uriTemplate", "url", "src", "type", "method", "mimeType", "role", "level", "resultType", "mode"}
    | {"id", "requestId", "progressToken", "taskId", "toolUseId", "elicitationId", "status", "protocolVersion"}
    | {"required", "enum", "const", "format", "pattern", "$ref", "$id", "$schema", "$anchor", "$dynamicRef"}
)
# A value whose name says nothing is taken for a secret from this length on.
_SHORTEST_UNNAMED = 10
# Words with at most two digits behind each (`eu-central-1`, `Europe/Berlin`, `en_GB.UTF-8`), and no more of them than a name has.
_WORDS = late_pattern(
    r"(?=.{0,32}$)[A-Za-z]{2,16}[0-9]{0,2}(?:[ ._/:@,+-][A-Za-z]{1,16}[0-9]{0,2}|[ ._-][0-9]{1,2}){0,4}"
)
# Variables and headers that hold a credential by their name.
_TELLING_NAME = re.compile(r"(?:.*[_-])?key|.*(?:password|passwd|passphrase|secret|token|apikey)", re.IGNORECASE)
# Where something is, a switch, or a number: no credential.
_NO_CREDENTIAL = late_pattern(
    r"(?:~|\.{1,2})?/.*|[A-Za-z]:\\.*|[a-z][a-z0-9+.-]*://.*|[0-9.,:]+|true|false|yes|no|on|off|none|null",
    re.IGNORECASE,
)
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
