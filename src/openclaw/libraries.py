"""Libraries that some part of us needs and the MCP client does not, and the sentence for each that is missing.

The client alone (`openclaw.mcp`) needs msgspec, jsonschema-rs and uvloop; who installed no more gets one sentence from everything else. A
requirement stands here as it does among the extras of pyproject.toml. Imports none of them.
"""

import sys

from openclaw.errors import OpenClawError
from openclaw.typed_words import quote_word

# What is imported → the part of us that needs it, and what to install.
LIBRARIES = {
    "aiohttp": ("The HTTP port of the gateway", "aiohttp>=3.14"),
    "asyncpg": ("Keeping conversations in PostgreSQL", "asyncpg>=0.30"),
    "cryptography": ("Keeping tokens encrypted", "cryptography>=45"),
    "keyring": ("The keychain", "keyring>=25"),
    "markdown_it": ("Showing answers at a terminal", "rich>=15"),
    "opentelemetry": ("Telemetry", "opentelemetry-exporter-otlp-proto-http>=1.40"),
    "prompt_toolkit": ("Chat at a terminal", "prompt-toolkit>=3.0.50"),
    "pydantic_monty": ("Running code of models", "pydantic-monty>=1.4"),
    "pypdf": ("Reading PDFs", "pypdf>=6"),
    "rich": ("Showing answers at a terminal", "rich>=15"),
    "yaml": ("Reading skills", "pyyaml>=6"),
}


def install(library: str) -> str:
    """The command that adds a library to the environment we run in."""
    return f"{quote_word(sys.executable)} -m pip install {quote_word(library)}"


def missing(error: BaseException) -> OpenClawError | None:
    """What to tell of a library that could not be imported; None where something else is wrong."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if name not in LIBRARIES:
        return None
    part, library = LIBRARIES[name]
    return OpenClawError(f"{part} needs the library {name}, which is not installed.", hint=f"Run: {install(library)}")
