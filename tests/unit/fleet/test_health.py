"""What an operator is told of a database that works."""

from openclaw.fleet.health import concerns, differing
from openclaw.fleet.members import Member
from openclaw.fleet.migrations.steps import NEWEST


def test_asynchronous_standbys_deaf_connections_and_lazy_commits_are_named() -> None:
    assert concerns(NEWEST, "on", 2, 1, arrive=True) == []
    assert concerns(NEWEST, "on", 0, 0, arrive=True) == []
    assert [one.message.partition(":")[0] for one in concerns(NEWEST + 1, "off", 1, 0, arrive=False)] == [
        "synchronous_commit is off",
        "its standbys are asynchronous",
        "its notices do not arrive, so gateways hear of each other a second later",
        f"its tables are of a later OpenClaw (step {NEWEST + 1}; this one knows {NEWEST})",
    ]


def member(name: str, config: str, *, alive: bool = True) -> Member:
    return Member(
        name=name, version="1", config=config, seconds=1.0, alive=alive, turns=0, servers=(), conversations=0, leases=()
    )


def test_gateways_that_are_alive_and_have_other_configs_are_named() -> None:
    alike = [member("a", "aaa"), member("b", "aaa"), member("dead", "bbb", alive=False)]
    assert (differing(alike), differing([])) == ("", "")
    told = differing([*alike, member("c", "ccc")])
    assert told == "its gateways do not have the same config: a, b (aaa); c (ccc)"
    assert [one.message for one in concerns(NEWEST, "on", 0, 0, arrive=True, differ=told)] == [told]
