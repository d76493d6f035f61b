"""Whether a program of this machine listens on a port. On the module under `socket` alone: somebody waits for the answer."""

import _socket

# Seconds. On loopback somebody answers or refuses at once.
_WITHIN = 0.1


def is_listening(port: int) -> bool:
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        probe.settimeout(_WITHIN)
        probe.connect(("127.0.0.1", port))
    except OSError:
        return False
    finally:
        probe.close()
    return True
