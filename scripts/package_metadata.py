"""What a built package says of itself besides pyproject.toml: the addresses of its project, and its page on an index.

Both depend on where the repository is, which a checkout does not know: whoever builds says so in OPENCLAW_PROJECT_URL. Without it there are
no addresses, and the page's links stay as they are. Run by hatchling alone.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESS = "OPENCLAW_PROJECT_URL"
# A link of a page to a file of the repository: no address, no heading of the same page.
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)(?=[\w.])")


def urls(address: str) -> dict[str, str]:
    if not address:
        return {}
    return {
        "Homepage": address,
        "Documentation": f"{address}/blob/main/docs/README.md",
        "Repository": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
        "Security": f"{address}/blob/main/SECURITY.md",
    }


def page(readme: str, address: str, version: str) -> str:
    """README.md as an index can show it: its links lead into the repository, as it was at this version."""
    return _LINK.sub(f"{address}/blob/v{version}/", readme) if address else readme


class PackageMetadata(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        address = os.environ.get(ADDRESS, "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["urls"] = urls(address)
        metadata["readme"] = {"content-type": "text/markdown", "text": page(text, address, metadata["version"])}
