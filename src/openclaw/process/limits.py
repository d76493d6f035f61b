"""Bounds that a program of ours sets itself before it reads what came from outside.

Owns the system calls for that. A bound that is refused (a container allows less already, a system knows no such limit) stays as it was
found: whoever started the program still ends it in time.
"""

import contextlib
import sys

if sys.platform != "win32":
    import resource


def limit_this_process(*, memory: int, seconds: int) -> None:
    """At most so many bytes of memory, and seconds of the processor, from here on. Windows has no such limits."""
    if sys.platform != "win32":
        for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
            # Refused with a ValueError where the limit in force is lower.
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(kind, (most, most))
