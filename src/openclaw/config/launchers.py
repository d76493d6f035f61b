"""Programs that fetch a package and run it (`npx`, `uvx` and their like): which there are, what they run, and in which version.

Such a launcher looks like the server that it starts, and is silent while it fetches it. Without a version in the config it runs whatever
the registry gives on the day: another program than the one that was tried. Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Literal

import msgspec

# Options that are followed by a value.
_NPX = frozenset(
    {"-c", "--call", "--prefix", "--registry", "--cache", "-w", "--workspace", "--loglevel", "--userconfig"}
)
_UVX = frozenset(
    {
        "-p", "--python", "-i", "--index", "--default-index", "--index-url", "--extra-index-url", "-f", "--find-links", "--cache-dir",
        "--config-file", "--directory", "--project", "--env-file", "--link-mode", "--index-strategy", "--keyring-provider",
        "--resolution", "--prerelease", "--with-requirements", "--constraints", "-c", "--color", "--pip-args",
    }
)  # fmt: skip

Registry = Literal["npm", "pypi"]
# The words that make a command one, and where its packages come from; None where it runs something else than a package of a registry.
_LAUNCHERS: Mapping[tuple[str, ...], Registry | None] = {
    ("npx",): "npm",
    ("bunx",): "npm",
    ("bun", "x"): "npm",
    ("npm", "exec"): "npm",
    ("npm", "x"): "npm",
    ("pnpx",): "npm",
    ("pnpm", "dlx"): "npm",
    ("yarn", "dlx"): "npm",
    ("uvx",): "pypi",
    ("uv", "tool", "run"): "pypi",
    ("pipx", "run"): "pypi",
    ("uv", "run"): None,
    ("docker", "run"): None,
    ("podman", "run"): None,
}
# Options that name the package where the program has another name, or another package beside it.
_NAMING: Mapping[Registry, Sequence[str]] = {"npm": ("-p", "--package"), "pypi": ("--from", "--spec", "--with")}
_VALUED: Mapping[Registry, frozenset[str]] = {"npm": _NPX, "pypi": _UVX}
# `name@1.2.3`, `name==1.2.3`; a tag, a range or a part of a version is whatever fits it on the day.
_EXACT: Mapping[Registry, re.Pattern[str]] = {
    "npm": re.compile(r".@v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*$"),
    "pypi": re.compile(r"(?:@v?|={2,3})\d+\.\d+(?:\.\d+)?[0-9A-Za-z.+-]*$"),
}
_ENDINGS = (".cmd", ".exe")


class Launch(msgspec.Struct, frozen=True):
    """What a launcher was told: the words behind its own."""

    registry: Registry | None
    words: Sequence[str]

    @property
    def packages(self) -> Sequence[str]:
        """What it fetches: the packages that are named, or the one word that is no option."""
        if self.registry is None:
            return tuple(word for word in self.words if not word.startswith("-"))[:1]
        return tuple(package for package, _ in _packages(self.words, _VALUED[self.registry], _NAMING[self.registry]))

    @property
    def main(self) -> str:
        """The one of them that the program is in, and not beside it; empty when none is named."""
        if self.registry is None:
            return next(iter(self.packages), "")
        found = _packages(self.words, _VALUED[self.registry], _NAMING[self.registry])
        return next((package for package, is_beside in found if not is_beside), "")


def launch(command: str, args: Sequence[str]) -> Launch | None:
    """What a launcher fetches and runs; None for any other command."""
    words = [_program(command), *args]
    if words[0] == "cmd" and len(words) > 2 and words[1].lower() == "/c":
        words = [_program(words[2]), *words[3:]]
    for own, registry in _LAUNCHERS.items():
        # Options may stand before the word that says what is to be done.
        start = next((place for place, word in enumerate(words) if place and not word.startswith("-")), 1)
        behind = words[start:] if len(own) > 1 else words[1:]
        if (words[0], *behind[: len(own) - 1]) == own:
            return Launch(registry, behind[len(own) - 1 :])
    return None


def unpinned(command: str, args: Sequence[str]) -> tuple[str, ...]:
    """The packages that a command fetches in whatever version there is; none for any other command."""
    found = launch(command, args)
    if found is None or found.registry is None:
        return ()
    exact = _EXACT[found.registry]
    return tuple(package for package in found.packages if not _is_place(package) and not exact.search(package))


def _program(command: str) -> str:
    """A program without its directory and the ending that Windows gives it."""
    name = PurePath(command.replace("\\", "/")).name.lower()
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def _packages(words: Sequence[str], valued: frozenset[str], naming: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each package, and whether it is only fetched beside the program."""
    was_named = False
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if word.startswith("-") and word != "--":
            given = value if equals else next(rest, "") if option in (*naming, *valued) else ""
            if option in naming and given:
                # What stands beside the program is fetched too; the program's own package may still follow.
                is_beside = option == "--with"
                was_named = was_named or not is_beside
                yield given, is_beside
        elif word != "--":
            if not was_named:
                yield word, False
            return


def _is_place(package: str) -> bool:
    """A file or a repository: what it is does not depend on a registry."""
    return package.startswith((".", "/", "~", "file:", "git+", "github:")) or "://" in package
