"""`make docs-site`: the pages as a site, in build/site. A link that leads nowhere ends it with 1.

The site has the folders of the repository, so that pages link to each other as they do there. What is in its menu, and in which order, is
what docs/README.md lists. Pages come from the repository alone, and what is shown of them loads nothing from elsewhere. Run with the
Python of an environment that has requirements/docs.lock.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build"
# Folders that pages link to besides their own.
FOLDERS = ("docs", "examples")
# Files that pages link to although nobody reads them on a site: each is shown as it is.
FILES = ("LICENSE", "Dockerfile", "compose.yaml", "deploy")
_HEADING = re.compile(r"^## (.+)$")
_LINK = re.compile(r"^(?:-|\d+\.) \[([^\]]+)\]\(([^)#]+\.md)\)")


def menu(text: str, folder: str) -> list[dict[str, Any]]:
    """The headings of a page of links, each with the pages that are listed below it."""
    sections: dict[str, list[dict[str, str]]] = {}
    heading = ""
    for line in text.splitlines():
        if found := _HEADING.match(line):
            heading = found[1]
        elif listed := _LINK.match(line):
            sections.setdefault(heading, []).append({listed[1].replace("`", ""): f"{folder}/{listed[2]}"})
    return [{title: pages} for title, pages in sections.items()]


def pages() -> Iterator[Path]:
    """Every file of the site, from the root of the repository. What is made while tests run is none."""
    yield from sorted(path for path in ROOT.glob("*.md"))
    for name in (*FOLDERS, *FILES):
        path = ROOT / name
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (one for one in found if one.is_file() and "__pycache__" not in one.parts)


def configuration(source: Path, target: Path) -> dict[str, Any]:
    listed = menu((ROOT / "docs" / "README.md").read_text(encoding="utf-8"), "docs")
    return {
        "site_name": "OpenClaw in Python",
        "docs_dir": str(source),
        "site_dir": str(target),
        "theme": {
            "name": "material",
            # No font, icon or script of other people's machines.
            "font": False,
            "features": ["navigation.indexes", "navigation.top", "search.highlight", "content.code.copy"],
        },
        "markdown_extensions": [
            "admonition",
            "attr_list",
            "tables",
            "pymdownx.superfences",
            {"toc": {"permalink": True}},
        ],
        "plugins": ["search"],
        "validation": {
            "nav": {"omitted_files": "ignore", "not_found": "warn", "absolute_links": "warn"},
            "links": {"not_found": "warn", "absolute_links": "warn", "unrecognized_links": "warn", "anchors": "warn"},
        },
        "nav": [
            {"Home": "README.md"},
            {"Documentation": "docs/README.md"},
            *listed,
            {"About": [*_about()]},
        ],
    }


def _about() -> Iterator[dict[str, str]]:
    for name in ("VISION", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT"):
        yield {name.replace("_", " ").capitalize(): f"{name}.md"}


def main() -> int:
    source, target = BUILD / "site-source", BUILD / "site"
    shutil.rmtree(source, ignore_errors=True)
    for page in pages():
        to = source / page.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, to)
    config = BUILD / "mkdocs.yml"
    # JSON is YAML.
    config.write_text(json.dumps(configuration(source, target), indent=2), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(config)]
    # Otherwise the theme prints a page about what its makers make now.
    code = subprocess.run(command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False).returncode
    if code == 0:
        print(f"The site is in {target.relative_to(ROOT)}: {sum(1 for _ in target.rglob('*.html'))} pages")
    return code


if __name__ == "__main__":
    sys.exit(main())
