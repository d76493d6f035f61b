"""Where our files are, as plain strings worked out from an environment.

Owns the rules for OPENCLAW_HOME, OPENCLAW_STATE_DIR, OPENCLAW_CONFIG_PATH and the control socket's name, and how a running gateway's
socket is found. Imports `os` and a module under `hashlib` alone, because the command-line stub has to find the socket before it loads
anything else.
Creates nothing.
Next: `paths.py` has the same places, and the rest of them, as one value with `Path` fields.
"""

import os
import sys

try:
    # The module under `hashlib`, which would load OpenSSL for the name of a socket.
    from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    # Python 3.11 has it under this name.
    from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# A Unix socket's address holds 104 bytes on macOS and 108 on Linux, the closing NUL included.
SOCKET_PATH_BYTES = 103
# Hexadecimal digits of the socket's name: 64 bits, so that two state directories never meet by chance.
_NAME_DIGITS = 16
# A lock holds a few hundred bytes; what is longer is not one.
_LOCK_BYTES = 65_536


def home(env: "Mapping[str, str]") -> str:
    """The directory that `~` means: OPENCLAW_HOME, else the user's own. Empty when there is none."""
    own = _user_home(env)
    chosen = env.get("OPENCLAW_HOME", "")
    return os.path.abspath(_expand(chosen, own)) if chosen else own


def state_dir(env: "Mapping[str, str]", cwd: str = "") -> str:
    chosen = env.get("OPENCLAW_STATE_DIR", "")
    return _absolute(chosen, env, cwd) if chosen else os.path.join(home(env), ".openclaw")


def config_file(env: "Mapping[str, str]", config: str = "", cwd: str = "") -> str:
    """`config` is what `--config` named; it goes before OPENCLAW_CONFIG_PATH."""
    chosen = config or env.get("OPENCLAW_CONFIG_PATH", "")
    return _absolute(chosen, env, cwd) if chosen else os.path.join(state_dir(env, cwd), "openclaw.json")


def runtime_dir(env: "Mapping[str, str]") -> str:
    """The directory of the control socket, short enough for a socket's address. Whoever creates it makes it 0700 and checks its owner."""
    user = str(os.getuid()) if hasattr(os, "getuid") else env.get("USERNAME", "user")
    candidates = [env.get("XDG_RUNTIME_DIR", ""), f"/run/user/{user}" if os.path.isdir(f"/run/user/{user}") else ""]
    for parent in candidates:
        if (
            os.path.isabs(parent)
            and len(os.fsencode(parent)) + len("/openclaw/") + _socket_bytes() <= SOCKET_PATH_BYTES
        ):
            return os.path.join(parent, "openclaw")
    temporary = env.get("TMPDIR", "") or env.get("TEMP", "") or "/tmp"
    place = os.path.join(temporary, f"openclaw-{user}")
    fits = os.path.isabs(place) and len(os.fsencode(place)) + 1 + _socket_bytes() <= SOCKET_PATH_BYTES
    return place if fits or sys.platform == "win32" else f"/tmp/openclaw-{user}"


def control_socket(env: "Mapping[str, str]", config: str = "", cwd: str = "") -> str:
    """Where a gateway that is started here makes its socket, to serve this state directory with this config file."""
    served = "\0".join(os.path.realpath(path) for path in (state_dir(env, cwd), config_file(env, config, cwd)))
    name = sha256(os.fsencode(served)).hexdigest()[:_NAME_DIGITS]
    return os.path.join(runtime_dir(env), f"{name}.sock")


def lock_file(state: str) -> str:
    """The file that the gateway of a state directory holds locked; its first line says who that is, the rest is its socket's path."""
    return os.path.join(state, "py", "gateway.lock")


def running_socket(env: "Mapping[str, str]", config: str = "", cwd: str = "") -> str:
    """The socket of the gateway that serves this state directory with this config file, if one runs.

    Its lock names it: XDG_RUNTIME_DIR and TMPDIR may have been others where the gateway was started.
    """
    return named_socket(lock_file(state_dir(env, cwd)), control_socket(env, config, cwd))


def named_socket(lock: str, own: str) -> str:
    """The socket that a lock names; `own` when it names none, or that of a gateway which serves another config."""
    try:
        with open(lock, "rb") as file:
            named = os.fsdecode(file.read(_LOCK_BYTES).partition(b"\n")[2])
    except OSError:
        return own
    # The name stands for the state directory and the config: only the directory may be another.
    return named if os.path.isabs(named) and os.path.basename(named) == os.path.basename(own) else own


def _socket_bytes() -> int:
    return _NAME_DIGITS + len(".sock")


def _user_home(env: "Mapping[str, str]") -> str:
    for name in ("HOME", "USERPROFILE"):
        if os.path.isabs(env.get(name, "")):
            return env[name]
    # Reads the password database when the environment names no home; "~" comes back when that has none either.
    found = os.path.expanduser("~")
    return found if os.path.isabs(found) else ""


def _expand(path: str, home_dir: str) -> str:
    if path == "~" or path.startswith(("~/", "~" + os.sep)):
        return home_dir + path[1:]
    return path


def _absolute(path: str, env: "Mapping[str, str]", cwd: str) -> str:
    return os.path.abspath(os.path.join(cwd, _expand(path, home(env))))
