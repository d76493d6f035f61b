"""Which values given to an MCP server are credentials, so that they are masked wherever it repeats them.

Pure. Looks at a spec whose variables and references are put in, and at what the program inherits by `passEnv`. Names decide first
(`API_KEY`, `--token`, `Authorization`), then the look of a value; ordinary ones such as `production` or a path are none. Values that
came from a `secret://` reference are known to whoever resolved them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from urllib.parse import parse_qsl, unquote, urlsplit

from openclaw.config.servers import ServerSpec
from openclaw.redact import is_ordinary, looks_secret, tells_secret

# Headers that say what is sent or who asks, and authenticate nobody.
_PLAIN_HEADERS = frozenset(
    {"accept", "accept-language", "content-type", "host", "mcp-protocol-version", "origin", "referer", "user-agent"}
)
# Parameters of an address that mean a credential there and nothing anywhere else.
_PARAMETERS = frozenset({"key", "sig", "auth", "code"})


def credentials_of(spec: ServerSpec, environ: Mapping[str, str]) -> Iterator[str]:
    """Every value of the spec, and of the variables it passes on, that counts as secret."""
    for name in spec.pass_env:
        value = environ.get(name, "")
        if tells_secret(name, value) or not is_ordinary(value):
            yield from _with_parts(value)
    for name, value in spec.env:
        if tells_secret(name, value):
            yield from _with_parts(value)
    for name, value in spec.headers:
        if is_secret_header(name, value):
            yield from _with_parts(value)
    yield from stated_credentials(spec)
    for name, value in chain.from_iterable(named_arguments(spec.args)):
        if tells_secret(name, value):
            yield from _with_parts(value)
    yield from _with_parts(spec.url)


def is_secret_header(name: str, value: str) -> bool:
    """Whether a header's value counts as secret: by its name, or because it is none that stands in many places."""
    return tells_secret(name, value) or (name.lower() not in _PLAIN_HEADERS and not is_ordinary(value))


def named_arguments(args: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """For each argument of a program the ways to read it, as name and value: `--name=value`, `NAME=value`, the value behind `--name`, and
    the whole of it without a name."""
    before = ""
    for arg in args:
        name, equals, value = arg.partition("=")
        readings = [("", arg)]
        if equals and name and not name.startswith(("http:", "https:")):
            readings.append((name.lstrip("-"), value))
        if before.startswith("-") and "=" not in before and not arg.startswith("-"):
            readings.append((before.lstrip("-"), arg))
        yield readings
        before = arg


def stated_credentials(spec: ServerSpec) -> Iterator[str]:
    """Those of them whose field holds a credential and nothing else. Of the others it is a guess."""
    yield spec.api_key
    if spec.auth is not None:
        yield from (spec.auth.client_secret, spec.auth.private_key, spec.auth.idp_id_token)


def _with_parts(value: str) -> Iterator[str]:
    """A value, and what stands in it: the word behind `Bearer`, the credentials in an address."""
    scheme, _, rest = value.strip().partition(" ")
    if rest and scheme.isalpha():
        yield rest
    if "://" not in value:
        yield value
    yield from in_address(value)


def in_address(text: str) -> Iterator[str]:
    """The credentials in a URL: a password before the host, a telling parameter, a part of its path made by a machine."""
    if "://" not in text:
        return
    try:
        parts = urlsplit(text)
        parameters = parse_qsl(parts.query)
    except ValueError:
        yield text
        return
    if parts.password:
        yield unquote(parts.password)
    for name, value in parameters:
        if tells_secret("password" if name.lower() in _PARAMETERS else name, value):
            yield value
    yield from (unquote(part) for part in parts.path.split("/") if looks_secret("", unquote(part)))
