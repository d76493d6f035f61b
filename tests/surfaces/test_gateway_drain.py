"""A gateway that drains: it finishes what it has begun, takes nothing new, says so, and stops."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from parts.gateways import PROGRAM, gateway_process, home, running, stdio_server
from parts.model_servers import Answer, Reply
from parts.processes import HANG_GUARD
from parts.talking_model import TalkingModel

CONFIG = {"mcp": {"servers": {"part": stdio_server()}}}
CALL = {"tool": "part__echo", "arguments": {"text": "hi"}}


class PatientModel(TalkingModel):
    """It says the first half of an answer, and the other when `go_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    def reply_to(self, asked: dict[str, Any]) -> Reply:
        return Answer(["First,", self.go_on, " and then."])


async def test_while_it_drains_a_turn_ends_and_new_calls_are_told_to_go_elsewhere(tmp_path: Path) -> None:
    async with PatientModel() as model:
        with home(tmp_path) as place:
            place.save({**CONFIG, **model.config})
            async with running(place) as gateway:
                await gateway.ready("part")
                body = {"model": "openclaw/main", "input": "hi"}
                turn = asyncio.create_task(gateway.post("/v1/responses", body))
                async with asyncio.timeout(HANG_GUARD):
                    while not model.requests:
                        await asyncio.sleep(0)
                stopping = asyncio.create_task(asyncio.to_thread(place.run, "gateway", "stop", "--drain", "--json"))
                async with asyncio.timeout(HANG_GUARD):
                    while (ready := await gateway.get("/ready"))[0] == 200:
                        pass
                health = await gateway.get("/health")
                async with gateway.client.post(
                    gateway.url + "/v1/tools/invoke", json=CALL, headers=gateway.headers
                ) as response:
                    refused = response.status, response.headers["Retry-After"], (await response.json())["error"]["code"]
                    closes = response.headers["Connection"]
                looked = await gateway.get("/v1/runs")
                shown = await asyncio.to_thread(place.run, "gateway", "status")
                # A command is done by who has it, for the gateway takes none.
                alone = await asyncio.to_thread(place.run, "mcp", "call", "part__echo", "text=alone")
                assert not turn.done()
                model.go_on.set()
                status, answer = await turn
                stopped = await stopping
                await asyncio.wait_for(gateway.task, HANG_GUARD)

    assert (ready[0], ready[1]["status"], ready[1]["reasons"][0]["code"]) == (503, "draining", "draining")
    assert health[0] == 200
    assert (refused, closes) == ((503, "1", "draining"), "close")
    assert looked == (200, {"runs": []})
    assert "it drains, and then stops" in shown.stdout
    assert alone.stdout == "alone\n"
    assert (status, answer["output"][0]["content"][0]["text"]) == (200, "First, and then.")
    assert json.loads(stopped.stdout)["running"] is False


def test_what_does_not_end_within_the_limit_is_cut_off(tmp_path: Path) -> None:
    with home(tmp_path, CONFIG) as place, gateway_process(place) as gateway:
        gateway.wait_until("'part' is ready")
        with subprocess.Popen(
            [*PROGRAM, "mcp", "call", "part__hang"], env=place.env, stderr=subprocess.PIPE, text=True
        ) as call:
            while json.loads(place.run("gateway", "status", "--json").stdout)["requests"] == 0:
                pass
            stopping = subprocess.Popen(
                [*PROGRAM, "gateway", "stop", "--drain", "--within", "0.5"],
                env=place.env,
                stdout=subprocess.PIPE,
                text=True,
            )
            gateway.wait_until("Not everything ended within 0.5 s")
            _, told = call.communicate(timeout=HANG_GUARD)
            out, _ = stopping.communicate(timeout=HANG_GUARD)
        assert (call.returncode, "The gateway is stopping" in told) == (1, True)
        assert (stopping.returncode, out.startswith("The gateway has stopped")) == (0, True)


def test_an_idle_gateway_has_nothing_to_wait_for(tmp_path: Path) -> None:
    with home(tmp_path, CONFIG) as place, gateway_process(place) as gateway:
        done = place.run("gateway", "stop", "--drain")
        assert (done.returncode, gateway.process.wait(HANG_GUARD)) == (0, 0)
        assert place.run("gateway", "stop", "--drain").stdout == "No gateway runs.\n"
        misused = place.run("gateway", "stop", "--within", "3")
        assert (misused.returncode, "belong to --drain" in misused.stderr) == (2, True)
        backwards = place.run("gateway", "stop", "--drain", "--within", "2", "--grace", "3")
        assert backwards.stderr.startswith("error: --grace 3 is longer than the whole drain, which is over after 2 s.")
        assert backwards.returncode == 2
