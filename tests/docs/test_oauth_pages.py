"""The pages about signing in say what is so: their configs load, their settings are all there, their numbers are the code's."""

import re
from pathlib import Path

import msgspec
import pytest

from openclaw.auth.bearer import MAX_STEP_UPS, REFUSAL_MEMORY
from openclaw.auth.login import LISTEN_LIFE, PENDING_LIFE
from openclaw.auth.records import RENEW_BEFORE
from openclaw.config.entry import Auth
from openclaw.config.load import parse_config

DOCS = Path(__file__).parents[2] / "docs"
REMOTE = (DOCS / "how-to" / "remote-server-with-oauth.md").read_text(encoding="utf-8")
HEADLESS = (DOCS / "how-to" / "headless-sign-in.md").read_text(encoding="utf-8")
EXPLAIN = (DOCS / "explain" / "oauth.md").read_text(encoding="utf-8")

CONFIGS = [block for page in (REMOTE, HEADLESS) for block in re.findall(r"```json5\n(.*?)```", page, re.DOTALL)]


@pytest.mark.parametrize("text", CONFIGS)
def test_the_configs_of_the_pages_load(text: str) -> None:
    assert parse_config(text, env={}).warnings == ()


def test_every_setting_of_auth_is_on_the_page() -> None:
    table = REMOTE.partition("## Settings")[2]
    named = set(
        re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `")))
    )
    assert named | {"scope"} == {field.encode_name for field in msgspec.structs.fields(Auth)}


def test_the_numbers_of_the_pages_are_the_codes() -> None:
    assert f"renewed {RENEW_BEFORE:g} seconds before" in EXPLAIN
    assert f"within {PENDING_LIFE / 60:g} minutes" in HEADLESS
    assert (LISTEN_LIFE, MAX_STEP_UPS, REFUSAL_MEMORY) == (300, 2, 3600)
    assert "for five minutes" in EXPLAIN
    assert "After two sign-ins" in REMOTE
    assert "for an hour" in REMOTE
