"""Every config example of the requirement documents, verbatim: it loads, and means what its document says."""

import pytest
from msgspec.structs import replace

from openclaw.config.agents import agent
from openclaw.config.load import parse_config
from openclaw.config.servers import AuthSpec, ServerSpec, read_server, server_specs

# Seed 000 §6.3.
PLUGIN = """{
  "plugins": {
    "entries": {
      "mcp-client": {
        "enabled": true,
        "config": {
          "servers": {
            "tavily": {
              "enabled": true,
              "url": "https://mcp.tavily.com/mcp",
              "apiKey": "tvly-xxxxx"
            },
            "github-mcp": {
              "enabled": true,
              "url": "https://mcp.github.com/mcp",
              "auth": {
                "clientId": "my-registered-client-id"
              }
            },
            "local-filesystem": {
              "enabled": true,
              "transport": "stdio",
              "command": "npx",
              "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]
            },
            "private-corp-server": {
              "enabled": true,
              "url": "https://mcp.internal.corp.com/mcp",
              "auth": {
                "clientId": "openclaw-prod",
                "clientSecret": "secret-from-vault",
                "scopes": ["read", "write"]
              }
            }
          }
        }
      }
    }
  }
}
"""

# Seed 000 §9.1: an entry by itself.
API_KEY = """{
  "tavily": {
    "url": "https://mcp.tavily.com/mcp",
    "apiKey": "tvly-xxxxx"
  }
}
"""

# Seed 001 FR-1.
AGENTS = """{
  "agents": {
    "defaults": {
      "mcp": {
        "servers": {
          "linkedin": {
            "enabled": true,
            "command": "uvx",
            "args": ["--from", "git+https://github.com/adhikasp/mcp-linkedin", "mcp-linkedin"],
            "env": {
              "LINKEDIN_EMAIL": "secret://gcp/linkedin-email",
              "LINKEDIN_PASSWORD": "secret://gcp/linkedin-password"
            },
            "transport": "stdio"
          },
          "filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user/docs"],
            "transport": "stdio"
          }
        }
      }
    },
    "list": [
      {
        "id": "research",
        "mcp": {
          "servers": {
            "tavily": {
              "url": "https://mcp.tavily.com/mcp",
              "transport": "sse",
              "headers": {
                "Authorization": "Bearer ${TAVILY_API_KEY}"
              }
            }
          }
        }
      }
    ]
  }
}
"""

# Seed 002 §4.6.
POLICY = """{
  "gateway": {
    "tools": {
      "allow": ["mcp_linkedin_*"],
      "deny": ["mcp_filesystem_write_file"]
    }
  }
}
"""

# Seeds 003 and 004: for the other side, a client that starts `openclaw mcp-server`. Legal here too, and without meaning.
CLIENTS = [
    """{
  "mcpServers": {
    "openclaw": {
      "command": "openclaw",
      "args": ["mcp-server"]
    }
  }
}
""",
    """{
  "mcpServers": {
    "openclaw": {
      "command": "openclaw",
      "args": ["mcp-server", "--verbose"]
    }
  }
}
""",
    """{
  "mcpServers": {
    "openclaw": {
      "command": "/usr/local/bin/openclaw",
      "args": ["mcp-server"]
    }
  }
}
""",
    """{
  "mcpServers": {
    "openclaw": {
      "command": "npx",
      "args": ["openclaw", "mcp-server"]
    }
  }
}
""",
]


