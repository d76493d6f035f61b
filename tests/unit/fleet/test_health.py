"""What an operator is told of a database that works."""

from openclaw.fleet.health import concerns
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
