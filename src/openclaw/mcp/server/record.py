"""How a server did lately: how long its answers took, and what went wrong last. For `status`; nothing is decided by it."""

from collections import deque

# Answers that are remembered: enough for a 95th percentile that means something, little enough to sort whenever somebody looks.
KEPT = 256


class Record:
    """Moments are by whatever clock the caller uses. `error` is a sentence of ours, or words of the server that were cleaned."""

    def __init__(self) -> None:
        self.error = ""
        self.error_at = 0.0
        self._seconds: deque[float] = deque(maxlen=KEPT)

    def answered(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def failed(self, sentence: str, now: float) -> None:
        self.error, self.error_at = sentence, now

    def latency(self, share: float) -> float | None:
        """The time within which that share of the last answers came; None when there were none."""
        ordered = sorted(self._seconds)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else None
