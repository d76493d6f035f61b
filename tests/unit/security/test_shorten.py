"""Shortened text: both ends stay, and so do the marks of every frame."""

from hypothesis import given
from hypothesis import strategies as st

from openclaw.security.external import frame
from openclaw.security.shorten import shorten
from openclaw.security.unframe import MARK, frame_pattern, without_frames

contents = st.text(alphabet="ab\n", max_size=3_000)


@given(contents, st.lists(st.tuples(contents, contents), max_size=3), st.integers(0, 4_000))
def test_every_frame_is_still_one_whatever_is_left_out(first: str, framed: list[tuple[str, str]], length: int) -> None:
    text = first + "".join(frame(inside, source="mcp_server", sender="notes") + after for inside, after in framed)
    shorter = shorten(text, length)

    assert len(frame_pattern().findall(shorter)) == len(framed)
    assert MARK not in without_frames(shorter)
    assert len(shorter) <= len(text)
    if len(text) <= length:
        assert shorter == text


def test_of_a_frame_its_content_is_cut_and_in_little_room_the_notice_too() -> None:
    text = frame("a" * 5_000 + "z" * 5_000, source="mcp_server", sender="notes")
    head, opening, rest = text.partition(MARK)
    mark = opening + rest.partition("---\n")[0] + "---\n"
    end = "\n" + text.rpartition("\n")[2]

    roomy, tight = shorten(text, 4_000), shorten(text, 250)

    assert roomy.startswith(f"{head}{mark}aaa")
    assert roomy.endswith(f"zzz{end}")
    assert tight.startswith(f"{mark}aaa")
    assert tight.endswith(f"zzz{end}")
    assert len(tight) < 250 + len(mark) + len(end) + 50
