"""Which calls fit a pattern, read both ways."""

import os
import random
from typing import Any

import pytest

from openclaw.config.call_pattern import glob
from openclaw.errors import UsageError
from openclaw.security.patterns import covers, covers_call, has_inline_code, parse, touches, touches_call


@pytest.mark.parametrize(
    ("wanted", "value", "is_covered"),
    [
        ("report", "report", True),
        ("report", "Report", False),
        ("*@example.net", "mark@example.net", True),
        ("*@example.net", "mark@example.net.evil", False),
        ("42", 42, True),
        ("true", True, True),
        ("*@example.net", ["a@example.net", "b@example.net"], True),
        ("*@example.net", ["a@example.net", "b@evil.net"], False),
        ("*@example.net", [], False),
        ("*", [], True),
        ("*", {"a": 1}, True),
        ("*x*", {"a": "x"}, False),
        ("/home/me/*", "/home/me/a/b", True),
        ("/home/me/*", "/home/me/../you/b", False),
        ("notes*", "notes/../../etc/passwd", False),
        ("/home/me/**", "/home/me/a/b", True),
        ("/home/me/**", "/home/me", True),
        ("/home/me/**", "/home/meg/a", False),
        ("/home/me/**", "/home/me/../you/b", False),
        ("/home/me/**", "/home/me/..\\you", False),
        ("/home/me/**", "/home//me/./a", True),
        ("/home/me/**", "home/me/a", False),
        ("/home/*/notes/**", "/home/me/notes/a/b", True),
        ("/home/*/notes/**", "/home/me/x/notes/a", False),
        ("/src/**/*.py", "/src/a/b/c.py", True),
        ("/src/**/*.py", "/src/c.py", True),
        ("/src/**/*.py", "/src/c.txt", False),
        ("https://docs.example.org/*", "https://docs.example.org/a?b", True),
        ("https://docs.example.org/*", "https://DOCS.example.org:443/a", True),
        ("https://docs.example.org/*", "https://docs.example.org", True),
        ("https://docs.example.org/*", "http://docs.example.org/a", False),
        ("https://docs.example.org/*", "https://docs.example.org:8443/a", False),
        ("https://docs.example.org/*", "https://docs.example.org.evil.net/", False),
        ("https://docs.example.org/*", "https://docs.example.org@evil.net/", False),
        ("https://docs.example.org/*", "https://docs.example.org\\@evil.net/", False),
        ("https://docs.example.org/*", "https://evil.net/https://docs.example.org/", False),
        ("https://docs.example.org/a/*", "https://docs.example.org/a/../b", False),
        ("https://docs.example.org/a/*", "https://docs.example.org/a/%2e%2e/b", False),
        ("https://docs.example.org/a/*", "https://docs.example.org/a/%252e%252e/b", False),
    ],
)
def test_what_allows_takes_only_what_is_meant_for_sure(wanted: str, value: Any, is_covered: bool) -> None:
    assert covers(glob(wanted), value) is is_covered


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("*@evil.net", ["a@example.net", "b@evil.net"]),
        ("*@evil.net", {"people": [{"to": "b@EVIL.net"}]}),
        ("/etc/**", "/home/me/../../etc/passwd"),
        ("/etc/*", "/home/../etc/passwd"),
        ("/etc/**", "/etc/./passwd"),
        ("/etc/**", "/ETC/passwd"),
        ("https://evil.net/*", "https://evil.net/x"),
        ("https://evil.net/*", "https://evil.net\\x"),
        ("https://evil.net/*", "https://me@evil.net/x"),
        ('["rm","*"]', ["rm", "-rf", "x"]),
        ('["rm","*"]', ["/bin/rm", "x"]),
        ('["rm","*"]', ["sudo", "rm", "x"]),
        ('["python","*"]', ["python", "-c", "x"]),
    ],
)
def test_what_denies_takes_whatever_may_be_meant(wanted: str, value: Any) -> None:
    assert touches(glob(wanted), value)


