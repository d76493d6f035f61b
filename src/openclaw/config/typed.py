"""Plain data → the types of the config, one thread at a time.

msgspec learns a type when it is first used, and two threads that use a type with others inside for the first time at the same moment can
end the process: the second one finds the first one's half-finished work. Several config files may be read in threads at once, so they all
come through here.
"""

import threading
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_one_at_a_time = threading.Lock()


def typed(data: Any, kind: type[_T]) -> _T:
    """Raises msgspec.ValidationError."""
    with _one_at_a_time:
        return msgspec.convert(data, kind)
