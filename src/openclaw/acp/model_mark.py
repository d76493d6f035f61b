"""Whether a model was there to answer when somebody last looked, so that a client is greeted without loading anything.

Owns one small file for each config, agent and conversation that clients start us with. It holds only while the config file and the keys in
the environment are those of that time; when it does not, whoever greets has to look (`model.py`). What else a
model may come from (an included file, a variable of another name, an Ollama elsewhere) is not seen here: then one greeting offers to set up
a model that is there, the first session looks, and the next greeting is right. On the standard library alone.
"""

import os
from hashlib import sha256

from openclaw.config import plain_paths
from openclaw.control.listening import is_listening

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGITS = 16
# How the names of variables end that may hold a vendor's key.
_KEYS = ("_KEY", "_TOKEN")
# Where an Ollama is, unless this variable says otherwise.
OLLAMA_PORT = 11434
_OLLAMA_HOST = "OLLAMA_HOST"
_THERE, _MISSING = b"+", b"-"


def has_model(env: "Mapping[str, str]", config: str, agent: str, session: str) -> bool | None:
    """Whether a model is there; None when somebody has to look. `config` is the path that `--config` named, if it did."""
    found = _remembered(env, config, agent, session)
    if found is None and not _has_anything(env, config):
        found = False
    return None if found is False and _may_have_come(env, config) else found


def note(env: "Mapping[str, str]", config: str, agent: str, session: str, *, is_there: bool) -> None:
    """Remember what was found. Where that cannot be done, the next one looks too."""
    if _remembered(env, config, agent, session) is is_there:
        return
    place = _place(env, config, agent, session)
    try:
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        with open(place, "wb") as file:
            file.write(_now(env, config) + (_THERE if is_there else _MISSING))
    except (OSError, ValueError):
        return


def _remembered(env: "Mapping[str, str]", config: str, agent: str, session: str) -> bool | None:
    try:
        with open(_place(env, config, agent, session), "rb") as file:
            found, now = file.read(_DIGITS + 2), _now(env, config)
    except (OSError, ValueError):
        return None
    return {now + _THERE: True, now + _MISSING: False}.get(found)


def _has_anything(env: "Mapping[str, str]", config: str) -> bool:
    """Whether there is a config or a key that could name a model."""
    return bool(_keys(env)) or os.path.lexists(plain_paths.config_file(env, config))


def _may_have_come(env: "Mapping[str, str]", config: str) -> bool:
    """Whether there may be a model by now without a change to the config or a key: with a gateway of another environment, or an Ollama."""
    if env.get(_OLLAMA_HOST) or os.path.lexists(plain_paths.running_socket(env, config)):
        return True
    return is_listening(OLLAMA_PORT)


def _place(env: "Mapping[str, str]", config: str, agent: str, session: str) -> str:
    told = "\0".join((os.path.realpath(plain_paths.config_file(env, config)), agent, session))
    return os.path.join(plain_paths.state_dir(env), "py", "acp", "models", _digest(told))


def _now(env: "Mapping[str, str]", config: str) -> bytes:
    """What a model depends on."""
    try:
        found = os.stat(plain_paths.config_file(env, config))
        written = f"{found.st_mtime_ns} {found.st_size}"
    except FileNotFoundError:
        written = "no config"
    return _digest("\0".join((written, *_keys(env)))).encode()


def _keys(env: "Mapping[str, str]") -> list[str]:
    return sorted(name for name, value in env.items() if name.endswith(_KEYS) and value)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
