"""One grammar for terminal, gateway and chat."""

import pytest

from openclaw.commands.parse import Argument, Command, Option, help_text, parse
from openclaw.errors import UsageError

SHARED = (Option("config", "A file.", value="FILE"), Option("help", "Help.", short="-h"))
ROOT = Command(
    "openclaw",
    "Root.",
    children=(
        Command(
            "agent",
            "Ask.",
            options=(
                Option("message", "Text.", value="TEXT", short="-m"),
                Option("attach", "Files.", value="FILE", many=True),
                Option("timeout", "Seconds.", value="S", kind="float"),
                Option("json", "JSON."),
            ),
            arguments=(Argument("words", "Words.", required=False, rest=True),),
        ),
        Command(
            "mcp",
            "Servers.",
            children=(
                Command("servers", "List."),
                Command(
                    "connect",
                    "Add.",
                    options=(Option("name", "Name.", value="NAME"),),
                    arguments=(Argument("words", "What.", rest=True, verbatim=True),),
                ),
                Command("status", "One.", arguments=(Argument("name", "Which."),)),
            ),
        ),
        Command(
            "sessions",
            "Sessions.",
            default="list",
            children=(Command("list", "All.", options=(Option("active", "Min.", value="MIN", kind="int"),)),),
        ),
    ),
)


def values(*words: str) -> tuple[tuple[str, ...], dict[str, object]]:
    parsed = parse(ROOT, words, SHARED)
    return parsed.trail, dict(parsed.values)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("agent -m hi", {"message": "hi", "words": ()}),
        ("agent --message=hi --json", {"message": "hi", "json": True, "words": ()}),
        ("agent -mhi", {"message": "hi", "words": ()}),
        ("agent --attach a --attach b", {"attach": ("a", "b"), "words": ()}),
        ("agent what is --json this", {"json": True, "words": ("what", "is", "this")}),
        ("agent -- --json", {"words": ("--json",)}),
        ("agent --timeout 1.5", {"timeout": 1.5, "words": ()}),
        ("--config x agent a", {"config": "x", "words": ("a",)}),
        ("agent a --config x", {"config": "x", "words": ("a",)}),
        ("agent -5 - x", {"words": ("-5", "-", "x")}),
    ],
)
def test_options_may_stand_anywhere(line: str, expected: dict[str, object]) -> None:
    assert values(*line.split()) == (("agent",), expected)


def test_a_command_line_to_run_keeps_its_own_options_also_those_that_are_called_as_ours() -> None:
    line = "mcp connect --name files npx --yes @x/server --config x.json --root /tmp --name its-own"
    own = ("npx", "--yes", "@x/server", "--config", "x.json", "--root", "/tmp", "--name", "its-own")
    assert values(*line.split()) == (("mcp", "connect"), {"words": own, "name": "files"})


def test_an_address_has_no_options_so_ours_may_stand_behind_it() -> None:
    line = "mcp connect https://h.example/mcp --name files"
    assert values(*line.split()) == (("mcp", "connect"), {"words": ("https://h.example/mcp",), "name": "files"})


def test_two_dashes_keep_even_our_options_for_the_command_line() -> None:
    assert values("mcp", "connect", "--", "srv", "--name", "x")[1] == {"words": ("srv", "--name", "x")}


def test_two_dashes_within_the_command_line_are_one_of_its_words() -> None:
    _, got = values("mcp", "connect", "npm", "run", "start", "--", "--port", "80")
    assert got["words"] == ("npm", "run", "start", "--", "--port", "80")
    _, got = values("mcp", "connect", "--", "npm", "run", "start", "--", "--name", "x")
    assert got == {"words": ("npm", "run", "start", "--", "--name", "x")}


def test_a_group_runs_its_default_command() -> None:
    assert values("sessions", "--active", "5") == (("sessions", "list"), {"active": 5})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("agnt", "openclaw: there is no command 'agnt'. Did you mean \"agent\"?"),
        ("mcp srevers", "openclaw mcp: there is no command 'srevers'. Did you mean \"servers\"?"),
        ("agent --jsn", 'openclaw agent: there is no option --jsn. Did you mean "--json"?'),
        ("sessions --actve 5", 'openclaw sessions: there is no option --actve. Did you mean "--active"?'),
        ("sessions --limit 5", "openclaw sessions: there is no option --limit. Try: openclaw sessions --help"),
        ("mcp --name srevers", "openclaw mcp: there is no command 'srevers'. Did you mean \"servers\"?"),
        ("agent --json=1", "--json takes no value."),
        ("agent -m", "--message needs a value: --message TEXT"),
        ("agent --timeout soon", "--timeout needs a number; 'soon' is not one."),
        ("mcp status", "openclaw mcp status: NAME is missing. Try: openclaw mcp status --help"),
        ("mcp status a b", "openclaw mcp status: 'b' is one word too many. Try: openclaw mcp status --help"),
        ("mcp connect", "openclaw mcp connect: WORDS … is missing. Try: openclaw mcp connect --help"),
    ],
)
def test_a_wrong_line_says_what_and_what_to_do(line: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(ROOT, line.split(), SHARED)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "line", ["--help", "help", "mcp --help", "mcp help", "mcp status --help", "sessions -h", "-h agent"]
)
def test_help_is_never_an_error(line: str) -> None:
    parsed = parse(ROOT, line.split(), SHARED)
    assert parsed.flag("help")
    assert help_text(ROOT, parsed, SHARED).startswith("Usage: openclaw")
