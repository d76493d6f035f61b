"""Programs that embed the client are type-checked as their authors would: outside of the checkout, strictly, with the installed package."""

import subprocess
import sys
from pathlib import Path

import pytest

from parts.pages import DOCS, blocks_of

pytestmark = [pytest.mark.full, pytest.mark.minutes(1)]

PAGES = ("embed-the-engine", "give-tools-to-your-model", "move-a-program")
PROGRAMS = ("answer_a_server", "embed_engine", "in_process_server", "tools_for_anthropic", "tools_for_openai")


def checked(folder: Path, *files: str) -> list[str]:
    """What strict mypy says of files, with no settings but its own."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=.cache", *files]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout.splitlines()


SEVERAL_TYPES = """
from openclaw.mcp import Event, Manager, PromptsChanged, Server, StateChanged, ToolsChanged

manager = Manager([Server("files", command="files-server")])


def tell(event: Event[StateChanged | ToolsChanged]) -> None:
    print(event.value.server)


manager.events.subscribe(tell, StateChanged, ToolsChanged)


async def watch() -> None:
    with manager.events.reader(StateChanged, ToolsChanged, PromptsChanged) as reader:
        async for event in reader:
            print(event.value.server)
"""


def test_events_of_several_types_are_known_by_what_they_share(tmp_path: Path) -> None:
    (tmp_path / "several.py").write_text(SEVERAL_TYPES)
    assert checked(tmp_path, "several.py") == ["Success: no issues found in 1 source file"]


def test_a_name_that_is_not_public_is_found_by_strict_types(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("from openclaw import Nobody\nfrom openclaw.mcp import Managr\n")
    assert checked(tmp_path, "wrong.py") == [
        'wrong.py:1: error: Module "openclaw" has no attribute "Nobody"  [attr-defined]',
        'wrong.py:2: error: Module "openclaw.mcp" has no attribute "Managr"; maybe "Manager"?  [attr-defined]',
        "Found 2 errors in 1 file (checked 1 source file)",
    ]


def test_every_program_of_the_pages_on_embedding_is_clean_under_strict_types(tmp_path: Path) -> None:
    for name in PROGRAMS:
        (tmp_path / f"{name}.py").write_text((DOCS / "examples" / f"{name}.py").read_text())
    for page in PAGES:
        text = (DOCS / "how-to" / f"{page}.md").read_text()
        shown = [one for one in blocks_of(text, page) if one.language == "python" and "not run" not in one.notes]
        for number, block in enumerate(shown):
            (tmp_path / f"{page.replace('-', '_')}_{number}.py").write_text(block.text)
    files = sorted(map(str, tmp_path.glob("*.py")))
    assert len(files) >= len(PROGRAMS) + len(PAGES)
    assert checked(tmp_path, *files) == [f"Success: no issues found in {len(files)} source files"]
