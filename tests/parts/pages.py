"""The documentation as a reader uses it: the code blocks of a page, and a stage on which they are carried out in order.

A page is one story. It gets a HOME with nothing in it but a copy of the checkout, where it starts, under a name that no page can guess;
`openclaw` is not on the PATH. A page that links to the section "Before you start" of docs/README.md has a reader who did what that section
says. The blocks are carried out from the first to the last, each seeing what the ones before it left. What becomes of a block is decided by
the language of its fence:

    json5     A whole openclaw.json. It loads without a warning and is written to ~/.openclaw/openclaw.json.
    json      It is JSON.
    toml      It is TOML.
    sh        bash runs it and ends with 0. `cd` and `export` stay in force for the blocks that follow.
    console   A terminal. Lines that start with `$ ` are run, as under `sh`; the other lines are what the reader sees: each stands
              in the output, in this order. `…` in them is anything, two blanks or more are blanks. The output may have more lines,
              but no warning and no error in the log.
    python    Python runs it and ends with 0.

An HTML comment right above a fence says what cannot be seen:

    <!-- not run: REASON -->      Nothing is done with the block. Every block that none of the above fits needs this, or `file`.
    <!-- file: PATH -->           The block is written to this file (~ is HOME), and nothing else is done with it.
    <!-- in: a.b.c -->            json5: this stands at a.b.c of a config. It is checked there, and not written.
    <!-- exit: N -->              console, sh, python: the last command ends with N.
    <!-- afresh -->               Another reader starts here: there is no ~/.openclaw.
    <!-- refused -->              json5: loading it is an error, and the page shows which.

`Stage.run` does all this; tests/docs/ calls it for every page.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.config.load import parse_config
from openclaw.errors import ConfigError
from parts import loaded

ROOT = Path(__file__).parents[2]
# What programs that download things may need to know about this machine.
_DOWNLOADS = (
    "PIP_",
    "UV_",
    "NPM_",
    "npm_",
    "SSL_",
    "REQUESTS_",
    "NODE_EXTRA",
    "http_",
    "https_",
    "no_",
    "HTTP",
    "NO_PROXY",
)
DOCS = ROOT / "docs"
# Nothing on a page takes long. Well below pytest's own bound: a page that hangs says which line hung.
SECONDS = 90.0

_FENCE = re.compile(r"^( *)(```+|~~~+)[ \t]*(\S*)[^\n]*\n(.*?)^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!--\s*([a-z ]+?)\s*(?::\s*(.*?))?\s*-->[ \t]*\n?\Z", re.DOTALL)
_NOTES = frozenset({"not run", "file", "in", "exit", "refused", "afresh"})
_VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z_][A-Z0-9_]*)\}")
_ANYTHING = "…"
# A line of the log that a reader would be worried by, and look for on the page.
_FAULT = re.compile(r"\S+Z (?:WARNING|ERROR|CRITICAL) ")
# What pages ask of their readers stands there, once.
_BEFORE = re.compile(r"\]\((?:\.\./)*(?:docs/)?README\.md#before-you-start\)")
_BEFORE_SECTION = re.compile(r"^## Before you start$.*?(?=^## )", re.MULTILINE | re.DOTALL)
# A shell that ends says where it is and what it exported, but for what it tells about itself.
_OF_THE_SHELL = frozenset({"_", "PWD", "OLDPWD", "SHLVL"})


@dataclass(frozen=True)
class Block:
    """One fenced block. `place` is `file:line` of its fence; `notes` are the comments right above it."""

    place: str
    language: str
    text: str
    notes: Mapping[str, str] = field(default_factory=dict)


class BadPage(AssertionError):
    """A page that says what is not so, or that the harness cannot understand."""


def pages() -> list[Path]:
    """Everything that is written for people, but for the list of changes."""
    own = (
        "AGENTS.md",
        "ARCHITECTURE.md",
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "README.md",
        "SECURITY.md",
        "VISION.md",
    )
    return [
        *(ROOT / name for name in (*own, "tests/README.md")),
        *sorted(DOCS.rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
    ]


def story(page: Path) -> list[Block]:
    """The blocks of a page, after those that it asks its reader to have carried out."""
    text = page.read_text(encoding="utf-8")
    index = DOCS / "README.md"
    before = (
        _BEFORE_SECTION.search(index.read_text(encoding="utf-8")) if page != index and _BEFORE.search(text) else None
    )
    asked = blocks_of(before[0], "docs/README.md, Before you start") if before else ()
    return [*asked, *blocks_of(text, name_of(page))]


def path_without_this_environment() -> str:
    """The PATH of somebody who has just opened a terminal."""
    return os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if not folder.startswith(str(ROOT))
    )


def downloads() -> dict[str, str]:
    """The variables of this machine that installers go by."""
    return {name: value for name, value in os.environ.items() if name.startswith(_DOWNLOADS)}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else page.name


def blocks_of(text: str, name: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        indent, _, language, body = found.groups()
        lines = [line.removeprefix(indent) for line in body.splitlines(keepends=True)]
        place = f"{name}:{text.count(chr(10), 0, found.start()) + 1}"
        yield Block(place, language, "".join(lines), _notes(text[: found.start()], place))


def _notes(before: str, place: str) -> dict[str, str]:
    notes: dict[str, str] = {}
    while (found := _NOTE.search(before[before.rfind("<!--") :] if "<!--" in before else "")) is not None:
        key, value = found[1], found[2] or ""
        if key in notes or key not in _NOTES:
            # A comment of another kind, such as the mark of a generated part.
            break
        if key == "not run" and len(value.split()) < 2:
            raise BadPage(f"{place}: `not run` needs a reason")
        notes[key] = value
        before = before[: before.rfind("<!--")].rstrip()
    return notes


def checkout(folder: Path) -> Path:
    """A copy of what a reader has in front of them, without its history and what was built there, with the environment and the source that
    are already there, and with a program that is loaded already.

    No page changes those, and hundreds of files for each page take longer to write and to remove than the page to run.
    """
    ignored = shutil.ignore_patterns(".*", "__pycache__", "tests", "bench", "src", "build", "dist")
    shutil.copytree(ROOT, folder, ignore=ignored)
    (folder / "src").symlink_to(ROOT / "src")
    here, there = folder / ".venv", ROOT / ".venv"
    (here / "bin").mkdir(parents=True)
    for place in (*there.iterdir(), *(there / "bin").iterdir()):
        if place.name not in ("bin", "openclaw"):
            (here / place.relative_to(there)).symlink_to(place)
    loaded.link(here / "bin" / "openclaw")
    return folder


class Stage:
    """Where one page is carried out. `programs` are found before all others on PATH; `start` is where it begins, if not in a checkout."""

    def __init__(
        self,
        folder: Path,
        programs: Sequence[Path] = (),
        *,
        env: Mapping[str, str] | None = None,
        start: Path | None = None,
        patience: float = SECONDS,
    ) -> None:
        self._patience = patience
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.cwd = start or checkout(self.home / "some where" / "claw")
        self._after = folder / "after"
        self.env = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*map(str, programs), path_without_this_environment()]),
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
            # Nobody listens there: a model server of the person who runs the tests stays out of them.
            "OLLAMA_HOST": "127.0.0.1:9",
            **(env or {}),
        }

    def run(self, block: Block) -> None:
        if "not run" in block.notes:
            return
        if "afresh" in block.notes:
            shutil.rmtree(self.home / ".openclaw")
        if "file" in block.notes:
            self._write(block.notes["file"], block.text)
            return
        runner = _RUNNERS.get(block.language)
        if runner is None:
            raise BadPage(
                f"{block.place}: nothing is known about ```{block.language}; say why it is not run, or which file it is"
            )
        runner(self, block)

    def end(self) -> None:
        """Stop the gateway that a page started and did not stop, because it failed before that."""
        if (self.home / ".openclaw" / "py" / "gateway.lock").exists():
            argv = [sys.executable, "-m", "openclaw", "gateway", "stop"]
            subprocess.run(argv, cwd=self.home, env=self.env, timeout=SECONDS, check=False, stdout=subprocess.DEVNULL)

    def path(self, written: str) -> Path:
        return self.home / written[2:] if written.startswith("~/") else self.cwd / written

    def _write(self, written: str, text: str) -> None:
        path = self.path(written)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)

    def _json5(self, block: Block) -> None:
        text = block.text
        if at := block.notes.get("in"):
            body = text if text.lstrip().startswith("{") else f"{{{text}}}"
            for key in reversed(at.split(".")):
                body = f"{{{json.dumps(key)}: {body}}}"
            text = body
        env = {**self.env, **{name: "a-value-for-the-page" for name in _VARIABLE.findall(text) if name not in self.env}}
        try:
            loaded = parse_config(text, env=env, file=block.place)
            if loaded.refusals:
                raise ConfigError(loaded.refusals)
        except ConfigError as error:
            if "refused" not in block.notes:
                raise BadPage(f"{block.place}: this config does not load:\n{error}") from None
        else:
            if "refused" in block.notes:
                raise BadPage(f"{block.place}: this config should be refused, and it loads")
            if loaded.warnings:
                raise BadPage(f"{block.place}: {[str(warning) for warning in loaded.warnings]}")
        if "in" not in block.notes:
            self._write("~/.openclaw/openclaw.json", text)

    def _json(self, block: Block) -> None:
        try:
            json.loads(block.text)
        except ValueError as error:
            raise BadPage(f"{block.place}: this is not JSON: {error}") from None

    def _toml(self, block: Block) -> None:
        try:
            tomllib.loads(block.text)
        except ValueError as error:
            raise BadPage(f"{block.place}: this is not TOML: {error}") from None

    def _sh(self, block: Block) -> None:
        self._shell(block.text, block.place, int(block.notes.get("exit", "0")))

    def _console(self, block: Block) -> None:
        commands = list(_commands(block))
        for index, (place, command, shown) in enumerate(commands):
            last = index == len(commands) - 1
            output = self._shell(command, place, int(block.notes.get("exit", "0")) if last else 0)
            missing = first_missing(shown, output)
            if missing is not None:
                raise BadPage(f"{place}: `{command}` does not show the line\n  {missing}\nIt shows:\n{output}")
            if kept_back := [line for line in output.splitlines() if _FAULT.match(line) and not is_shown(line, shown)]:
                raise BadPage(f"{place}: `{command}` logs what the page does not show:\n" + "\n".join(kept_back))

    def _python(self, block: Block) -> None:
        self._end([sys.executable, "-"], block.text, block.place, int(block.notes.get("exit", "0")))

    def _shell(self, script: str, place: str, code: int) -> str:
        after = f"trap 'env -0 > \"{self._after}\"' EXIT\n"
        output = self._end(["bash", "-e", "-u", "-o", "pipefail", "-c", after + script], "", place, code)
        exported = dict(line.split("=", 1) for line in self._after.read_text(encoding="utf-8").split("\0") if line)
        self.cwd = Path(exported["PWD"])
        self.env = {name: value for name, value in exported.items() if name not in _OF_THE_SHELL}
        return output

    def _end(self, argv: list[str], given: str, place: str, code: int) -> str:
        """What a program prints, when it ends as it should."""
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            cwd=self.cwd,
            env=self.env,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(given, timeout=self._patience)
        except subprocess.TimeoutExpired as error:
            raise BadPage(f"{place}: no end after {self._patience} s; so far: {error.output!r}") from None
        finally:
            if process.poll() is None:
                # What it started ends with it.
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode != code:
            raise BadPage(f"{place}: ended with {process.returncode}, not with {code}:\n{output}")
        return output


_RUNNERS = {
    "json5": Stage._json5,
    "json": Stage._json,
    "toml": Stage._toml,
    "sh": Stage._sh,
    "console": Stage._console,
    "python": Stage._python,
}


def _commands(block: Block) -> Iterator[tuple[str, str, list[str]]]:
    """Each command of a terminal, with its place and the lines shown below it."""
    name, _, start = block.place.rpartition(":")
    found: list[tuple[str, list[str], list[str]]] = []
    for number, line in enumerate(block.text.splitlines(), int(start) + 1):
        if line.startswith("$ "):
            found.append((f"{name}:{number}", [line[2:]], []))
        elif not found:
            raise BadPage(f"{name}:{number}: a terminal starts with a command: `$ …`")
        elif found[-1][1][-1].endswith("\\") and not found[-1][2]:
            found[-1][1].append(line)
        else:
            found[-1][2].append(line)
    for place, command, shown in found:
        yield place, "\n".join(command), shown


def is_shown(line: str, shown: Sequence[str]) -> bool:
    return any(
        _pattern(wanted).fullmatch(line.rstrip()) for wanted in map(str.rstrip, shown) if wanted not in ("", _ANYTHING)
    )


def _pattern(wanted: str) -> re.Pattern[str]:
    # How wide a column is depends on what else stands in it.
    pieces = [r"\s+".join(map(re.escape, re.split(r" {2,}", piece))) for piece in wanted.split(_ANYTHING)]
    return re.compile(".*".join(pieces))


def first_missing(shown: Sequence[str], output: str) -> str | None:
    """The first shown line that does not stand in the output after those before it; None when all do."""
    lines = iter(output.splitlines())
    for line in shown:
        wanted = line.rstrip()
        if wanted in ("", _ANYTHING):
            continue
        pattern = _pattern(wanted)
        if not any(pattern.fullmatch(candidate.rstrip()) for candidate in lines):
            return line
    return None
