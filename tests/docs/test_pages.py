"""Every page of the documentation is carried out, and everything it names exists. tests/parts/pages.py says how pages are written."""

import re
from pathlib import Path

import pytest

from openclaw.commands.parse import Command
from openclaw.commands.slash import BUILT_IN
from openclaw.config.schema import fields
from openclaw.program import ROOT as TABLE
from parts.pages import DOCS, ROOT, Stage, blocks_of, name_of, pages, story

_CODE = re.compile(r"```.*?```|`([^`\n]+)`", re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_SETTING = re.compile(r"[a-zA-Z]+(?:\.[A-Za-z0-9_<>*-]+(?:\[\])?)+")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


# Pages with something to run. README.md has a test of its own, which does nothing but what it says.
STORIES = [
    page
    for page in pages()
    if page != ROOT / "README.md"
    and any("not run" not in block.notes for block in blocks_of(read(page), name_of(page)))
]


@pytest.mark.requirement("001-9-docs")
@pytest.mark.parametrize("page", STORIES, ids=name_of)
def test_a_reader_who_does_what_the_page_says_sees_what_it_shows(page: Path, tmp_path: Path, stand_ins: Path) -> None:
    stage = Stage(tmp_path, [stand_ins])
    try:
        for block in story(page):
            stage.run(block)
    finally:
        stage.end()


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = _FENCED.sub("", read(page))
    lost = [link for link in _LINK.findall(text) if not leads_somewhere(page, link)]
    assert lost == []


def leads_somewhere(page: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return True
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or anchor in {slug(heading) for heading in _HEADING.findall(_FENCED.sub("", read(target)))}


def slug(heading: str) -> str:
    """The anchor that renderers give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_the_index_links_every_page() -> None:
    index = DOCS / "README.md"
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in _LINK.findall(read(index))}
    # Decisions have an index of their own.
    everything = {page for page in DOCS.rglob("*.md") if page != index and page.parent.name != "decisions"}
    assert {name_of(page) for page in everything - linked} == set()


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    assert [line for line in inline_code(page) if not is_known_command(line)] == []


def inline_code(page: Path) -> list[str]:
    return [found for found in _CODE.findall(read(page)) if found]


def is_known_command(line: str) -> bool:
    """True for what is no command of ours at all, too."""
    if line.startswith(("openclaw ", ".venv/bin/openclaw ")):
        words = line.split()[1:]
        return is_known(TABLE, [word for word in words if not word.startswith("-")], words)
    if line.startswith("/mcp "):
        mcp = TABLE.child("mcp")
        assert mcp is not None
        words = line.split()[1:]
        return words[0] in ("help", "…") or is_known(mcp, [word for word in words if not word.startswith("-")], words)
    return not re.fullmatch(r"/(help|new|tools|status|quit)\b.*", line) or line[1:].split()[0] in BUILT_IN


def is_known(command: Command, names: list[str], words: list[str]) -> bool:
    """Whether the words lead to a command, and the options are among those it has."""
    while command.children and names and names[0] not in ("…", "COMMAND"):
        child = command.child(names[0].rstrip("…"))
        if child is None and any(word.startswith("-") for word in words):
            # The name may be the value of an option of the command that runs when none is named.
            child, names = command.child(command.default), ["", *names]
        if child is None:
            return False
        command, names = child, names[1:]
    known = {option.flag for option in command.options} | {option.short for option in command.options if option.short}
    known |= {"--config", "--local", "--log-level", "--log-json", "--no-color", "--version", "--help", "-h"}
    verbatim = any(argument.verbatim for argument in command.arguments)
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    return verbatim or bool(command.children) or given <= known


SETTINGS = [(field.path.replace("<name>", "*").replace("[]", ".[]").split("."), field.kind) for field in fields()]
SECTIONS = {path[0] for path, _ in SETTINGS}
FILES = (".py", ".md", ".json", ".json5", ".jsonl", ".svg", ".sqlite")


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    named = [code for code in inline_code(page) if _SETTING.fullmatch(code) and not code.endswith(FILES)]
    unknown = [code for code in named if code.split(".")[0] in SECTIONS and not is_known_setting(code)]
    assert unknown == []


def is_known_setting(written: str) -> bool:
    """A path, the beginning of one, or a key of an object whose keys are free. `*` and `<name>` stand for any name."""
    words = written.replace("[]", ".[]").split(".")
    return any(fits(words, path) and (len(words) <= len(path) or kind == "an object") for path, kind in SETTINGS)


def fits(written: list[str], known: list[str]) -> bool:
    pairs = zip(written, known, strict=False)
    return all(one == other or other in ("*", "[]") or one in ("*", "<name>") for one, other in pairs)


# Nothing of ours is published. A package of that name on an index is somebody else's, and installing it runs their code; so it would be
# with our own name, if somebody took it first.
DISTRIBUTION = re.compile(r"(?<![\w./-])openclaw[-_.]py(?![\w-])", re.IGNORECASE)
INSTALLER = re.compile(
    r"""(?:\bpip3?\s+install|\bpipx\s+(?:install|run)|\buvx|\buv\s+(?:add|tool\s+(?:install|run))|--from)   # asks an index …
        (?:[\s"',\[]+-[\w-]+)*[\s"',\[]+                                                                  # … past its options …
        openclaw(?:[-_.]host)?(?![\w/-])                                                                 # … for what is not a path.
    """,
    re.VERBOSE,
)
WRITTEN = [*pages(), *sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "examples").rglob("*.toml"))]


@pytest.mark.parametrize(
    "line",
    [
        "pip install openclaw",
        'pip install "openclaw[gcp]"',
        "pipx install --force openclaw",
        "uvx openclaw mcp-server",
        "uv tool install openclaw",
        '"uvx", "args": ["--from", "openclaw", "openclaw", "mcp-server"]',
        "uv tool install openclaw-host",
        'dependencies = ["openclaw-py"]',
        'pip install "openclaw_py[aws]"',
    ],
)
def test_a_line_that_fetches_our_name_from_an_index_is_recognised(line: str) -> None:
    assert asks_an_index_for_us(line) == [line]


def test_nobody_is_told_to_install_our_name_from_an_index() -> None:
    told = {name_of(path): asks_an_index_for_us(read(path)) for path in WRITTEN}
    assert {name: lines for name, lines in told.items() if lines} == {}


def asks_an_index_for_us(text: str) -> list[str]:
    return [line for line in text.splitlines() if DISTRIBUTION.search(line) or INSTALLER.search(line)]