@pytest.mark.requirement("000-6.3-example")
def test_the_plugin_example_loads() -> None:
    """Seed 000 §6.3."""
    config = parse_config(PLUGIN)
    assert (config.warnings, config.ignored) == ((), ())
    common = ServerSpec("", section="plugin", connect_timeout=30, call_timeout=30, max_total_timeout=300)
    remote = replace(common, transport="streamable-http")
    assert server_specs(config, "main") == (
        replace(remote, name="tavily", url="https://mcp.tavily.com/mcp", api_key="tvly-xxxxx"),
        replace(
            remote,
            name="github-mcp",
            url="https://mcp.github.com/mcp",
            auth=AuthSpec(client_id="my-registered-client-id"),
        ),
        replace(
            common,
            name="local-filesystem",
            command="npx",
            args=("-y", "@modelcontextprotocol/server-filesystem", "/tmp"),
        ),
        replace(
            remote,
            name="private-corp-server",
            url="https://mcp.internal.corp.com/mcp",
            auth=AuthSpec(client_id="openclaw-prod", client_secret="secret-from-vault", scopes=("read", "write")),
        ),
    )


def test_the_api_key_example_is_an_entry_and_a_harmless_file() -> None:
    """Seed 000 §9.1."""
    config = parse_config(API_KEY)
    assert config.ignored == ("tavily",)
    spec = read_server("tavily", config.raw["tavily"])
    assert (spec.url, spec.api_key, spec.transport) == ("https://mcp.tavily.com/mcp", "tvly-xxxxx", "streamable-http")


LINKEDIN = ServerSpec(
    "linkedin",
    section="agents",
    command="uvx",
    args=("--from", "git+https://github.com/adhikasp/mcp-linkedin", "mcp-linkedin"),
    env=(("LINKEDIN_EMAIL", "secret://gcp/linkedin-email"), ("LINKEDIN_PASSWORD", "secret://gcp/linkedin-password")),
)
FILESYSTEM = ServerSpec(
    "filesystem",
    section="agents",
    command="npx",
    args=("-y", "@modelcontextprotocol/server-filesystem", "/home/user/docs"),
)


@pytest.mark.requirement("001-8-location")
@pytest.mark.requirement("001-FR-1-example")
@pytest.mark.requirement("001-US-1-accepts")
@pytest.mark.requirement("001-US-4-places")
def test_the_agents_example_loads() -> None:
    """Seed 001 FR-1."""
    config = parse_config(AGENTS, env={"TAVILY_API_KEY": "tvly-1"})
    assert (config.warnings, config.ignored) == ((), ())
    assert server_specs(config, "research") == (
        LINKEDIN,
        FILESYSTEM,
        ServerSpec(
            "tavily",
            section="agents",
            owner="research",
            transport="sse",
            url="https://mcp.tavily.com/mcp",
            headers=(("Authorization", "Bearer tvly-1"),),
        ),
    )


def test_the_agents_example_loads_without_its_variable_and_stops_one_server_alone() -> None:
    """Seed 001 FR-1."""
    specs = server_specs(parse_config(AGENTS), "research")
    assert [(spec.name, spec.fault) for spec in specs] == [
        ("linkedin", ""),
        ("filesystem", ""),
        ("tavily", "${TAVILY_API_KEY} is not set"),
    ]


@pytest.mark.requirement("002-4.6-example")
def test_the_policy_example_loads() -> None:
    """Seed 002 §4.6."""
    layer = agent(parse_config(POLICY)).gateway_tools
    assert [rule.names for rule in (layer.allow, layer.deny) if rule] == [
        ("mcp_linkedin_*",),
        ("mcp_filesystem_write_file",),
    ]


@pytest.mark.requirement("002-9-off")
@pytest.mark.parametrize("text", ["{}", "{mcp: {}, agents: {entries: {main: {}}}}"])
def test_without_a_section_there_are_no_servers(text: str) -> None:
    assert server_specs(parse_config(text), "main") == ()


@pytest.mark.parametrize("text", CLIENTS)
def test_examples_for_other_programs_name_their_servers_to_us_too(text: str) -> None:
    """Seeds 003 and 004."""
    config = parse_config(text)
    assert (config.ignored, config.warnings, config.refusals) == ((), (), ())
    assert [spec.name for spec in server_specs(config, "main")] == list(config.raw["mcpServers"])
