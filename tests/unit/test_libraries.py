"""What is said where a library is not installed, and that it names what pyproject.toml has."""

import sys
import tomllib
from pathlib import Path

import pytest

from openclaw.libraries import LIBRARIES, missing
from openclaw.typed_words import join_words

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_a_missing_library_is_one_sentence_and_the_command_that_installs_it() -> None:
    told = missing(ModuleNotFoundError("No module named 'prompt_toolkit.keys'", name="prompt_toolkit.keys"))
    assert told is not None
    assert (told.message, told.hint) == (
        "Chat at a terminal needs the library prompt_toolkit, which is not installed.",
        f"Run: {join_words([sys.executable, '-m', 'pip', 'install', 'prompt-toolkit>=3.0.50'])}",
    )


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("no name"), ModuleNotFoundError("x", name="x"), ValueError("aiohttp")]
)
def test_another_fault_is_no_missing_library(error: Exception) -> None:
    assert missing(error) is None


def test_what_is_told_to_be_installed_is_what_the_extras_have() -> None:
    clouds = {"aws", "gcp", "azure"}
    extras = {row for name, rows in PROJECT["optional-dependencies"].items() if name not in clouds for row in rows}
    assert {library for _, library in LIBRARIES.values()} == extras


def test_the_plain_install_has_the_core_and_every_library_but_those_of_pdfs_code_telemetry_and_postgres() -> None:
    core = {"jsonschema-rs>=0.60", "msgspec>=0.20", "uvloop>=0.21; sys_platform != 'win32'"}
    more = PROJECT["optional-dependencies"]
    told = {library for _, library in LIBRARIES.values()} - {
        *more["pdf"],
        *more["code"],
        *more["otel"],
        *more["postgres"],
    }
    assert set(PROJECT["dependencies"]) == core | told
