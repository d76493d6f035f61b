"""`make dist`: builds the wheel and the source distribution, then installs the wheel as strangers do and uses it from there.

Each of pip, pipx and uv installs it into an environment of its own, and what they installed is used in an empty folder with an empty home,
so that nothing of the checkout is in reach: the version, a server that is connected, a call, an agent's turn, and the tour. Addresses of
package indexes are left to the installers' own settings. Ends with 1 and a sentence at the first thing that is wrong.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAME = "openclaw-host"
# Nothing but Python text is in it. Twice what it has now: whoever adds data thinks about it.
MOST_BYTES = 2_500_000
# An environment is made and filled, on a busy machine with a cold cache.
INSTALL_SECONDS = 600.0
# The tour is the longest of what is run.
RUN_SECONDS = 300.0
# Written when a wheel is built, so that the same files give the same bytes.
EPOCH = "1700000000"
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
    return wheel


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
    core = place.environment("core", "msgspec", "jsonschema-rs", "uvloop")
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
