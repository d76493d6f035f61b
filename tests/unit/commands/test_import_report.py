"""What a person is shown of an import before they agree to it."""

from openclaw.commands.console import Console
from openclaw.commands.import_report import step_lines
from openclaw.importers.plan import Found, plan
from openclaw.importers.programs import PROGRAMS
from openclaw.importers.reading import Entry


def _unseen(text: str) -> None:
    return None


def test_a_file_of_another_cannot_write_a_line_of_its_own() -> None:
    value = {"command": "run\n  + safe", "cwd": "/tmp\n  + safe"}
    entry = Entry("a", value, notes=("left out:\n  + safe",))
    (step,) = plan([Found(PROGRAMS["cursor"], "/f", entry)], {}, {}, {}).steps
    lines = list(step_lines(step, Console(_unseen, _unseen)))
    assert [line for line in lines if "\n" in line] == []
    assert lines[1:3] == ["      runs 'run\\n  + safe'", "      in '/tmp\\n  + safe'"]
