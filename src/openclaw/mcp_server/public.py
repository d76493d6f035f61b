"""What goes wrong here, in words that may leave this machine: no path, no secret, no stack.

A client is another program, often with a model of its own behind it, and what it is told may end up in a transcript elsewhere.
Log lines, which stay, say more.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from openclaw.errors import ConfigError, OpenClawError
from openclaw.redact import redact

# An absolute path of two names or more, in the middle of a sentence; not the path of an address (`https://host/a/b`).
_PATH = re.compile(r"(?<![\w:/.~…-])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'\"<>|:;,()]+[/\\])+(?=[^\s/\\'\"<>|:;,()])")
# A broken config may have hundreds of faults; the first few tell what is wrong.
_SHOWN_PROBLEMS = 5
_NONE: Mapping[str, str] = MappingProxyType({})


def sentence(error: OpenClawError, roots: Mapping[str, str] = _NONE) -> str:
    """The error for a client. `roots` are directories of ours that are never shown, and the word that stands for each."""
    if not isinstance(error, ConfigError):
        return clean(str(error), roots)
    shown = [str(problem) for problem in error.problems[:_SHOWN_PROBLEMS]]
    rest = len(error.problems) - len(shown)
    more = [f"and {rest} more."] if rest else []
    text = "\n".join(["The config file cannot be used.", *shown, *more, "`openclaw config validate` shows it all."])
    return clean(text, roots)


def clean(text: str, roots: Mapping[str, str] = _NONE) -> str:
    """`text` without secrets, and with every path cut down to its last name, or to what follows the word for a directory of ours."""
    for root in sorted(roots, key=len, reverse=True):
        # A root may have blanks in it, at which the pattern would stop.
        text = text.replace(f"{root.rstrip('/')}/", f"{roots[root]}/") if len(root) > 1 else text
    return redact(re.sub(r"…/(?:[^\s/]+/)+", "…/", _PATH.sub("…/", text)))
