"""What may be handed to a batch file of Windows."""

from pathlib import Path

import pytest

from openclaw.errors import ProcessError
from openclaw.process import batch_files
from openclaw.process.batch_files import check_batch_file

NPX = r"C:\Program Files\nodejs\npx.cmd"


@pytest.mark.parametrize("argument", ["-y", "@notes/mcp@1.2.3", r"C:\Users\me\My Notes", "--port=80", "a'b", "", "(x)"])
def test_plain_words_and_paths_reach_a_batch_file(argument: str) -> None:
    check_batch_file(NPX, ["-y", argument])


@pytest.mark.parametrize("argument", ['"&calc.exe', "%PATH%", "a&b", "a|b", "a>b", "a<b", "mcp@^1.0", "a!b!", "a\nb"])
def test_what_cmd_would_read_in_its_own_way_is_refused(argument: str) -> None:
    with pytest.raises(ProcessError, match="is a batch file"):
        check_batch_file(NPX, ["-y", argument])


def test_programs_that_are_no_batch_files_get_anything() -> None:
    check_batch_file(r"C:\node.exe", ['"&calc.exe', "%PATH%"])


def test_nobody_starts_a_program_without_looking() -> None:
    sources = {path.name: path.read_text(encoding="utf-8") for path in Path(batch_files.__file__).parent.glob("*.py")}
    starting = {name for name, text in sources.items() if "subprocess.Popen(" in text}
    assert starting == {"spawn.py", "detach.py"}
    assert {name for name, text in sources.items() if "check_batch_file(program, argv[1:])" in text} == starting
