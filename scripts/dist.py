"""`make dist`: builds the wheel and the source distribution, from which the same wheel comes, then installs the wheel as strangers do and
uses it from there.

Each of pip, pipx and uv installs it into an environment of its own, and what they installed is used in an empty folder with an empty home,
so that nothing of the checkout is in reach: the version, a server that is connected, a call, an agent's turn, and the tour. Each extra is
installed without all others, and what it is for is used. Addresses of package indexes are left to the installers' own settings. Ends with
1 and a sentence at the first thing that is wrong.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from email.parser import BytesParser
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAME = "openclaw-host"
# Python, the page's files and a schema are in it. Half as much again as it has now: whoever adds data thinks about it.
MOST_BYTES = 2_500_000
# An environment is made and filled, on a busy machine with a cold cache.
INSTALL_SECONDS = 600.0
# The tour is the longest of what is run.
RUN_SECONDS = 300.0
# Written when a wheel is built, so that the same files give the same bytes.
EPOCH = "1700000000"
# The MCP client alone needs these.
CORE = ("msgspec", "jsonschema-rs", "uvloop")
# What each extra is for: what of ours it lets be imported, with the libraries that we import late.
EXTRAS = {
    "gateway": "import openclaw.gateway.http",
    "chat": "import openclaw.cli.line_editor, openclaw.cli.session_picker, openclaw.commands.screen.markdown",
    "tokens": "import openclaw.secrets.keychain, openclaw.mcp_server.rounds, cryptography.hazmat.primitives.asymmetric.ec",
    "skills": "from openclaw.skills.frontmatter import parse; assert parse('name: a') == {'name': 'a'}",
    "pdf": "import openclaw.agent.pdf_text; from pypdf import PdfReader",
    "code": "import openclaw.tools.code.sandbox_program",
    "aws": "import openclaw.secrets.aws; from boto3.session import Session",
    "gcp": "import openclaw.secrets.google_token; from google.auth import default",
    "azure": "import openclaw.secrets.azure; from azure.identity import DefaultAzureCredential",
    "otel": "import openclaw.telemetry.export",
    "postgres": "import openclaw.fleet.database, openclaw.fleet.faults",
}
SERVER = ROOT / "docs" / "examples" / "clock_server.py"


class DistError(Exception):
    """One sentence."""


def run(argv: Sequence[str | Path], env: Mapping[str, str], cwd: Path, seconds: float) -> str:
    """What it wrote to standard output; a failure has everything it said."""
    words = [str(word) for word in argv]
    done = subprocess.run(
        words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode:
        raise DistError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def build(target: Path) -> Path:
    """The wheel; the source distribution is beside it."""
    for old in target.glob("openclaw_host-*"):
        old.unlink()
    env = {"SOURCE_DATE_EPOCH": EPOCH, **os.environ}
    run([sys.executable, "-m", "hatchling", "build", "-d", target], env, ROOT, INSTALL_SECONDS)
    (wheel,) = target.glob("openclaw_host-*.whl")
    (source,) = target.glob("openclaw_host-*.tar.gz")
    for file in (wheel, source):
        print(f"{file.name}: {file.stat().st_size:,} bytes")
    build_again(source, wheel, env)
    return wheel


def build_again(source: Path, wheel: Path, env: Mapping[str, str]) -> None:
    """Whoever has the source distribution alone, such as a Linux distribution, gets the same wheel from it."""
    with tempfile.TemporaryDirectory(prefix="openclaw-source-") as name:
        folder = Path(name)
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        (unpacked,) = folder.iterdir()
        run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], env, unpacked, INSTALL_SECONDS)
        if (folder / wheel.name).read_bytes() != wheel.read_bytes():
            raise DistError(f"{source.name} makes another {wheel.name} than the checkout does.")


def inspect(wheel: Path) -> None:
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        raise DistError(f"The wheel has {size:,} bytes, more than the {MOST_BYTES:,} that scripts/dist.py allows.")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    strangers = [name for name in names if not name.startswith(("openclaw/", "openclaw_host-"))]
    if strangers:
        raise DistError(f"The wheel would install beside our package: {', '.join(strangers)}.")
    missing = {"openclaw/py.typed", "openclaw/__main__.py", "openclaw/config/openclaw.schema.json"} - set(names)
    if missing:
        raise DistError(f"The wheel lacks {', '.join(sorted(missing))}.")


class Place:
    """A folder away from the checkout, with the installers in it, and homes for what they install."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The installers' own settings are in the environment and the home of whoever runs this.
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self.env = {
            **kept,
            "PIPX_HOME": str(folder / "pipx"),
            "PIPX_BIN_DIR": str(folder / "pipx" / "bin"),
            "UV_TOOL_DIR": str(folder / "uv"),
            "UV_TOOL_BIN_DIR": str(folder / "uv" / "bin"),
        }

    def environment(self, name: str, *install: str | Path) -> Path:
        """A bare environment into which pip installs this; its programs."""
        made = self.folder / name
        run([sys.executable, "-m", "venv", made], self.env, self.folder, INSTALL_SECONDS)
        run([made / "bin" / "python", "-m", "pip", "install", *install], self.env, self.folder, INSTALL_SECONDS)
        return made / "bin"

    def use(self, program: Sequence[str | Path], title: str, version: str) -> None:
        """As its first user does, who has nothing but it and a server."""
        home = self.folder / f"home of {title}"
        home.mkdir()
        server = home / "clock_server.py"
        server.write_bytes(SERVER.read_bytes())
        env = {**self.env, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "OPENCLAW_HOME": str(home)}

        def openclaw(*words: str | Path) -> str:
            return run([*program, *words], env, home, RUN_SECONDS)

        expect(openclaw("--version"), f"openclaw {version}")
        expect(openclaw("mcp", "connect", "--name", "clock", "--yes", sys.executable, server), "Added clock")
        expect(openclaw("mcp", "call", "clock__now", "format=year %Y"), "year 2")
        expect(openclaw("agent", "-m", 'clock__now {"format": "year %Y"}'), "year 2")
        expect(openclaw("demo"), "That was all, and it is gone.")
        print(f"{title}: version, server, call, turn and tour work")


