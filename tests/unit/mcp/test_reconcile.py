"""Reconciling: only what changed is started or stopped, and equal links are one server."""

from msgspec.structs import replace

from openclaw.config.servers import AuthSpec, ServerSpec
from openclaw.mcp.reconcile import Plan, reconcile, shared_spec

FILES = ServerSpec("files", command="files-server", args=("/srv",))
WEB = ServerSpec("web", transport="streamable-http", url="https://example.com/mcp", api_key="k")
OPEN = ServerSpec("open", transport="streamable-http", url="https://example.org/mcp", owner="research")


def test_nothing_changes_when_nothing_changed() -> None:
    assert reconcile([FILES, WEB], [shared_spec(FILES), shared_spec(WEB)]) == Plan((), ())


def test_a_new_server_is_started_and_a_removed_one_stopped() -> None:
    assert reconcile([WEB], [shared_spec(FILES)]) == Plan((shared_spec(WEB),), (shared_spec(FILES),))


def test_a_changed_command_replaces_the_server() -> None:
    changed = replace(FILES, args=("/home",))
    assert reconcile([changed], [shared_spec(FILES)]) == Plan((shared_spec(changed),), (shared_spec(FILES),))


def test_a_changed_filter_prefix_deadline_or_place_leaves_the_server_alone() -> None:
    changed = replace(
        FILES,
        tool_exclude=("write*",),
        tool_include=("*",),
        tool_prefix="f",
        call_timeout=5,
        max_total_timeout=9,
        where="other.json:1",
        section="agents",
    )
    assert reconcile([changed], [shared_spec(FILES)]) == Plan((), ())


def test_a_disabled_or_faulty_server_is_stopped() -> None:
    running = [shared_spec(FILES), shared_spec(WEB)]
    assert reconcile([replace(FILES, enabled=False), replace(WEB, fault="X is unset.")], running) == Plan(
        (), tuple(running)
    )


def test_agents_with_equal_servers_share_one() -> None:
    mine, yours = (replace(FILES, owner=agent, section="agents") for agent in ("a", "b"))
    assert reconcile([FILES, mine, yours], []) == Plan((shared_spec(FILES),), ())


def test_owners_share_a_url_only_when_the_credential_is_in_the_spec() -> None:
    def links(spec: ServerSpec) -> int:
        return len({shared_spec(replace(spec, owner=agent)) for agent in ("a", "b")})

    header = replace(OPEN, headers=(("authorization", "Bearer x"),))
    signed_in = replace(OPEN, auth=AuthSpec())
    assert [links(spec) for spec in (FILES, WEB, header, OPEN, signed_in)] == [1, 1, 1, 2, 2]
