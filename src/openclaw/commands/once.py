"""Which words of a command name a server that is used once and kept nowhere: `openclaw mcp call URL TOOL …`, `--stdio "PROGRAM …"`, and
`mcp tools` of the same. Words alone: used_once.py runs it."""

from collections.abc import Sequence

import msgspec

from openclaw.errors import UsageError
from openclaw.typed_words import join_words, quote_word, split_words

_SCHEMES = ("http://", "https://")


def is_address(word: str) -> bool:
    return word.lower().startswith(_SCHEMES)


class Once(msgspec.Struct, frozen=True):
    """`words` are the address, or the program and its arguments; `rest` is what was typed after them."""

    words: tuple[str, ...]
    rest: tuple[str, ...]

    @property
    def command(self) -> str:
        """How it is named in a command line, for one more of them."""
        return (
            quote_word(self.words[0]) if is_address(self.words[0]) else f"--stdio {quote_word(join_words(self.words))}"
        )

    @property
    def tool_words(self) -> tuple[str, ...]:
        """The tool, and its arguments. Raises UsageError when none is named."""
        if not self.rest or not self.rest[0]:
            raise UsageError("Which tool? None is named.", hint=f"List them: openclaw mcp tools {self.command}")
        return self.rest


def once(program: str, typed: Sequence[str]) -> Once | None:
    """The server that a command names by itself; None when it names one of the config. Raises UsageError."""
    if program:
        try:
            words = tuple(split_words(program))
        except ValueError:
            raise UsageError("--stdio: a quote is not closed.") from None
        if not words:
            raise UsageError("--stdio needs a program.", hint='As in: --stdio "npx -y NAME"')
        return Once(words, tuple(typed))
    if typed and is_address(typed[0]):
        return Once((typed[0],), tuple(typed[1:]))
    return None
