"""Markdown as rows of a terminal, while it comes: what is certain is given out once, the rest again and again until it is.

The parser and the layout are those of `rich`; ours is when a row is certain, and a look that can be read without colours. The text has to
be clean of control characters before: every sequence in the rows is then a style of ours. Links show their address beside their text, so
that none leads elsewhere than it says; nothing is a hyperlink. Raw HTML is text. Loaded only where somebody watches.
"""

import re
from collections.abc import Iterable, Sequence
from io import StringIO

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableDataElement
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from openclaw.commands.screen.columns import STYLE

# The sixteen colours that people choose for their terminal, and none of ours: they are seen on a dark ground and on a light one.
_CODE = "ansi_dark"
_THEME = Theme(
    {
        "markdown.h1": Style(bold=True, underline=True),
        "markdown.h2": Style(bold=True),
        "markdown.h3": Style(bold=True),
        "markdown.h4": Style(bold=True, dim=True),
        "markdown.code": Style(color="cyan"),
        "markdown.code_block": Style(),
        "markdown.block_quote": Style(dim=True),
        "markdown.item.bullet": Style(),
        "markdown.item.number": Style(),
        "markdown.link": Style(),
        "markdown.link_url": Style(dim=True, underline=True),
        "markdown.table.border": Style(dim=True),
        "markdown.table.header": Style(bold=True),
        "markdown.hr": Style(dim=True),
    }
)
# Rows at the end of a block that may still change: a word may be added to the last one, and a style end before it.
_UNSURE = 2
# Lines of code that are coloured again with every word.
_MOST_CODE = 40
# Lines of code that are drawn at once, in some hundredths of a second: more would be a standstill.
_MOST_AT_ONCE = 60
# What stands beside a quotation.
_BAR = "▌"
# What is shown as it stands until what it marks has ended, or the other way round: a pair of stars within code.
_MARKS = frozenset("*_~`[]()!<>\\|")
_NO_LETTERS = dict.fromkeys(map(ord, [*_MARKS, _BAR]))
# Where the words of a row begin, styles included.
_START = re.compile(rf"(?:\x1b\[[0-9;]*m|[\s{_BAR}])*")
# Text below this many columns is cut by the terminal instead.
_NARROWEST = 20


class Rows(msgspec.Struct, frozen=True):
    """`certain` are new and final; `live` may change with the next words. `is_behind`: there is more to be drawn already."""

    certain: list[str]
    live: list[str]
    is_behind: bool = False


class MarkdownRows:
    """One answer. `feed` takes its text as it comes, `rows` gives what follows for a screen of a width, which may change."""

    def __init__(self, *, colour: bool) -> None:
        self._colours = ColorSystem.STANDARD if colour else None
        self._parser = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
        # A definition would be taken out of the text, and change what was shown long before it.
        self._parser.disable(["html_block", "html_inline", "reference"])
        self._text = ""
        # Letters of the first block of `_text` that were given out.
        self._given = ""
        self._is_first = True

    def feed(self, text: str) -> None:
        self._text += text

    def rows(self, width: int, *, last: bool = False) -> Rows:
        """`last`: nothing more comes."""
        blocks = self._blocks()
        certain: list[str] = []
        for number, block in enumerate(blocks):
            is_latest = number == len(blocks) - 1
            if (cut := _long_code(block, grows=is_latest and not last)) is not None:
                certain += [*self._take(self._drawn(self._parser.parse(cut.drawn), width)), *[""] * cut.blanks]
                # The rest goes on right below.
                self._text, self._given, self._is_first = cut.rest, "", True
                if cut.left > _MOST_CODE:
                    return Rows(certain, [], is_behind=True)
                rest = self.rows(width, last=last)
                return Rows([*certain, *rest.certain], rest.live, rest.is_behind)
            if is_latest and not last:
                break
            certain += self._take(self._drawn(block.tokens, width))
            self._given, self._is_first = "", False
        if last:
            self._text = ""
        if last or not blocks:
            return Rows(certain, [])
        latest = blocks[-1]
        self._text = latest.text
        rows = self._drawn(latest.tokens, width)
        sure = 0 if latest.is_whole else max(len(rows) - _UNSURE, 0)
        # What was given out is known by its letters, so an empty row goes out with the one below it.
        while sure and not _letters(rows[sure - 1]):
            sure -= 1
        certain += self._take(rows[:sure])
        return Rows(certain, self._new(rows))

    def _take(self, rows: Sequence[str]) -> list[str]:
        """What is new of these rows of the first block; from now on it was given out."""
        new = self._new(rows)
        letters = "".join(map(_letters, rows))
        if _known(letters, self._given) < len(letters):
            self._given = letters
        return new

    def _new(self, rows: Sequence[str]) -> list[str]:
        new = _after(rows, _known("".join(map(_letters, rows)), self._given))
        # A blank row stands before a block.
        return ["", *new] if new and not self._given and not self._is_first else new

    def _blocks(self) -> list["_Block"]:
        tokens = self._parser.parse(self._text)
        lines = self._text.splitlines(keepends=True)
        starts = [place for place, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0 and token.map]
        found = []
        for number, start in enumerate(starts):
            end = starts[number + 1] if number + 1 < len(starts) else len(tokens)
            first = tokens[start].map or [0, 0]
            found.append(_Block(tokens[start:end], "".join(lines[first[0] :])))
        return found

    def _drawn(self, tokens: Sequence[Token], width: int) -> list[str]:
        console = Console(
            file=StringIO(),
            width=max(width, _NARROWEST),
            theme=_THEME,
            legacy_windows=False,
            force_terminal=True,
            color_system="standard",
            emoji=False,
            highlight=False,
            markup=False,
            # The environment is that of the gateway, not of whoever reads it.
            _environ={},
        )
        document = _Answer("", code_theme=_CODE, hyperlinks=False)
        document.parsed = [_with_addresses(token) for token in tokens]
        lines = console.render_lines(document, pad=False)
        rows = [self._row(line) for line in lines]
        while rows and _is_blank(rows[-1]):
            rows.pop()
        while rows and _is_blank(rows[0]):
            rows.pop(0)
        return rows

    def _row(self, segments: Iterable[Segment]) -> str:
        kept = [segment for segment in segments if segment.text and not segment.is_control]
        while kept and not kept[-1].text.strip():
            kept.pop()
        if kept:
            kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
        return "".join(
            one.style.render(one.text, color_system=self._colours) if one.style and self._colours else one.text
            for one in kept
        )


