"""How a session is set, as a client shows it: its mode and its model, both as modes and as config options. Pure.

`ask` asks as the config says, `accept-edits` lets files be written without a question, `read-only` lets nothing be changed. None of them
allows what the config forbids.
"""

from collections.abc import Iterable

from openclaw.acp import wire

ASK, ACCEPT_EDITS, READ_ONLY = "ask", "accept-edits", "read-only"
MODE, MODEL = "mode", "model"
_MODES = (
    wire.Mode(ASK, "Ask", "Ask before a call that changes something, as the config says."),
    wire.Mode(ACCEPT_EDITS, "Accept edits", "Write and edit files without asking; ask before everything else."),
    wire.Mode(READ_ONLY, "Read only", "Refuse every call that changes something."),
)
MODES = tuple(mode.id for mode in _MODES)
# What is not asked about in the mode `accept-edits`.
EDITS = ("write", "edit")


def modes_of(mode: str) -> wire.Modes:
    return wire.Modes(mode, list(_MODES))


def options_of(mode: str, model: str, models: Iterable[str]) -> list[wire.ConfigOption]:
    """All options. `model` is the one in use, `models` those that can be chosen."""
    choices = [wire.Choice(one.id, one.name, one.description) for one in _MODES]
    named = [wire.Choice(name, name) for name in dict.fromkeys((model, *models))]
    return [
        wire.ConfigOption(MODE, "Mode", "select", mode, choices, "What is asked about, and what is refused.", "mode"),
        wire.ConfigOption(MODEL, "Model", "select", model, named, "Which model answers.", "model"),
    ]