@pytest.mark.parametrize("wanted", ["/notes/Caf\u00e9/**", "/notes/Cafe\u0301/**", "*caf\u00e9*", "*cafe\u0301*"])
@pytest.mark.parametrize("value", ["/notes/Caf\u00e9/a", "/notes/Cafe\u0301/a", "/notes/CAFE\u0301/a"])
def test_what_denies_does_not_ask_how_a_letter_is_composed(wanted: str, value: str) -> None:
    """One file on macOS, and what allows means only what it says."""
    assert touches(glob(wanted), value)
    assert covers(glob(wanted), value) is (wanted[:-3] == value[:-2])
    assert touches(glob("*Cafe*"), "/notes/Cafe\u0301/a")


@pytest.mark.parametrize(
    ("wanted", "value", "allows", "denies"),
    [
        (r"C:\notes\**", r"C:\notes\a.md", True, True),
        (r"C:\notes\**", "C:/notes/a.md", True, True),
        ("C:/notes/**", r"C:\notes\a.md", True, True),
        ("C:/notes/*", r"C:\notes\a.md", False, True),
        # One file in each pair: Windows ignores case, and dots and blanks at the end of a name.
        ("C:/notes/**", r"c:\Notes\a.md", False, True),
        ("C:/notes/**", r"C:\notes.\a.md", False, True),
        ("C:/notes/**", r"C:\notes \a.md", False, True),
        ("C:/notes/**", r"C:\plans\..\notes\a.md", False, True),
        ("C:/notes/**", r"C:\plans\.. \notes\a.md", False, True),
        ("C:/notes/**", r"C:\notes\.. \plans\a.md", False, True),
        ("C:/notes/**", r"C:\plans\a.md", False, False),
        # And by a stream of the file, or by a path that is to be taken as it stands.
        ("C:/notes/a.md", r"C:\notes\a.md::$DATA", False, True),
        ("C:/notes/**", r"C:\notes::$INDEX_ALLOCATION\a.md", False, True),
        ("C:/notes/*", r"C:\notes\a.md:hidden", False, True),
        ("C:/notes/**", r"\\?\C:\notes\a.md", False, True),
        ("C:/notes/**", r"\\.\c:\notes\a.md", False, True),
    ],
)
def test_on_windows_a_path_has_two_signs_between_its_names(wanted: str, value: str, allows: bool, denies: bool) -> None:
    both = covers(glob(wanted), value, windows=True), touches(glob(wanted), value, windows=True)
    assert both == (allows, denies)


@pytest.mark.parametrize(
    ("wanted", "value"),
    [("*@evil.net", "a@example.net"), ("/etc/**", "/home/me/etc"), ("https://evil.net/*", "https://example.net/"),
     ('["rm","*"]', ["ls", "rm.txt"]), ("x", [])],
)  # fmt: skip
def test_what_denies_leaves_the_rest_alone(wanted: str, value: Any) -> None:
    assert not touches(glob(wanted), value)


def test_every_named_argument_has_to_be_there_and_the_others_are_free() -> None:
    pattern = parse("send(to=*@example.net, cc=*)").arguments
    assert covers_call(pattern, {"to": "a@example.net", "cc": "b", "body": "anything"}, {})
    assert not covers_call(pattern, {"to": "a@example.net"}, {})
    assert not touches_call(pattern, {"to": "a@example.net"}, {})


def test_where_a_path_really_leads_decides() -> None:
    pattern = parse("write(path=/home/me/notes/**)").arguments
    elsewhere = {"path": ("/etc/passwd",)}
    assert not covers_call(pattern, {"path": "/home/me/notes/link"}, elsewhere)
    assert covers_call(pattern, {"path": "link"}, {"path": ("/home/me/notes/a", "notes/a")})
    assert covers_call(
        parse("write(path=notes/**)").arguments, {"path": "link"}, {"path": ("/home/me/notes/a", "notes/a")}
    )
    assert touches_call(parse("write(path=/etc/**)").arguments, {"path": "/home/me/notes/link"}, elsewhere)