class _Block(msgspec.Struct, frozen=True):
    """`text` begins with this block and ends with all that came."""

    tokens: list[Token]
    text: str

    @property
    def is_whole(self) -> bool:
        """Whether it can be drawn only once all of it is there: the columns of a table, and what may become one."""
        return self.tokens[0].type == "table_open" or self.text.lstrip().startswith("|")


class _Cut(msgspec.Struct, frozen=True):
    """Code in two parts, each in a fence: what is drawn now with so many blank rows behind it, and the rest with all that came after it;
    `left` are its lines."""

    drawn: str
    blanks: int
    rest: str
    left: int


def _long_code(block: _Block, *, grows: bool) -> _Cut | None:
    """The beginning of code that is long. Drawn whole it would be a standstill and, while it `grows`, one for every word of it."""
    fence = block.tokens[0]
    if fence.type != "fence":
        return None
    opening, *lines = block.text.splitlines(keepends=True)
    code = fence.content.splitlines()
    sure = len(code) - _UNSURE if grows else len(code)
    if sure <= (_MOST_CODE if grows else _MOST_AT_ONCE):
        return None
    # Blank lines at the edge of a block are not drawn, so those at the cut are counted.
    end = next((end for end in range(min(sure, _MOST_AT_ONCE), 0, -1) if code[end - 1].strip()), 0)
    following = next((line for line in range(end, sure) if code[line].strip()), None)
    if following is None:
        return None
    drawn = opening + "".join(lines[:end]) + fence.markup
    return _Cut(drawn, following - end if end else 0, opening + "".join(lines[following:]), len(code) - following)


def _is_blank(row: str) -> bool:
    return not STYLE.sub("", row).strip()


def _letters(row: str) -> str:
    """What of a row changes neither with the width nor with what follows: no blanks, bars and marks."""
    return "".join(STYLE.sub("", row).translate(_NO_LETTERS).split())


def _known(letters: str, given: str) -> int:
    """How many of these letters were given out. Some that were are gone when a mark ends: the title of a link."""
    if letters.startswith(given):
        return len(given)
    place = 0
    for letter in given:
        if place < len(letters) and letters[place] == letter:
            place += 1
    return place


def _after(rows: Sequence[str], given: int) -> list[str]:
    """The rows behind the first `given` letters. Of a row that is given in part the rest stands in a row of its own."""
    left = given
    for number, row in enumerate(rows):
        size = len(_letters(row))
        if left <= 0:
            return list(rows[number:])
        if size > left > 0:
            return [_without(row, left), *rows[number + 1 :]]
        left -= size
    return []


def _without(row: str, letters: int) -> str:
    """A row without its first letters and the marks behind them, which begins where it began; its styles stay."""
    start = _START.match(row)
    indent = start[0] if start else ""
    kept, left, is_behind = "", letters, False
    place = len(indent)
    while place < len(row):
        style = STYLE.match(row, place)
        if style is not None:
            kept += style[0]
            place = style.end()
            continue
        is_behind = is_behind or (left <= 0 and row[place] not in _MARKS)
        if is_behind:
            kept += row[place]
        elif _letters(row[place]):
            left -= 1
        place += 1
    return indent + kept.lstrip(" ")


class _LeftHeading(Heading):
    """A heading where text begins."""

    LEVEL_ALIGN = {}  # noqa: RUF012


class _PlainCode(CodeBlock):
    """Code, two columns in, without a frame that would be copied with it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(
            code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2), background_color="default"
        )


class _FoldedCell(TableDataElement):
    """What does not fit is folded: an address that is cut is of no use."""

    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content = Text("", justify=justify, overflow="fold")


def _with_addresses(token: Token) -> Token:
    """The same with pictures as their words and their address, which nobody fetches, bare addresses as they stand, and lines as lines."""
    if not token.children:
        return token
    children: list[Token] = []
    is_bare = False
    for child in token.children:
        if child.type == "image":
            shown = f"[{child.content or 'picture'}] ({child.attrs.get('src', '')})"
            children.append(Token("text", "", 0, content=shown))
        elif child.type == "softbreak":
            # Who writes a new line in an answer means one: lists of files, addresses, verses.
            children.append(Token("hardbreak", "br", 0))
        elif child.type == "link_open" and child.markup == "autolink":
            is_bare = True
        elif child.type == "link_close" and is_bare:
            is_bare = False
        else:
            children.append(child)
    return token.copy(children=children)


class _Answer(Markdown):
    elements = {  # noqa: RUF012
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "th_open": _FoldedCell,
        "td_open": _FoldedCell,
    }
