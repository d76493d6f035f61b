"""Every place of ours as one frozen value, worked out from an environment and created by nobody here.

Owns the layout of the state directory: what another OpenClaw may own too (`openclaw.json`, `skills/`) stays where it is, tokens are
under `mcp/tokens`, and everything else of ours is under `py/`. The rules for the environment are in `plain_paths.py`.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from openclaw.config import plain_paths
from openclaw.errors import UsageError


class Paths(msgspec.Struct, frozen=True):
    home: Path
    state_dir: Path
    config_file: Path
    # All we write, except tokens and the config file itself.
    data_dir: Path
    tokens_dir: Path
    # Secrets that a person gave us where there is no keychain.
    secrets_dir: Path
    media_dir: Path
    sessions_file: Path
    logs_dir: Path
    audit_dir: Path
    audit_file: Path
    # Where agents work when neither config nor the command names a workspace.
    workspace_dir: Path
    history_file: Path
    # What a person allowed for good.
    approvals_file: Path
    # The key of the ids of frames in prompts.
    frame_key_file: Path
    gateway_token_file: Path
    # Digests of the tokens of pages that are signed in.
    page_tokens_file: Path
    runtime_dir: Path
    control_socket: Path

    @classmethod
    def from_env(cls, env: Mapping[str, str], *, config: str = "", cwd: str = "") -> "Paths":
        """`config` is the value of `--config`; relative paths are taken from `cwd`, else from the working directory."""
        home = plain_paths.home(env)
        if not home:
            raise UsageError("No home directory is known.", hint="Set HOME, or OPENCLAW_HOME.")
        state = Path(plain_paths.state_dir(env, cwd))
        data = state / "py"
        return cls(
            home=Path(home),
            state_dir=state,
            config_file=Path(plain_paths.config_file(env, config, cwd)),
            data_dir=data,
            tokens_dir=state / "mcp" / "tokens",
            secrets_dir=data / "secrets",
            media_dir=data / "media",
            sessions_file=data / "sessions.sqlite",
            logs_dir=data / "logs",
            audit_dir=data / "audit",
            audit_file=data / "audit" / "calls.jsonl",
            workspace_dir=data / "workspace",
            history_file=data / "history",
            approvals_file=data / "approvals.json",
            frame_key_file=data / "frames.key",
            gateway_token_file=data / "gateway.token",
            page_tokens_file=data / "pages.json",
            runtime_dir=Path(plain_paths.runtime_dir(env)),
            control_socket=Path(plain_paths.control_socket(env, config, cwd)),
        )