@pytest.mark.parametrize(
    ("wanted", "command", "is_covered"),
    [
        (["git", "status", "*"], ["git", "status"], True),
        (["git", "status", "*"], ["git", "status", "-s", "x"], True),
        (["git", "status", "*"], ["git", "push"], False),
        (["git", "status"], ["git", "status", "-s"], False),
        (["git", "*", "-s"], ["git", "diff", "-s"], True),
        (["git", "*", "-s"], ["git", "-s"], False),
        (["git", "*"], ["/tmp/git", "status"], False),
    ],
)
def test_a_command_line_is_matched_word_by_word(wanted: list[str], command: list[str], is_covered: bool) -> None:
    pattern = parse(f"exec(command={str(wanted).replace(chr(39), chr(34))})").arguments
    assert covers_call(pattern, {"command": command}, {}) is is_covered
    assert not covers_call(pattern, {"command": command, "shell": True}, {})
    assert touches_call(pattern, {"command": ["anything at all"], "shell": True}, {})


@pytest.mark.parametrize(
    ("command", "is_inline"),
    [
        ("python -c x", True),
        ("python3.11 -Ic x", True),
        ("/usr/bin/python3 -cprint(1)", True),
        ("npx -c id", True),
        ("flock /tmp/lock -c id", True),
        ("make --eval=x:;id", True),
        ("tar --checkpoint-action=exec=id -cf a b", True),
        ("tar -cf a b", False),
        ("make test", False),
        ("npm run build", False),
        ("node --eval=x", True),
        ("node -p x", True),
        ("bash -lc x", True),
        ("env -S python", True),
        ("env A=1 nice -n 5 timeout 3 zsh -c x", True),
        ("perl -ne x", True),
        ("ruby -e x", True),
        ("php -r x", True),
        ("osascript -e x", True),
        ("awk x", True),
        ("BASH.EXE -c x", True),
        ("python script.py", False),
        ("node server.js --port 3", False),
        ("bash script.sh", False),
        ("git commit -c HEAD", False),
        ("ls -e", False),
    ],
)
def test_an_interpreter_with_its_program_on_the_command_line_is_seen(command: str, is_inline: bool) -> None:
    assert has_inline_code(command.split()) is is_inline


@pytest.mark.parametrize(
    ("wanted", "value", "allows", "denies"),
    [
        ("/home/me/**", "/home/me/notes/trip.md", True, True),
        ("/home/me/**", "/home/you/../me/trip.md", False, True),
        ("https://docs.python.org/*", "https://docs.python.org@evil.example/", False, False),
        ("*@example.net", ["a@example.net", "b@evil.example"], False, True),
        ('["python3","*"]', ["python3", "-c", "print(1)"], False, True),
    ],
)
def test_the_examples_of_the_page_are_true(wanted: str, value: Any, allows: bool, denies: bool) -> None:
    assert (covers(glob(wanted), value), touches(glob(wanted), value)) == (allows, denies)


_PIECES = (
    "a",
    "b",
    "/",
    "/",
    ".",
    "..",
    "*",
    "**",
    "\\",
    "~",
    "https://",
    "x.org",
    ":80",
    "@",
    "?",
    "%2e",
    "A",
    "é",
    "[",
    '"',
    " ",
)


def _text(chance: random.Random, most: int) -> str:
    return "".join(chance.choice(_PIECES) for _ in range(chance.randint(0, most)))


def test_whatever_a_pattern_allows_it_would_deny_as_well() -> None:
    chance, allowed = random.Random("both ways"), 0
    for _ in range(20_000):
        pattern = _text(chance, 6)
        value = pattern.replace("**", _text(chance, 3)).replace("*", _text(chance, 3))
        try:
            wanted = glob(pattern)
        except UsageError:
            continue
        if covers(wanted, value):
            allowed += 1
            assert touches(wanted, value), (pattern, value)
    assert allowed > 1_000


@pytest.mark.posix_only("paths as POSIX writes them")
def test_no_path_that_is_allowed_leads_out_of_its_folder() -> None:
    chance, wanted, allowed = random.Random("paths"), glob("/a/b/**"), 0
    for _ in range(20_000):
        value = "/a/" + _text(chance, 2) + "b/" + _text(chance, 5)
        if covers(wanted, value):
            allowed += 1
            assert os.path.normpath(value.replace("\\", "/")).startswith("/a/b"), value
    assert allowed > 100
