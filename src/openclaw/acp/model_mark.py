"""Whether a model was there to answer when somebody last looked, so that a client is greeted without loading anything.

Owns one small file for each config, agent and conversation that clients start us with. It holds only while the config file and the keys in
the environment are those of that time; when it does not, whoever greets has to look (`model.py`). On the standard library alone.
"""

import os
from hashlib import sha256

from openclaw.config import plain_paths

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGITS = 16
# How the names of variables end that may hold a vendor's key.
_KEYS = ("_KEY", "_TOKEN")


def is_known(env: "Mapping[str, str]", config: str, agent: str, session: str) -> bool:
    """Whether a model is there, as far as can be told without looking. `config` is the path that `--config` named, if it did."""
    try:
        with open(_place(env, config, agent, session), "rb") as file:
            return file.read(len(now := _now(env, config)) + 1) == now
    except (OSError, ValueError):
        return False


def note(env: "Mapping[str, str]", config: str, agent: str, session: str, *, is_there: bool) -> None:
    """Remember what was found. Where that cannot be done, the next one looks too."""
    if is_there == is_known(env, config, agent, session):
        return
    place = _place(env, config, agent, session)
    try:
        if not is_there:
            os.unlink(place)
            return
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        with open(place, "wb") as file:
            file.write(_now(env, config))
    except (OSError, ValueError):
        return


def _place(env: "Mapping[str, str]", config: str, agent: str, session: str) -> str:
    told = "\0".join((os.path.realpath(plain_paths.config_file(env, config)), agent, session))
    return os.path.join(plain_paths.state_dir(env), "py", "acp", "models", _digest(told))


def _now(env: "Mapping[str, str]", config: str) -> bytes:
    """What a model depends on. Raises OSError when there is no config."""
    found = os.stat(plain_paths.config_file(env, config))
    keys = sorted(name for name, value in env.items() if name.endswith(_KEYS) and value)
    return _digest("\0".join((str(found.st_mtime_ns), str(found.st_size), *keys))).encode()


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
