"""The manual page: every command in it, and nothing that a reader of such pages would take amiss."""

import re
import shutil
import subprocess

import pytest

from openclaw.commands.man_page import man_page
from openclaw.commands.options import SHARED
from openclaw.commands.parse import Argument, Command, Option
from openclaw.program import ROOT

PAGE = man_page(ROOT, SHARED, "1.2.3")


def leaves(command: Command, trail: tuple[str, ...] = ()) -> list[str]:
    if command.hidden or command.means:
        return []
    if command.children:
        return [line for child in command.children for line in leaves(child, (*trail, child.name))]
    return [" ".join(("openclaw", *trail))]


def test_every_command_that_help_lists_has_its_place() -> None:
    headings = [re.sub(r"\\-", "-", line) for line in PAGE.splitlines() if line.startswith(".SS ")]
    missing = [words for words in leaves(ROOT) if not any(line.startswith(f'.SS "{words}') for line in headings)]
    assert missing == []


def test_what_words_say_is_text_to_a_reader_of_pages_and_never_a_macro() -> None:
    odd = Command(
        "odd",
        ".SH is no heading",
        handler="x:y",
        details="'quoted' \\fBnot bold\\fP\n  indented - \"so\" … ä",
        options=(Option("so", "Is it?", value="WORD", short="-s"),),
        arguments=(Argument("what", "One.", choices=("a", "b")),),
    )
    page = man_page(Command("openclaw", "Top.", children=(odd,)), (), "1.2.3")
    assert page[page.index(".SH COMMANDS") : page.index(".SH OPTIONS")].splitlines() == [
        ".SH COMMANDS",
        '.SS "openclaw odd WHAT [options]"',
        "\\&.SH is no heading",
        ".PP",
        "\\(aqquoted\\(aq \\efBnot bold\\efP",
        ".br",
        "indented \\- \\(dqso\\(dq ... \\[u00E4]",
        ".TP",
        ".B WHAT",
        "One. One of a, b.",
        ".TP",
        ".B \\-s, \\-\\-so WORD",
        "Is it?",
    ]


def test_the_page_is_plain_text_without_a_macro_of_our_own() -> None:
    assert PAGE.isascii()
    assert {line.split()[0] for line in PAGE.splitlines() if line.startswith(".")} <= {
        *(".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".br")
    }


@pytest.mark.full
def test_groff_takes_the_page_without_a_warning() -> None:
    groff = shutil.which("groff")
    assert groff is not None, "apt-get install groff-base"
    done = subprocess.run([groff, "-ww", "-man", "-Tutf8"], input=PAGE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "openclaw mcp call" in re.sub(r"\x1b\[\d*m", "", done.stdout)
