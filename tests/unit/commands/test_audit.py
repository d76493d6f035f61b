"""The end of the audit trail, as a table."""

import json
from pathlib import Path

from parts.command_line import Home
from parts.commands_here import run_here


async def test_a_form_of_a_server_is_listed_with_the_server_that_asks(tmp_path: Path) -> None:
    home = Home(tmp_path)
    about = {"time": "2026-11-18T22:39:50.117Z", "agent": "main", "kind": "form", "asker": "bank", "tool": ""}
    home.paths.audit_dir.mkdir(parents=True)
    records = [{**about, "event": "question"}, {**about, "event": "answer", "answer": "declined"}]
    (home.paths.audit_dir / "calls.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    ran = await run_here(home, "audit", "tail")
    assert [line.split()[2:] for line in ran.out.splitlines()[-2:]] == [
        ["question", "bank", "main", "asked"],
        ["answer", "bank", "main", "declined"],
    ]


async def test_times_are_those_of_this_machine_as_in_the_list_of_conversations(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.paths.audit_dir.mkdir(parents=True)
    record = {"event": "outcome", "tool": "ls", "agent": "main", "outcome": "ok"}
    records = [{**record, "time": "2026-11-18T22:39:50.117Z"}, {**record, "time": "somebody else's"}]
    (home.paths.audit_dir / "calls.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    home.environ["TZ"] = "EAST-02:00"
    ran = await home.openclaw("audit", "tail")
    assert [line.split("  ")[0] for line in ran.out.splitlines()] == ["time", "2026-11-19 00:39:50", "somebody else's"]
