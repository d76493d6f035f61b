"""Framed text for a person's eyes: what our frames hold, without markers and warnings. Never for a model.

`without_frames` takes a whole text, `Unframer` one that comes in pieces, as a model speaks it. How frames are made is `external.py`.
"""

import re
from collections.abc import Callable
from functools import cache
from string import hexdigits

from openclaw.security.external import MCP_NOTICE, WARNING

# What the first line of every frame begins with.
MARK = "<<<EXTERNAL_UNTRUSTED_CONTENT"
_HEAD = f'{MARK} id="'
ID_CHARACTERS = 16
# What the first and the last line of a frame end with.
_CLOSE = '">>>'
_NOTICE = MCP_NOTICE.partition("{name}")[0]
_OPENINGS = (WARNING, _NOTICE, f"\n{MARK}", MARK)
# As much of an opening as tells it from other text.
_SIGN = 20
# The name of a server is bounded where the notice is made; a longer line is no notice of ours.
_LONGEST_NOTICE = 600
# What the line of a frame begins with that names whose text it is.
_FROM = "From: "


def without_frames(text: str) -> str:
    """A frame is known by its own id at both ends, which no text inside it can have guessed."""
    return frame_pattern().sub(lambda found: found["content"], text) if MARK in text else text


def with_marks(text: str, mark: Callable[[str], str], end: Callable[[str], str]) -> str:
    """The text without its frames, with what `mark` and `end` make of the name of whoever a frame is from in their place."""

    def marked(found: re.Match[str]) -> str:
        name = next((line[len(_FROM) :] for line in found["head"].splitlines() if line.startswith(_FROM)), "")
        return f"{mark(name)}{found['content']}{end(name)}" if name else found["content"]

    return frame_pattern().sub(marked, text) if MARK in text else text


@cache
def frame_pattern() -> re.Pattern[str]:
    warning = re.escape(WARNING)
    notice = re.escape(MCP_NOTICE).replace(re.escape("{name}"), "[^\n]*")
    return re.compile(
        f"(?:(?:(?:{warning}\\n)?{notice}|{warning})\\n\\n)?\\n?"
        r'<<<EXTERNAL_UNTRUSTED_CONTENT id="(?P<id>[0-9a-f]{16})">>>\n(?P<head>(?:[^\n]*\n){1,3}?)---\n'
        r'(?P<content>.*?)\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="(?P=id)">>>',
        re.DOTALL,
    )


class Unframer:
    """`without_frames` for pieces: what may be the start of a frame is held back until it is known whether it is one."""

    def __init__(self) -> None:
        self._held: list[str] = []
        # The last characters held while the end of a frame is waited for; empty when none is.
        self._tail = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        return "".join(text for text, _ in self.pieces(piece))

    def pieces(self, piece: str) -> list[tuple[str, bool]]:
        """The same in parts, each with whether it stood in a frame: then it is not the speaker's own."""
        self._held.append(piece)
        if self._tail:
            # Inside a frame only its end tells anything: the rest is not looked at again and again.
            last, self._tail = self._tail + piece, (self._tail + piece)[-len(_CLOSE) :]
            if _CLOSE not in last:
                return []
        text = "".join(self._held)
        shown: list[tuple[str, bool]] = []
        start = 0
        while (opening := _opening(text, start)) >= 0:
            found = frame_pattern().match(text, opening)
            if found is not None:
                shown += ((text[start:opening], False), (found["content"], True))
                start = found.end()
            elif _may_become_one(text[opening:]):
                shown.append((text[start:opening], False))
                self._held = [text[opening:]]
                self._tail = text[-len(_CLOSE) :] if MARK in self._held[0] else ""
                return shown
            else:
                shown.append((text[start : opening + 1], False))
                start = opening + 1
        self._held, self._tail = [], ""
        return [*shown, (text[start:], False)]

    def end(self) -> str:
        """What is left when nothing more comes: a frame that was never closed is shown as it is."""
        return "".join(text for text, _ in self.last_pieces())

    def last_pieces(self) -> list[tuple[str, bool]]:
        """The same in parts. What follows the start of a frame that was never closed is not the speaker's own either."""
        held, self._held, self._tail = "".join(self._held), [], ""
        return [(without_frames(held), MARK in held)] if held else []


def _opening(text: str, start: int) -> int:
    """Where the next frame begins, or may begin with the last characters; -1 when nowhere."""
    found = [place for opening in _OPENINGS if (place := text.find(opening[:_SIGN], start)) >= 0]
    for length in range(min(_SIGN - 1, len(text) - start), 0, -1):
        if any(opening.startswith(text[-length:]) for opening in _OPENINGS):
            found.append(len(text) - length)
            break
    return min(found, default=-1)


def _may_become_one(text: str) -> bool:
    """Whether a frame may still come of a text that begins like one."""
    if WARNING.startswith(text):
        return True
    text = text.removeprefix(WARNING).lstrip("\n")
    if _NOTICE.startswith(text):
        return True
    if text.startswith(_NOTICE):
        line, newline, text = text.partition("\n")
        if len(line) > _LONGEST_NOTICE or not newline:
            return len(line) <= _LONGEST_NOTICE
        text = text.lstrip("\n")
    if not text.startswith(_HEAD):
        return _HEAD.startswith(text)
    number, rest = text[len(_HEAD) :][:ID_CHARACTERS], text[len(_HEAD) + ID_CHARACTERS :]
    return set(number) <= set(hexdigits) and f"{_CLOSE}\n".startswith(rest[: len(_CLOSE) + 1])
