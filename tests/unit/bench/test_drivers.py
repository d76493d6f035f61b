"""The servers, the floor and ours, driven as a measure drives them: real processes, few calls."""

import sys
from pathlib import Path

import pytest
from bench.contenders.entrants import FAST_FLOOR, FLOOR, OURS, Entrant
from bench.drivers import Driver, HttpServer, memory, stdio_server
from bench.processes import Failed

ENTRANTS = pytest.mark.parametrize("entrant", [FLOOR, OURS], ids=lambda entrant: entrant.key)


@pytest.mark.parametrize("entrant", [FLOOR, FAST_FLOOR, OURS], ids=lambda entrant: entrant.key)
@pytest.mark.parametrize("in_flight", [1, 8])
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_calls_reach_every_kind_of_server_in_both_eras(entrant: Entrant, in_flight: int, era: str) -> None:
    options = ["--modern"] if era == "2026-07-28" else []
    with HttpServer(*options) as http, entrant.driver() as driver:
        targets = {
            "stdio": stdio_server(*options),
            "json": http.target("json/mcp"),
            "events": http.target("events/mcp"),
        }
        driver.open({name: {**target, "modern": bool(options)} for name, target in targets.items()})
        made = {name: driver.calls(name, count=16, seconds=60.0, in_flight=in_flight)["calls"] for name in targets}
    assert made == {"stdio": 16, "json": 16, "events": 16}


@ENTRANTS
def test_large_results_arrive_whole(entrant: Entrant) -> None:
    with HttpServer() as http, entrant.driver() as driver:
        driver.open({"stdio": stdio_server(), "events": http.target("events/mcp")})
        lengths = {name: driver.call(name, "big", bytes=1_000_000)["length"] for name in ("stdio", "events")}
    # Ours shows a model a part of it, in its frame.
    least = 1_000_000 if entrant == FLOOR else 100_000
    assert [name for name, length in lengths.items() if length < least] == []


@ENTRANTS
def test_nineteen_servers_are_reached_beside_one_that_hangs(entrant: Entrant) -> None:
    servers = {name: stdio_server() for name in ("a", "b")} | {"bad": stdio_server("--hang")}
    with entrant.driver() as driver:
        reached = driver.ask({"do": "reach", "how": {"servers": servers, "wanted": ["a", "b"], "patience": 50.0}})
    assert (reached["answered"], reached["failure"]) == (2, "")


def test_a_session_that_was_forgotten_is_made_anew_by_ours() -> None:
    with HttpServer("--sessions") as http, OURS.driver() as driver:
        driver.open({"http": http.target("json/mcp")})
        http.kill()
        http.start()
        assert "after" in driver.call("http", text="after")["text"]


def test_a_driver_that_cannot_start_says_why() -> None:
    with Driver([sys.executable, "-c", "import sys; sys.exit('no such environment')"]) as driver:
        with pytest.raises(Failed, match="no such environment"):
            driver.open({"stdio": stdio_server()})


def test_a_failed_call_is_an_error_and_not_the_end() -> None:
    with FLOOR.driver() as driver:
        driver.open({"stdio": stdio_server()})
        with pytest.raises(Failed, match="KeyError"):
            driver.call("nowhere", text="x")
        assert driver.call("stdio", text="still here")["text"] == "still here"


def test_a_driver_leaves_neither_files_nor_processes() -> None:
    with FLOOR.driver() as driver:
        driver.open({"stdio": stdio_server()})
        assert memory(driver.pid) > 0
    assert not driver.home.exists()
    assert not Path(f"/proc/{driver.pid}").exists()


def test_who_does_not_answer_in_time_is_ended_and_not_asked_again() -> None:
    with Driver([sys.executable, "-c", "import time; time.sleep(600)"]) as driver:
        for _ in range(2):
            with pytest.raises(Failed, match=r"no answer within 0\.2 s"):
                driver.open({"stdio": stdio_server()}, patience=0.2)
        assert not Path(f"/proc/{driver.pid}").exists()


def test_an_idle_connection_that_the_server_closed_is_not_used_again() -> None:
    """The same port, another process: what was open is closed, and the plain client notices."""
    with HttpServer() as http, FLOOR.driver() as driver:
        driver.open({"http": http.target("json/mcp")})
        http.kill()
        http.start()
        assert driver.call("http", text="again")["text"] == "again"
