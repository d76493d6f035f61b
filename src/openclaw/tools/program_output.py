"""What a model gets of what a program printed: as it is, or framed as a stranger's words when they came from the network.

Whether they did is security/network_programs.py's to say; who ran the program, and how it ended, is told by whoever ran it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw.content import Text
from openclaw.security.external import frame
from openclaw.tool import ToolResult


def program_result(
    output: str, endings: Sequence[str], *, network: str, is_error: bool, details: Mapping[str, Any]
) -> ToolResult:
    """`endings` are sentences of ours behind the output; `network` is the program that fetched it, if one did."""
    told = [ending for ending in endings if ending]
    if not network or not output:
        text = "\n".join(part for part in (output, *told) if part)
        return ToolResult((Text(text),), is_error=is_error, details=details)
    framed = Text(frame(output, source="unknown", sender=f"the program {network}"))
    content = (framed, Text("\n".join(told))) if told else (framed,)
    return ToolResult(content, is_error=is_error, details=details, source=f"program:{network}")
