"""The pages about secrets say what is so: their examples load, and their tables are those of the code."""

import re
from pathlib import Path
from typing import get_args, get_type_hints

from openclaw.config.entry import SecretRef
from openclaw.config.load import parse_config
from openclaw.secrets.inventory import references
from openclaw.secrets.plaintext import plaintext_findings
from openclaw.secrets.reference import PROVIDERS, parse_reference

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "how-to" / "keep-secrets-out-of-config.md").read_text(encoding="utf-8")
PAGE = (DOCS / "reference" / "secrets.md").read_text(encoding="utf-8")


def config(page: str) -> str:
    """The largest example of a page."""
    examples: list[str] = re.findall(r"```json5\n(.*?)```", page, re.DOTALL)
    return max(examples, key=len)


def rows(page: str) -> list[str]:
    """The first cell of every row of every table, without its code marks."""
    return [line.split("|")[1].strip().strip("`") for line in page.splitlines() if line.startswith("| `")]


def test_the_guides_config_loads_and_has_nothing_in_plain_sight() -> None:
    loaded = parse_config(config(GUIDE))
    assert (loaded.warnings, plaintext_findings(loaded)) == ((), [])
    assert list(references(loaded)) == [
        "secret://keychain/anthropic/me",
        "secret://vault/secret/github#token",
        "secret://gcp/search-token",
        "secret://exec/pass/mail/me",
        "secret://keychain/vault/me",
    ]


def test_every_reference_of_the_guide_can_be_read() -> None:
    for text in re.findall(r"secret://[a-z]+/[^\s\"`]+", GUIDE):
        parse_reference(text)


def test_the_providers_of_the_reference_page_load() -> None:
    loaded = parse_config(config(PAGE))
    assert loaded.warnings == ()
    assert list(loaded.root.secrets.providers) == ["op", "team", "passwords", "environment"]


def test_every_provider_and_every_source_has_its_row() -> None:
    named = [row.removeprefix("secret://").split("/")[0] for row in rows(PAGE) if row.startswith("secret://")]
    assert list(dict.fromkeys(named)) == list(PROVIDERS)
    sources = get_args(get_type_hints(SecretRef)["source"])
    assert [row for row in rows(PAGE) if row in sources] == list(sources)
