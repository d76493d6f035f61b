"""Where skills are looked for, and how far.

Roots in order of precedence: a skill keeps its name against every later one of the same name.

    ~/.agents/skills            personal    only with the usual state directory, which is whose home it is
    <state>/skills              managed
    <state>/agents/<id>/agent/workshop-skills   workshop
    (in this package)           bundled
    skills.load.extraDirs       extra
    <workspace>/skills, <workspace>/.agents/skills   workspace

Other implementations put the workspace first. Here it comes last, on purpose: nothing changes by being found in a workspace, and a
project that brings a skill called like one of yours must not take its place.

A file counts only when its real path lies under the root's (and a workspace root under the workspace): links do not lead out.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from openclaw.skills.frontmatter import parse, split
from openclaw.skills.skill import Skill, SkillFault, Skipped, Source, read_skill

FILE_NAME = "SKILL.md"
BUNDLED = Path(__file__).parent / "bundled"
# Skills are grouped in folders; six levels are more than anybody uses. A configured root is already the right place.
DEPTH = 6
CONFIGURED_DEPTH = 2
# Directories looked into below one root before the search ends: a root may turn out to be somebody's home.
MAX_DIRECTORIES = 2_000
_PASSED_OVER = frozenset({"node_modules", "__pycache__"})


class Limits(msgspec.Struct, frozen=True):
    """Bounds of `skills.limits`."""

    candidates_per_root: int = 300
    skills_per_source: int = 200
    file_bytes: int = 256_000
    prompt_skills: int = 150
    prompt_chars: int = 18_000


DEFAULT_LIMITS = Limits()


class SkillRoot(msgspec.Struct, frozen=True):
    """A directory to search. `within` is a directory its real path must not leave."""

    path: Path
    source: Source
    depth: int = DEPTH
    within: Path | None = None


def skill_roots(
    *, workspace: Path | None, home: Path, state_dir: Path, agent: str, extra_dirs: Sequence[Path] = ()
) -> tuple[SkillRoot, ...]:
    """All roots of one agent, highest in precedence first. None of them need exist."""
    roots: list[SkillRoot] = []
    if state_dir == home / ".openclaw":
        roots.append(SkillRoot(home / ".agents" / "skills", "personal"))
    roots.append(SkillRoot(state_dir / "skills", "managed"))
    roots.append(SkillRoot(state_dir / "agents" / agent / "agent" / "workshop-skills", "workshop"))
    roots.append(SkillRoot(BUNDLED, "bundled"))
    roots += [SkillRoot(path, "extra", CONFIGURED_DEPTH) for path in extra_dirs]
    if workspace is not None:
        roots.append(SkillRoot(workspace / "skills", "workspace", within=workspace))
        roots.append(SkillRoot(workspace / ".agents" / "skills", "workspace", within=workspace))
    return tuple(roots)


def discover(root: SkillRoot, limits: Limits = DEFAULT_LIMITS) -> tuple[list[Skill], list[Skipped]]:
    """The skills under one root, in the order of their paths, and what was passed over. Raises nothing."""
    skills: list[Skill] = []
    skipped: list[Skipped] = []
    bound = _real(root.path)
    if bound is None:
        return skills, skipped
    if root.within is not None and not _is_under(bound, _real(root.within)):
        return skills, [_fault(root.path, "it is a link that leads out of the workspace")]
    for count, path in enumerate(_candidates(bound, root.depth)):
        if count == limits.candidates_per_root or len(skills) == limits.skills_per_source:
            skipped.append(_fault(root.path, f"it holds more than {count} skills; the rest were not looked at"))
            break
        try:
            front, _ = split(read_file(path, bound, limits.file_bytes))
            skills.append(read_skill(parse(front), path, root.source, bound))
        except SkillFault as fault:
            skipped.append(_fault(path, str(fault)))
    return skills, skipped


def read_file(path: Path, bound: Path, limit: int) -> str:
    """The text of a skill file whose real path is under `bound`. Raises SkillFault; never waits for a pipe."""
    try:
        if not _is_under(_real(path), bound):
            raise SkillFault("it is a link that leads out of its directory")
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SkillFault("it is not a regular file")
            data = file.read(limit + 1)
    except OSError as error:
        raise SkillFault(f"it cannot be read: {error.strerror or error}") from None
    if len(data) > limit:
        raise SkillFault(f"it is larger than {limit:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise SkillFault("it is not UTF-8 text") from None


def _candidates(root: Path, depth: int) -> Iterator[Path]:
    """Every SKILL.md, nearest names first, not below a directory that has one, and each real directory once."""
    pending = [(root, 0)]
    seen: set[Path] = set()
    while pending and len(seen) < MAX_DIRECTORIES:
        directory, level = pending.pop()
        real = _real(directory)
        if real is None or real in seen or not _is_under(real, root):
            continue
        seen.add(real)
        names = _names(real)
        if FILE_NAME in names:
            yield real / FILE_NAME
        elif level < depth:
            inner = [n for n in names if not n.startswith(".") and n not in _PASSED_OVER]
            pending += [(real / name, level + 1) for name in sorted(inner, reverse=True)]


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _real(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None


def _is_under(path: Path | None, bound: Path | None) -> bool:
    return path is not None and bound is not None and path.is_relative_to(bound)


def _fault(path: Path, reason: str) -> Skipped:
    return Skipped(path.parent.name if path.name == FILE_NAME else "", path, reason, malformed=True)
