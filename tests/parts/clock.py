"""A clock that a test sets."""


class Clock:
    """Seconds since 1970, and always the same until a test sets another time."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now
