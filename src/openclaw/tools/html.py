"""HTML to readable text, in one pass.

Owns a scanner that is linear whatever a page holds: a construct that never ends swallows the rest of the page once, instead of
being looked at again from each of its characters (as the standard library's parser does). Keeps headings, lists, preformatted
text, table cells, links and the alternative text of images; leaves out scripts, styles and embedded documents. What it
returns is as untrusted as the page. Knows nothing of the network; web_fetch.py calls it in a thread.
"""

import html
import re
from collections.abc import Iterator
from urllib.parse import urljoin

import msgspec

# Elements whose content is not text for a reader.
_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select"})
# Inside these, "<" means nothing until the matching end tag.
_RAW = frozenset({"script", "style", "textarea", "title"})
_LINES = frozenset(
    [
        "address",
        "article",
        "aside",
        "body",
        "br",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "nav",
        "summary",
        "tbody",
        "tfoot",
        "thead",
        "title",
        "tr",
    ]
)
_PARAGRAPHS = frozenset(["blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "section", "table", "ul"])
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}

_NAME = re.compile(r"[A-Za-z][^\s/>]*")
# A quote opens a value only after an equals sign; elsewhere it is an ordinary character, as browsers see it.
_TAG_STOP = re.compile(r"""=\s*(["'])|>""")
_ATTRIBUTE = re.compile(r"""([^\s=/"'>]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_SPACE = re.compile(r"\s+")
# A longer tag, or a longer address, carries data and is of no use to a reader.
_TAG_CHARS = 8_192
_ADDRESS_CHARS = 2_000
# Deeper lists are indented no further.
_DEPTH = 8


class _Tag(msgspec.Struct, frozen=True):
    name: str
    opens: bool
    # What stands between the name and the end: attributes, not yet looked at.
    source: str = ""

    def attribute(self, wanted: str) -> str:
        for name, double, single, bare in _ATTRIBUTE.findall(self.source[:_TAG_CHARS]):
            if name.lower() == wanted:
                return html.unescape(double or single or bare).strip()
        return ""


def text_from_html(page: str, base: str = "") -> str:
    """The page as text. Links are shown as `[text](address)`, their addresses made absolute against `base`."""
    sheet = _Sheet(base)
    for token in _tokens(page):
        if isinstance(token, str):
            sheet.text(token)
        else:
            sheet.tag(token)
    return sheet.finish()


def _tokens(page: str) -> Iterator[str | _Tag]:
    at = 0
    while at < len(page):
        start = page.find("<", at)
        if start < 0:
            start = len(page)
        if start > at:
            yield page[at:start]
        if start == len(page):
            return
        token, at = _markup(page, start)
        if token is not None:
            yield token
        if isinstance(token, _Tag) and token.opens and token.name in _RAW:
            end = _raw_end(page, at, token.name)
            yield page[at:end]
            at = end


def _markup(page: str, start: int) -> tuple[str | _Tag | None, int]:
    """What begins with the "<" at `start`, and where it ends."""
    if page.startswith("<!--", start):
        return None, _after(page, "-->", start + 4)
    following = page[start + 1 : start + 2]
    if following in ("!", "?"):
        return None, _after(page, ">", start)
    opens = following != "/"
    name = _NAME.match(page, start + (1 if opens else 2))
    if name is None:
        return "<", start + 1
    end = _tag_end(page, name.end())
    return _Tag(name.group().lower(), opens, page[name.end() : end]), end


def _after(page: str, mark: str, at: int) -> int:
    found = page.find(mark, at)
    return len(page) if found < 0 else found + len(mark)


def _tag_end(page: str, at: int) -> int:
    while (stop := _TAG_STOP.search(page, at)) is not None:
        quote = stop.group(1)
        if quote is None:
            return stop.end()
        at = _after(page, quote, stop.end())
    return len(page)


def _raw_end(page: str, at: int, name: str) -> int:
    end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, at)
    return end.start() if end else len(page)


class _Sheet(msgspec.Struct):
    """The text as it grows. `breaks` and `space` are owed before the next word, `prefix` stands before it."""

    base: str
    parts: list[str] = msgspec.field(default_factory=list)
    breaks: int = 0
    space: bool = False
    prefix: str = ""
    # The element whose content is skipped, and how deep it is nested in itself.
    silent: str = ""
    silent_depth: int = 0
    lists: int = 0
    preformatted: int = 0
    # The address of the link we are in, and whether it has shown any text yet.
    link: str = ""
    link_shown: bool = False

    def text(self, source: str) -> None:
        if self.silent:
            return
        text = html.unescape(source)
        if self.preformatted:
            self._put(text)
            return
        words = _SPACE.sub(" ", text)
        self.space = self.space or words.startswith(" ")
        if words.strip():
            self._put(words.strip())
            self.space = words.endswith(" ")

    def tag(self, tag: _Tag) -> None:
        if self.silent or (tag.opens and tag.name in _SILENT):
            self._silence(tag)
            return
        if tag.name in _PARAGRAPHS:
            # A list inside a list belongs to its item.
            self._break(1 if self.lists and tag.name in ("ul", "ol") and (tag.opens or self.lists > 1) else 2)
        elif tag.name in _LINES:
            self._break(1)
        if tag.opens:
            self._open(tag)
        else:
            self._close(tag)

    def finish(self) -> str:
        self._end_link()
        return "".join(self.parts).strip()

    def _silence(self, tag: _Tag) -> None:
        if tag.opens and tag.source.endswith("/>") and tag.name not in _RAW:
            return
        self.silent = self.silent or tag.name
        if tag.name == self.silent:
            self.silent_depth += 1 if tag.opens else -1
        if self.silent_depth == 0:
            self.silent = ""

    def _open(self, tag: _Tag) -> None:
        match tag.name:
            case "a":
                self._end_link()
                self.link = self._address(tag.attribute("href"))
            case "img" if alt := _SPACE.sub(" ", tag.attribute("alt")):
                self._put(f"[image: {alt}]")
            case "ul" | "ol":
                self.lists += 1
            case "li":
                self.prefix = "  " * min(max(self.lists - 1, 0), _DEPTH) + "- "
            case "pre":
                self.preformatted += 1
            case "td" | "th" if self.parts and not self.breaks:
                self.space = True
                self._put("|")
                self.space = True
            case name if name in _HEADINGS:
                self.prefix = _HEADINGS[name]
            case _:
                pass

    def _close(self, tag: _Tag) -> None:
        match tag.name:
            case "a":
                self._end_link()
            case "ul" | "ol":
                self.lists = max(self.lists - 1, 0)
            case "pre":
                self.preformatted = max(self.preformatted - 1, 0)
            case name if name in _HEADINGS or name == "li":
                self.prefix = ""
            case _:
                pass

    def _break(self, lines: int) -> None:
        self.breaks = max(self.breaks, lines)
        self.space = False

    def _put(self, text: str) -> None:
        if self.parts and (self.breaks or self.space):
            self.parts.append("\n" * self.breaks or " ")
        self.breaks, self.space = 0, False
        self.parts.append(self.prefix)
        self.prefix = ""
        if self.link and not self.link_shown:
            self.parts.append("[")
            self.link_shown = True
        self.parts.append(text)

    def _end_link(self) -> None:
        if self.link_shown:
            self.parts.append(f"]({self.link})")
        self.link, self.link_shown = "", False

    def _address(self, reference: str) -> str:
        if not reference or reference.startswith("#"):
            return ""
        try:
            address = urljoin(self.base, reference)
        except ValueError:
            return ""
        usable = address.startswith(("http://", "https://")) and len(address) <= _ADDRESS_CHARS
        return _SPACE.sub("%20", address) if usable else ""
