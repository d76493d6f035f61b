"""What a person is shown of a call that needs their yes, and which keys answer."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.control.dialogue_steps import ENTER, ESCAPE, Screen
from openclaw.control.question_dialogue import dialogue
from openclaw.control.shown_text import columns
from openclaw.conversation import NO_ANSWER, Answer, AskedCall, Offer, Question
from parts.dialogues import END, HOSTILE, answered, held, no, unseen, yes

OFFERS = (
    Offer("once", "y", "once", "once"),
    Offer("session", "s", "in this conversation", "session"),
    Offer("below", "a", "always below /home/me/notes", "always"),
    Offer("any", "t", "always, any arguments", "always"),
)
LETTER = "The train leaves at 09:40.\nBring the blue folder.\n" * 9
CALL = AskedCall(
    "files__write_file",
    "write_file",
    "files",
    {"path": "/home/me/notes/trip.md", "content": LETTER},
    classes=("write",),
    reasons=('it changes things and no rule allows it (tools.approval.mode "writes")',),
    offers=OFFERS,
)


def about(call: AskedCall = CALL, **changed: Any) -> Question:
    call = msgspec.structs.replace(call, **changed)
    options = tuple(offer.id for offer in call.offers)
    return Question("approval", options=options, approval=call, agent="main", session="agent:main:main")


KEYS = """\
y once · s in this conversation · a always below /home/me/notes ·
t always, any arguments · n no · r no, with a reason · d details: """


def test_a_call_is_shown_with_its_arguments_the_reason_and_the_keys() -> None:
    assert held(about(), "y")[1] == (
        "files wants to call write_file\n"
        "  path     /home/me/notes/trip.md\n"
        '  content  "The train leaves at 09:40.\\nBring the blue folder.\\nThe train \n'
        "           leaves at 09:40.\\nBring the blue folder.\\nThe train leaves at \n"
        "           09:40.\\nBring the blue folder.\\nThe … (450 characters)\n"
        'Asked because it changes things and no rule allows it (tools.approval.mode\n"writes").\n'
        f"{KEYS}"
    )


def test_what_is_said_beside_the_reason_is_no_second_reason() -> None:
    shown = held(about(reasons=("Asked because it writes.", "It comes from the app of this server.")), "y")[1]
    assert "Asked because it writes.\nIt comes from the app of this server.\n" in shown


def test_a_skill_is_shown_as_one_with_the_server_that_offers_it() -> None:
    shown = held(about(skill="shop:refunds\x1b[2J", server="shop"), "y")[1]
    assert shown.startswith("Agent main wants to use the skill shop:refunds, which shop offers\n")


def test_on_a_narrow_screen_every_line_fits() -> None:
    call = about(sources=("mcp:web",), origins={"path": "mcp:web"}, claims=("it only reads",))
    for width in (32, 40, 60):
        shown = held(call, "d", "q", "n", width=width)[1].removesuffix("Declined.\n")
        assert max(map(columns, shown.splitlines())) <= width, (width, shown)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["y"], yes(option="once")),
        (["S"], yes(option="session")),
        (["a"], yes(option="below")),
        (["t"], yes(option="any")),
        (["n"], no()),
        (["r", "Not on a Sunday."], no("Not on a Sunday.")),
        (["r", ENTER], no()),
        (["r", END], no()),
        (["x", ENTER, "\x1b[A", "yes please", "d", "q", "y"], yes(option="once")),
        ([ESCAPE], NO_ANSWER),
        ([END], NO_ANSWER),
        (["d", END], NO_ANSWER),
        ([ENTER] * 20, NO_ANSWER),
    ],
)
def test_one_key_answers_and_nothing_else_does(typed: list[str | None], answer: Answer) -> None:
    assert answered(about(), *typed) == answer


def test_with_foreign_text_the_question_begins_with_it_and_names_the_value() -> None:
    arguments = {"to": "mark@example.net", "subject": "Hello"}
    call = AskedCall(
        "mail__send", "send", "mail", arguments, sources=("mcp:web",), origins={"to": "mcp:web"}, offers=OFFERS
    )
    shown = held(about(call), "n")[1]
    assert shown.splitlines()[:4] == [
        "Careful: in this conversation server web sent text that nobody checked.",
        "mail wants to call send",
        "  to       mark@example.net   ← this value came from that text",
        "  subject  Hello",
    ]


def test_with_several_sources_each_value_names_its_own() -> None:
    sources = ("mcp:web", "web:evil.test", "plugin:notes", "file:big.txt", "mcp:other")
    shown = held(about(sources=sources, origins={"path": "web:evil.test"}), "n", width=200)[1]
    assert shown.splitlines()[0] == (
        "Careful: in this conversation server web, the page at evil.test, plugin notes and 2 others sent text that nobody "
        "checked."
    )
    assert "  path     /home/me/notes/trip.md   ← this value came from the page at evil.test\n" in shown


def test_a_picture_is_named_as_one() -> None:
    shown = held(about(sources=("mcp:web", "media:mcp:web"), origins={"path": "media:mcp:web"}), "n", width=200)[1]
    assert "← this value came from a picture or recording of server web\n" in shown


def test_a_foreign_value_within_a_value_is_named_too() -> None:
    shown = held(about(origins={"people.0.mail": "mcp:web"}), "n")[1]
    assert "  people.0.mail   ← this value came from that text\n" in shown.replace(
        "people.0.mail     ", "people.0.mail   "
    )


def test_what_a_server_says_of_its_tool_is_marked_as_its_word() -> None:
    shown = held(about(claims=("it only reads", "it may be called again")), "n")[1]
    assert "files says: it only reads, it may be called again. Nobody checked that.\n" in shown


def test_a_tool_that_calls_itself_something_else_is_called_by_its_name() -> None:
    shown = held(about(tool="files__delete_all", title="Read the weather"), "n")[1]
    assert shown.startswith('files wants to call files__delete_all, which calls itself "Read the weather"\n')


def test_a_tool_of_ours_is_wanted_by_the_agent() -> None:
    assert held(about(tool="exec", title="exec", server=""), "n")[1].startswith("Agent main wants to call exec\n")


def test_a_call_without_arguments_says_so() -> None:
    assert "\n  (no arguments)\n" in held(about(arguments={}), "n")[1]


def test_details_show_all_of_every_value_and_come_back_to_the_question() -> None:
    whole = "\n".join(f"line {number} {'x' * 90}" for number in range(30))
    finished, shown = held(about(arguments={"content": whole, "tags": ["a", "b"], "n": 5}), "d", "y", height=10_000)
    details = shown.partition("details: ")[2]
    read = [line.removeprefix("  | ") for line in details.splitlines() if line.startswith("  | ")]
    assert "".join(read).replace(" ", "") == f'{whole}["a","b"]5'.replace("\n", "").replace(" ", "")
    assert f"content ({len(whole):,} characters, 30 lines)" in details
    for fact in ("files__write_file", "agent:main:main", "changes things"):
        assert fact in details
    assert details.endswith(KEYS)
    assert finished.answer == yes(option="once")


def test_many_arguments_are_counted_and_shown_with_details() -> None:
    arguments = {f"argument{number}": number for number in range(40)}
    shown = held(about(arguments=arguments), "d", ENTER, ENTER, ENTER, ENTER, "n")[1]
    assert "argument11  11\n  … and 28 more arguments: d shows them\n" in shown
    assert "argument39\n  | 39\n" in shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain words", "plain words"),
        ("", '""'),
        (" padded", '" padded"'),
        ("12", '"12"'),
        ("true", '"true"'),
        ('"quoted"', '"\\"quoted\\""'),
        ("C:\\notes", "C:\\notes"),
        ("two\nlines", '"two\\nlines"'),
        ("C:\\notes\n", '"C:\\\\notes\\n"'),
        ("\x1b[2J", '"\\u001b[2J"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("a\u00a0b", '"a\\u00a0b"'),
        ("a\u3164b", '"a\\u3164b"'),
        ("pay\u200bpal", '"pay\\u200bpal"'),
        ("\udcff", '"\\udcff"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        ("❤️‍🔥 می‌خواهم", "❤️‍🔥 می‌خواهم"),
        (12, "12"),
        (True, "true"),
        (None, "null"),
        ({"a": ["\x07"]}, '{"a": ["\\u0007"]}'),
    ],
)
def test_a_value_stands_as_it_is_or_quoted_with_what_cannot_be_seen_written_out(value: Any, shown: str) -> None:
    assert f"  value  {shown}\n" in held(about(arguments={"value": value}), "n")[1]


def test_hostile_strings_anywhere_in_a_call_cannot_draw_on_the_screen() -> None:
    call = AskedCall(
        HOSTILE,
        HOSTILE,
        HOSTILE,
        {HOSTILE: HOSTILE, "list": [HOSTILE], "long": HOSTILE * 100},
        classes=(HOSTILE, f"egress:{HOSTILE}"),
        reasons=(HOSTILE,),
        sources=(f"mcp:{HOSTILE}", HOSTILE),
        origins={HOSTILE: HOSTILE, "lost": HOSTILE},
        claims=(HOSTILE,),
        offers=(Offer("once", "\x1b", HOSTILE, "once"),),
    )
    question = msgspec.structs.replace(about(call), agent=HOSTILE, session=HOSTILE, text=HOSTILE)
    for width in (30, 80):
        assert unseen(held(question, "d", "q", "n", width=width)[1]) == []
        assert unseen(held(question, "d", "n", width=width, height=10_000)[1]) == []


def test_no_offer_takes_a_key_of_ours_or_of_another() -> None:
    offers = tuple(
        Offer(f"offer {number}", key, "once", "once") for number, key in enumerate(["n", "y", "Y", "", "d", "é"])
    )
    assert answered(about(offers=offers), "n") == no()
    assert answered(about(offers=offers), "y") == yes(option="offer 1")
    chosen = [answered(about(offers=offers), key) for key in "12345"]
    assert chosen == [yes(option=f"offer {number}") for number in (0, 2, 3, 4, 5)]


def test_an_offer_cannot_look_like_one_more_key() -> None:
    offers = (Offer("below", "a", "always below /tmp/x · n yes", "always"),)
    assert "a always below /tmp/x . n yes · n no" in held(about(offers=offers), "n")[1]


def test_colours_are_there_where_the_screen_has_them_and_change_no_word() -> None:
    call = about(sources=("mcp:web",), origins={"path": "mcp:web"}, claims=("it only reads",))
    plain, coloured = (held(call, "n", screen=Screen(80, 24, colour=colour))[1] for colour in (False, True))
    assert "\x1b[31mCareful: " in coloured
    for style in ("0", "1", "2", "31"):
        coloured = coloured.replace(f"\x1b[{style}m", "")
    assert coloured == plain


@given(
    arguments=st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists), max_size=5),
    texts=st.lists(st.text(), min_size=6, max_size=6),
    typed=st.lists(st.sampled_from(["d", "", "q", "x", "\x1b[A"]), max_size=6),
    width=st.integers(1, 120),
)
def test_whatever_the_call_is_nothing_of_it_drives_the_screen_and_only_a_key_is_a_yes(
    arguments: dict[str, Any], texts: list[str], typed: list[str], width: int
) -> None:
    tool, title, server, claim, reason, source = texts
    call = AskedCall(
        tool,
        title,
        server,
        arguments,
        classes=(claim,),
        reasons=(reason,),
        sources=(source,),
        origins={source: reason},
        claims=(claim,),
        offers=OFFERS,
    )
    steps = dialogue(about(call), Screen(width))
    step = next(steps)
    shown = step.shown
    for one in typed:
        step = steps.send(one)
        shown += step.shown
    assert unseen(shown) == []
    with pytest.raises(StopIteration) as ended:
        for _ in range(40):
            steps.send(END)
    assert ended.value.value.answer == NO_ANSWER
