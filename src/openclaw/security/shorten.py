"""Long text made shorter for a model: the middle goes, and an untrusted-content frame stays a frame.

Of a frame its content is cut, never its markers: what comes from outside must not stand in a conversation without the line that says so.
How frames are made is `external.py`.
"""

from openclaw.security.unframe import MARK, frame_pattern

# Enough of the end of a text to see how it ended.
TAIL_CHARS = 200


def shorten(text: str, length: int) -> str:
    """`text` with its middle left out when it is longer than `length`; of what stands in frames, the middle of their content.

    The result is a line longer than `length`, and for each frame in it by its markers: room is shared among frames and the text between.
    """
    if len(text) <= length:
        return text
    if MARK not in text:
        return _middle_out(text, length)
    pieces: list[str] = []
    place = 0
    for found in frame_pattern().finditer(text):
        before, content = text[place : found.start()], found["content"]
        opening = found[0][: found.start("content") - found.start()]
        pieces += [
            _middle_out(before, _share(before, text, length)),
            # The notice in front of a frame repeats what every system prompt says: in little room, it would be all that is left.
            opening[opening.index(MARK) :] if length < len(opening) else opening,
            _middle_out(content, _share(content, text, length)),
            text[found.end("content") : found.end()],
        ]
        place = found.end()
    rest = text[place:]
    return "".join([*pieces, _middle_out(rest, _share(rest, text, length))])


def _share(piece: str, text: str, length: int) -> int:
    return length * len(piece) // len(text)


def _middle_out(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    tail = min(TAIL_CHARS, length // 2)
    head = length - tail
    shorter = f"{text[:head]}\n[… {len(text) - length:,} characters left out …]\n{text[len(text) - tail :]}"
    return shorter if len(shorter) < len(text) else text
