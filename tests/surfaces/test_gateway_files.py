"""Files that are slow, long or no files at all: they keep nobody waiting but who asked for them."""

import asyncio
import json
import os
import sys
from pathlib import Path

from openclaw.media import ITEM_BYTES
from parts.gateways import gateway_process, home, running, stdio_server
from parts.processes import HANG_GUARD

if sys.platform != "win32":
    import fcntl

RECORDS = 5_000


async def test_a_config_that_somebody_else_is_writing_stops_nobody(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        async with running(place) as gateway:
            await gateway.ready("part")
            handle = os.open(place.state, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                disabling = asyncio.create_task(gateway.post("/v1/mcp/servers/part/disable"))
                call = {"tool": "part__echo", "arguments": {"text": "hi"}}
                for _ in range(5):
                    assert (await asyncio.wait_for(gateway.post("/v1/tools/invoke", call), HANG_GUARD))[0] == 200
                waits = not disabling.done()
            finally:
                os.close(handle)
            status, _ = await disabling

    assert (waits, status) == (True, 200)


def test_a_long_audit_trail_arrives_whole_and_in_order(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        folder = place.paths.audit_dir
        folder.mkdir(parents=True)
        lines = [json.dumps({"time": f"{number:06}", "tool": "x" * 200}) for number in range(3 * RECORDS)]
        for name, start in (("calls.jsonl.001-1", 0), ("calls.jsonl.002-1", RECORDS), ("calls.jsonl", 2 * RECORDS)):
            (folder / name).write_text("\n".join([*lines[start : start + RECORDS], '{"torn": ']))
        with gateway_process(place):
            exported = place.run("audit", "export")
            last = place.run("audit", "tail", "--lines", "2", "--json")

    assert exported.stdout.splitlines() == lines
    assert [record["time"] for record in json.loads(last.stdout)] == [f"{3 * RECORDS - 2:06}", f"{3 * RECORDS - 1:06}"]


def test_only_a_file_of_a_size_that_can_be_sent_is_attached(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "image.iso").open("wb") as file:
        file.truncate(ITEM_BYTES + 1)
    with home(tmp_path) as place:
        place.save(place.script({"text": "never said"}))
        with gateway_process(place):
            refused = [
                place.run("agent", "-m", "look", "--attach", str(tmp_path / name))
                for name in ("pipe", "image.iso", "no")
            ]

    assert [(run.returncode, run.stdout) for run in refused] == [(2, "")] * 3
    assert [run.stderr.partition(f"--attach {tmp_path}/")[2] for run in refused] == [
        "pipe: it is not a file.\n",
        "image.iso: it has 15,728,641 bytes; at most 15,728,640 can be sent.\n",
        "no: No such file or directory.\n",
    ]
