"""Text in columns: folded at words, as wide as it is shown, whatever it is written with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.commands.screen.columns import boxed, cells, columns, cut, fold, folded, in_ascii, table_rows

LINE = "the first of them is the one that most people know"


def test_a_line_is_folded_at_words_below_where_it_began() -> None:
    assert folded(f"  {LINE}", 30) == ["  the first of them is the one", "  that most people know"]


def test_what_stands_behind_a_label_goes_on_below_itself() -> None:
    assert folded(f"  State    {LINE}", 40) == [
        "  State    the first of them is the one",
        "           that most people know",
    ]


@pytest.mark.parametrize("amount", ["5.8 s", "12.0 kB", "320 bytes", "(90 min)", "3 h."])
def test_a_number_stays_with_its_unit(amount: str) -> None:
    width = len(f"words that fill {amount.split()[0]}")
    assert fold(f"words that fill {amount} and more", width) == f"words that fill\n{amount} and more"


def test_a_word_that_is_longer_than_a_line_stays_whole() -> None:
    path = "/a/path/that/somebody/may/want/to/copy/from/the/screen"
    assert folded(f"It is in {path} now.", 30) == ["It is in", path, "now."]


def test_what_is_too_long_below_a_label_stands_where_the_line_began() -> None:
    path = "/a/path/that/is/forty/columns/wide/and/x"
    assert folded(f"  Server         {path} ok", 44) == ["  Server", f"  {path}", "                 ok"]


def test_a_style_goes_on_in_the_next_row_and_takes_no_room() -> None:
    assert folded("\x1b[2mone two three\x1b[0m four", 10) == ["\x1b[2mone two\x1b[0m", "\x1b[2mthree\x1b[0m four"]


@pytest.mark.parametrize(
    ("text", "size"), [("plain", 5), ("日本", 4), ("e\u0301", 1), ("\x1b[1mb\x1b[0m", 1), ("👍\ufe0f", 2)]
)
def test_a_line_is_as_wide_as_it_is_shown(text: str, size: int) -> None:
    assert cells(text) == size


def test_a_cut_line_fits_and_says_so() -> None:
    assert [cut("日本語のテキスト", 9), cut("short", 9), cut("a longer one", 9)] == ["日本語の…", "short", "a longer…"]


def test_columns_share_what_is_left_once_the_narrow_ones_have_theirs() -> None:
    assert columns([5, 10, 100], 60) == [5, 10, 41]
    assert columns([50, 100], 62) == [30, 30]
    assert columns([5, 6], 60) == [5, 6]


def test_a_column_has_room_for_its_longest_word_where_all_columns_can() -> None:
    path = "~/.config/Code/User/mcp.json"
    rows = [("program", "file", "servers"), ("vscode", path, "search, notes (left out)")]
    assert table_rows(rows, 56) == [
        "program  file                          servers",
        f"vscode   {path}  search, notes",
        "                                       (left out)",
    ]
    assert columns([10, 30, 30], 44, words=[10, 20, 20]) == [10, 15, 15]


def test_a_cell_is_folded_at_words_and_a_long_name_behind_its_signs() -> None:
    assert boxed("files__read_text_file now", 12) == ["files__read_", "text_file", "now"]


def test_our_own_signs_have_ascii_ones() -> None:
    assert in_ascii("→ a · b … │ é") == "-> a - b ... | é"


@given(text=st.text(alphabet=st.sampled_from("ab 日 \n"), max_size=200), width=st.integers(20, 60))
def test_folding_loses_no_word_and_no_row_is_too_wide_but_for_one_word(text: str, width: int) -> None:
    shown = fold(text, width)
    assert shown.split() == text.split()
    assert all(cells(row) <= width or len(row.split()) == 1 for row in shown.split("\n"))


def test_a_table_with_more_columns_than_fit_shows_each_row_as_a_block() -> None:
    head = ("id", "server", "tool", "agent", "allows", "given", "used", "holds")
    row = (
        "g_35c19de8e4d4189b",
        "files",
        "list_allowed_directories",
        "all",
        "counts as reading",
        "2026-11-18",
        "",
        "yes",
    )
    shown = table_rows([head, row, row], 40)
    assert shown == [
        "id      g_35c19de8e4d4189b",
        "server  files",
        "tool    list_allowed_directories",
        "agent   all",
        "allows  counts as reading",
        "given   2026-11-18",
        "holds   yes",
        "",
        *shown[:7],
    ]
    assert len(table_rows([head, row, row], 200)) == 3
    # An id is copied to end what it names: it stays whole, and what stands behind it is folded.
    assert [line[:28] for line in table_rows([head, row], 100)[:2]] == [
        "id                  server  ",
        "g_35c19de8e4d4189b  files   ",
    ]


def test_a_command_behind_a_colon_is_folded_only_where_it_fits_into_no_row() -> None:
    text = "Port 1 is taken. Use another one: openclaw config set gateway.port 28791, or end that program. It is: openclaw."
    assert fold(text, 50).split("\n") == [
        "Port 1 is taken. Use another one:",
        "openclaw config set gateway.port 28791, or end",
        "that program. It is: openclaw.",
    ]
    assert fold(text, 38).split("\n")[1:] == [
        "openclaw config set gateway.port",
        "28791, or end that program. It is:",
        "openclaw.",
    ]
    # Where rows begin counts, too.
    assert fold("  Its log: openclaw mcp logs far-away", 28).split("\n") == [
        "  Its log:",
        "  openclaw mcp logs far-away",
    ]
    assert fold("  Its log: openclaw mcp logs far-away", 27).split("\n") == [
        "  Its log: openclaw mcp",
        "  logs far-away",
    ]
