"""What each editor is given to start our agent."""

import json

import pytest

from openclaw.acp.editors import EDITORS, config_text
from openclaw.acp.table import COMMANDS

COMMAND = "/opt/my tools/openclaw"
WORDS = ["acp", "--agent", 'the "best"']
ENVIRONMENT = {"OPENCLAW_HOME": "/home/ada"}


@pytest.mark.parametrize("editor", ["zed", "jetbrains"])
def test_editors_with_json_settings_get_the_command_word_by_word(editor: str) -> None:
    (entry,) = json.loads(config_text(editor, COMMAND, WORDS, ENVIRONMENT))["agent_servers"].values()
    assert {**entry, "type": "custom"} == {"type": "custom", "command": COMMAND, "args": WORDS, "env": ENVIRONMENT}


@pytest.mark.parametrize("editor", ["codecompanion", "avante"])
def test_plugins_of_neovim_get_strings_of_lua(editor: str) -> None:
    text = config_text(editor, COMMAND, WORDS, ENVIRONMENT)
    assert '"acp", "--agent", "the \\"best\\"" }' in text
    assert 'env = { OPENCLAW_HOME = "/home/ada" }' in text
    assert text.count("{") == text.count("}")


def test_emacs_gets_strings_of_lisp() -> None:
    text = config_text("agent-shell", COMMAND, WORDS, ENVIRONMENT)
    assert ':command "/opt/my tools/openclaw"' in text
    assert ':command-params \'("acp" "--agent" "the \\"best\\"")' in text
    assert ':environment-variables \'("OPENCLAW_HOME=/home/ada")' in text
    assert text.count("(") == text.count(")")


@pytest.mark.parametrize("editor", EDITORS)
def test_every_editor_gets_the_command(editor: str) -> None:
    assert COMMAND in config_text(editor, COMMAND, ["acp"], {})


def test_the_command_line_knows_every_editor() -> None:
    serve = COMMANDS[0].child("serve")
    assert serve is not None
    (choices,) = [option.choices for option in serve.options if option.name == "print-config"]
    assert choices == tuple(EDITORS)
