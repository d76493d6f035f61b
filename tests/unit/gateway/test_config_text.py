"""The config file as somebody edits it over HTTP: what is masked, what comes back, and what only a terminal may change."""

import pytest

from openclaw.config import json5
from openclaw.errors import UsageError
from openclaw.gateway.config_text import MASK, masked, unmasked, withheld
from openclaw.redact import remember

TEXT = """{
  // A comment that stays.
  models: { providers: { own: { apiKey: "sk-live-1234567890abcdef", baseUrl: "https://models.example" } } },
  mcp: { servers: { files: { command: "npx", args: ["-y", "server"], env: { API_TOKEN: 'tok-9876543210' } },
                    far: { url: "https://far.example/mcp", headers: { Authorization: "Bearer abcdefgh12345678" } } } },
  agents: { defaults: { model: "own/one" } },
}
"""


def test_every_credential_is_masked_and_all_else_stands_as_it_was() -> None:
    shown = masked(TEXT)
    assert [secret for secret in ("sk-live", "tok-98", "abcdefgh") if secret in shown] == []
    assert shown.count(MASK) == 3
    assert "// A comment that stays." in shown
    assert json5.loads(shown)["mcp"]["servers"]["files"]["args"] == ["-y", "server"]


def test_a_credential_in_a_comment_is_not_shown() -> None:
    remember("correct-horse-battery")
    with pytest.raises(UsageError, match="such as a comment"):
        masked("{ // it was correct-horse-battery once\n }")


def test_what_is_saved_with_its_masks_keeps_its_credentials() -> None:
    edited = masked(TEXT).replace("own/one", "own/two")
    assert unmasked(edited, TEXT) == TEXT.replace("own/one", "own/two")


def test_a_mask_that_was_moved_or_made_up_is_refused() -> None:
    for wrong in (f'{{agents: {{defaults: {{model: "{MASK}"}}}}}}'.replace("model", "prompt"), f'{{x: "a{MASK}"}}'):
        with pytest.raises(UsageError, match="no credential behind it"):
            unmasked(wrong, TEXT)


def test_a_new_file_has_nothing_to_mask() -> None:
    assert (masked(""), unmasked("{}", ""), withheld("{}", "")) == ("", "{}", [])


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ("npx", "sh", ["mcp.servers.files.command"]),
        ('"-y", "server"', '"-c", "server"', ["mcp.servers.files.args.0"]),
        ("API_TOKEN", "LD_PRELOAD", ["mcp.servers.files.env.API_TOKEN", "mcp.servers.files.env.LD_PRELOAD"]),
        ("agents:", 'gateway: { auth: { token: "mine-mine" } }, agents:', ["gateway.auth.token"]),
        ("agents:", 'plugins: { load: { paths: ["/tmp/x"] } }, agents:', ["plugins.load.paths.0"]),
        ("agents:", '$include: "./x.json", agents:', ["$include"]),
        ("far: {", 'more: { command: "sh" }, far: {', ["mcp.servers.more.command"]),
        ("far: {", 'more: { url: "https://more.example" }, far: {', []),
        ("own/one", "own/two", []),
    ],
)
def test_what_starts_programs_is_changed_at_a_terminal(before: str, after: str, places: list[str]) -> None:
    assert before in TEXT
    assert withheld(TEXT.replace(before, after, 1), TEXT) == places


@pytest.mark.parametrize(
    "entry",
    [
        'agents: { entries: { a: { mcp: { servers: { x: { command: "sh" } } } } } }',
        'plugins: { entries: { "mcp-client": { config: { servers: { x: { command: "sh" } } } } } }',
        'mcpServers: { x: { command: "sh" } }',
    ],
)
def test_a_program_is_seen_in_every_section_that_names_servers(entry: str) -> None:
    assert len(withheld(f"{{ {entry} }}", "")) == 1
