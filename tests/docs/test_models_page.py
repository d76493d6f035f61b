"""docs/reference/models.md says what is so: its examples load, and its table is the one in the code."""

import re
from pathlib import Path

from openclaw.config.load import parse_config
from openclaw.models.scripted import ScriptedCall, ScriptedTurn, load
from openclaw.models.vendors import VENDORS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "models.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_config_of_the_page_loads() -> None:
    config = parse_config(block("json5"), env={"ANTHROPIC_API_KEY": "sk-0123456789abcdef"})
    assert list(config.root.models.providers) == ["house", "anthropic"]
    assert config.warnings == ()


def test_the_script_of_the_page_loads(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(block("json"), encoding="utf-8")
    first, second, third = load(file)
    assert first == ScriptedTurn("Let me look.", tool_calls=(ScriptedCall("ls", {"path": "."}),))
    assert second.text == ("Here it is:\n", "{result}")
    assert third == ScriptedTurn(error="The model is tired.", retryable=True)


def test_the_table_of_the_page_is_the_table_of_the_code() -> None:
    table = PAGE[PAGE.index("| provider | variable |") :].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()][2:]
    expected = []
    for name, vendor in VENDORS.items():
        variables = ", ".join(f"`{variable}`" for variable in vendor.variables) or "none"
        alone = f"`{vendor.model}`" if vendor.model else "its newest model" if name == "ollama" else "only when named"
        expected.append([name, variables, alone])
    assert rows == expected
