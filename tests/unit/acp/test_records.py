"""What is kept of the sessions of clients."""

import os
import time
from pathlib import Path

from openclaw.acp.records import KEPT, Record, Records


def test_a_session_is_forgotten_when_nothing_is_left_of_it_for_a_month(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for name in ("old", "old and alive"):
        records.keep(Record(name, f"key of {name}", "main", "/"))
    (tmp_path / "unreadable.json").write_text("{")
    long_ago = time.time() - KEPT - 60
    for path in tmp_path.iterdir():
        os.utime(path, (long_ago, long_ago))
    records.keep(Record("new", "key of new", "main", "/"))
    assert records.prune({"key of old and alive"}) == 2
    assert sorted(one.id for one in records.all()) == ["new", "old and alive"]
    assert records.prune({"key of old and alive"}) == 0