def expect(said: str, words: str) -> None:
    if words not in said:
        raise DistError(f"{words!r} was expected in:\n{said}")


def not_from_the_checkout(python: Path, env: Mapping[str, str], folder: Path) -> None:
    where = run([python, "-c", "import openclaw; print(openclaw.__file__)"], env, folder, RUN_SECONDS).strip()
    if Path(where).is_relative_to(ROOT):
        raise DistError(f"What was installed leads back to the checkout: {where}")


def try_out(wheel: Path, folder: Path) -> None:
    place = Place(folder)
    version = wheel.name.split("-")[1]
    bare = place.environment("pip", wheel)
    not_from_the_checkout(bare / "python", place.env, folder)
    place.use([bare / "openclaw"], "pip", version)
    # The MCP client alone, with its three libraries.
    core = place.environment("core", *CORE)
    run([core / "python", "-m", "pip", "install", "--no-deps", wheel], place.env, folder, INSTALL_SECONDS)
    for name in ("embed_engine.py", SERVER.name):
        (core / name).write_bytes((ROOT / "docs" / "examples" / name).read_bytes())
    expect(run([core / "python", core / "embed_engine.py"], place.env, folder, RUN_SECONDS), "answer: 2")
    env = {**place.env, "OPENCLAW_HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    command: list[str | Path] = [core / "openclaw", "gateway", "run"]
    refused = subprocess.run(command, env=env, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    expect(refused.stderr, "needs the library aiohttp")
    print("pip: the MCP client works with its three libraries alone")
    tools = place.environment("tools", "--require-hashes", "-r", ROOT / "requirements" / "dist.lock")
    try_extras(place, wheel, tools / "uv")
    run([tools / "pipx", "install", wheel], place.env, folder, INSTALL_SECONDS)
    not_from_the_checkout(folder / "pipx" / "venvs" / NAME / "bin" / "python", place.env, folder)
    place.use([folder / "pipx" / "bin" / "openclaw"], "pipx", version)
    run([tools / "uv", "tool", "install", "--python", sys.executable, wheel], place.env, folder, INSTALL_SECONDS)
    not_from_the_checkout(folder / "uv" / NAME / "bin" / "python", place.env, folder)
    place.use([folder / "uv" / "bin" / "openclaw"], "uv", version)
    place.use([tools / "uvx", "--python", sys.executable, "--from", wheel, "openclaw"], "uvx", version)
    same = run(
        [tools / "uvx", "--python", sys.executable, "--from", wheel, NAME, "--version"], place.env, folder, RUN_SECONDS
    )
    expect(same, f"openclaw {version}")


def extras_of(wheel: Path) -> dict[str, list[str]]:
    """What each extra asks for, by what the wheel itself says."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(archive.read(name))
    asked: dict[str, list[str]] = {extra: [] for extra in metadata.get_all("Provides-Extra", [])}
    for row in metadata.get_all("Requires-Dist", []):
        library, _, condition = row.partition(";")
        if extra := re.search(r"extra == '([a-z]+)'", condition):
            asked[extra[1]].append(library.strip())
    return asked


def try_extras(place: Place, wheel: Path, uv: Path) -> None:
    """Each beside the MCP client's three libraries and nothing else, so that none lives on another's."""
    asked = extras_of(wheel)
    if asked.keys() != EXTRAS.keys():
        raise DistError(f"scripts/dist.py tries {sorted(EXTRAS)}, and the wheel has {sorted(asked)}.")
    for extra, libraries in asked.items():
        made = place.folder / f"extra {extra}"
        python = made / "bin" / "python"
        run([uv, "venv", "--python", sys.executable, made], place.env, place.folder, INSTALL_SECONDS)
        install: list[str | Path] = [uv, "pip", "install", "--python", python]
        run([*install, "--no-deps", wheel], place.env, place.folder, INSTALL_SECONDS)
        run([*install, *CORE], place.env, place.folder, INSTALL_SECONDS)
        lacking = subprocess.run(
            [python, "-c", EXTRAS[extra]], env=place.env, cwd=place.folder, capture_output=True, check=False
        )
        if lacking.returncode == 0:
            raise DistError(f"What the extra {extra} is for works without it.")
        run([*install, *libraries], place.env, place.folder, INSTALL_SECONDS)
        run([python, "-c", EXTRAS[extra]], place.env, place.folder, RUN_SECONDS)
    print(f"uv: each of {len(asked)} extras is enough for what it is for")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="where the two files go (default: dist)")
    parser.add_argument("--build-only", action="store_true", help="install and try nothing")
    asked = parser.parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    try:
        wheel = build(asked.to.resolve())
        inspect(wheel)
        if not asked.build_only:
            with tempfile.TemporaryDirectory(prefix="openclaw-dist-") as folder:
                try_out(wheel, Path(folder).resolve())
    except (DistError, subprocess.TimeoutExpired) as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
