"""`make walk`: how far the code has to be walked. Prints three signs, none of them a target:

1. which of our files one warm tool call passes, from `App.call` to its result, and how many calls of functions that takes;
2. modules and lines of each package;
3. modules that one other module imports and no more: two halves of one thing, or a seam that nobody else uses yet.
"""

import ast
import asyncio
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from openclaw.app import App
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.conversation import Conversation

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "openclaw"
SERVER = ROOT / "tests" / "parts" / "stdio_server.py"
WARM = 5
# The shortest of so many is printed: what else goes on in the loop (a file that is written, a server that is probed) falls into some.
WALKS = 50


def main() -> None:
    files = asyncio.run(_walked())
    print(f"One warm tool call passes {len(files)} files of ours, with {files.total()} calls of functions:")
    for file, calls in sorted(files.items()):
        print(f"  {calls:4} {file}")
    print("\nModules and lines:")
    for package, sizes in sorted(_sizes().items()):
        print(f"  {len(sizes):4} {sum(sizes):6}  {package}")
    print("\nModules with one importer:")
    for module, importer in sorted(_used_once()):
        print(f"  {module}  by {importer}")


async def _walked() -> Counter[str]:
    """Our files that one call passes, with the number of calls in each."""
    with tempfile.TemporaryDirectory(prefix="walk-") as name:
        state = Path(name)
        entry = {"command": sys.executable, "args": ["-S", "-E", str(SERVER)]}
        paths = Paths.from_env({"HOME": name, "OPENCLAW_STATE_DIR": name})
        config = {"mcp": {"servers": {"part": entry}}, "models": {"mode": "replace"}}
        (state / "openclaw.json").write_text(json.dumps(config))
        async with App(load_config(paths, {}), paths=paths) as app:
            await app.settled(tool="part__echo")
            for _ in range(WARM):
                warm = await app.call("part__echo", {"text": "warm"}, Conversation(session="walk"))
                if warm.is_error:
                    raise SystemExit(f"walk: the call failed: {warm.content}")
            walks = [await _one_call(app) for _ in range(WALKS)]
    return min(walks, key=Counter.total)


async def _one_call(app: App) -> Counter[str]:
    passed: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(str(PACKAGE)):
            passed[str(Path(file).relative_to(PACKAGE))] += 1

    sys.setprofile(note)
    try:
        await app.call("part__echo", {"text": "hot"}, Conversation(session="walk"))
    finally:
        sys.setprofile(None)
    return passed


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


def _sizes() -> dict[str, list[int]]:
    sizes: dict[str, list[int]] = defaultdict(list)
    for _, path in _modules():
        inside = path.relative_to(PACKAGE).parts[:-1]
        sizes["/".join(inside) or "(top)"].append(len(path.read_text().splitlines()))
    return sizes


def _used_once() -> Iterator[tuple[str, str]]:
    names = {name for name, _ in _modules()}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, path in _modules():
        for used in _imports(ast.parse(path.read_text())) & names - {name}:
            importers[used].add(name)
    for module, users in importers.items():
        if len(users) == 1:
            yield module, users.pop()


def _imports(tree: ast.Module) -> set[str]:
    """Every name that may be a module's: of import statements, and texts such as those given to `import_module`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found.update(alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                found.add(module)
                found.update(f"{module}.{alias.name}" for alias in names)
            case ast.Constant(value=str(text)) if text.startswith("openclaw."):
                found.add(text.partition(":")[0])
    return found


if __name__ == "__main__":
    main()
