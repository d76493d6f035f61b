"""Programs that fetch a package and run it (`npx`, `uvx` and their like): whether the config says which version they run.

Without one they run whatever the registry gives on the day: another program than the one that was tried. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

# Launcher, the words that make it one, and its options that are followed by a value.
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
_LAUNCHERS: tuple[tuple[tuple[str, ...], frozenset[str]], ...] = (
    (("npx",), _NPX),
    (("bunx",), _NPX),
    (("npm", "exec"), _NPX),
    (("npm", "x"), _NPX),
    (("pnpx",), _NPX),
    (("pnpm", "dlx"), _NPX),
    (("yarn", "dlx"), _NPX),
    (("uvx",), _UVX),
    (("uv", "tool", "run"), _UVX),
    (("pipx", "run"), _UVX),
)
# Options that name the package where the program has another name, or another package beside it.
_NAMING = {False: ("-p", "--package"), True: ("--from", "--spec", "--with")}
# `name@1.2.3`, `name==1.2.3`; a tag, a range or a part of a version is whatever fits it on the day.
_EXACT = re.compile(r"(?:@v?|={2,3})\d+\.\d+(?:\.\d+)?[0-9A-Za-z.+-]*$")
_EXACT_NPM = re.compile(r".@v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*$")
_ENDINGS = (".cmd", ".exe")


def unpinned(command: str, args: Sequence[str]) -> tuple[str, ...]:
    """The packages that a command fetches in whatever version there is; none for any other command."""
    words = [_program(command), *args]
    if words[0] == "cmd" and len(words) > 2 and words[1].lower() == "/c":
        words = [_program(words[2]), *words[3:]]
    for launcher, valued in _LAUNCHERS:
        if tuple(words[: len(launcher)]) == launcher:
            is_python = valued is _UVX
            exact = _EXACT if is_python else _EXACT_NPM
            packages = _packages(words[len(launcher) :], valued, _NAMING[is_python])
            return tuple(package for package in packages if not _is_place(package) and not exact.search(package))
    return ()


def _program(command: str) -> str:
    name = PurePath(command.replace("\\", "/")).name.lower()
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def _packages(words: Sequence[str], valued: frozenset[str], naming: Sequence[str]) -> Iterator[str]:
    """The packages that are named, or the one word that is no option."""
    was_named = False
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if word.startswith("-") and word != "--":
            given = value if equals else next(rest, "") if option in (*naming, *valued) else ""
            if option in naming and given:
                # What stands beside the program is fetched too; the program's own package may still follow.
                was_named = was_named or option != "--with"
                yield given
        elif word != "--":
            if not was_named:
                yield word
            return


def _is_place(package: str) -> bool:
    """A file or a repository: what it is does not depend on a registry."""
    return package.startswith((".", "/", "~", "file:", "git+", "github:")) or "://" in package
