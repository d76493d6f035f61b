"""What a soak must show, and what is wrong with one that does not. Pure."""

import statistics
from collections.abc import Sequence

import msgspec

# With fewer, it was no soak.
CALLS_PER_MINUTE = 1_000
KILLS_PER_MINUTE = 50
# Memory that is really lost grows with the calls, of which there are tens of thousands a minute: 1 MB a minute is some 50 bytes a call.
MOST_BYTES_PER_MINUTE = 1_000_000
# What is bounded fills up first: the lines kept of each server's stderr, durations of calls, caches, and the allocator's free lists
# between them. Twelve minutes went 42.0 44.7 47.1 48.3 49.2 49.5 49.9 49.9 51.1 51.2 MB. The slope is judged from here on.
SETTLING_MINUTES = 5.0
# A run that is over before, or soon after, is judged by how much it took in all.
LEAST_MINUTES_JUDGED = 3.0
MOST_BYTES_TO_SETTLE = 15_000_000


class Observed(msgspec.Struct, frozen=True):
    minutes: float
    answered: int
    failed: int
    kills: int
    cuts: int
    restarts: int
    reloads: int
    # Streams resumed by Last-Event-ID; MCP sessions begun and HTTP+SSE streams opened after the first ones.
    resumed: int
    sessions: int
    legacy_streams: int
    lost: int
    doubled: int
    hung: int
    # Failed although nothing was done to its server while it was under way.
    undue: int
    # Processes that were left over.
    orphans: int
    # Descriptors that were left open.
    descriptors: int
    # Resident memory, sampled at equal distances.
    memory: tuple[int, ...]

    @property
    def slope(self) -> float | None:
        """Bytes a minute once memory has settled; None when the run was too short to tell."""
        judged = self.minutes - SETTLING_MINUTES
        if judged < LEAST_MINUTES_JUDGED:
            return None
        return slope(self.memory[-int(len(self.memory) * judged / self.minutes) :], judged)


def slope(samples: Sequence[int], minutes: float) -> float:
    """Bytes a minute, from the median of the first third to that of the last."""
    third = max(1, len(samples) // 3)
    # From the middle of one to the middle of the other are two thirds of the time.
    return (statistics.median(samples[-third:]) - statistics.median(samples[:third])) / (minutes * 2 / 3)


def problems(seen: Observed) -> list[str]:
    """Every promise that was not kept, in words; none when all were."""
    ended = seen.answered + seen.failed
    found = [
        f"{count} {what}"
        for count, what in (
            (seen.lost, "calls lost"),
            (seen.doubled, "calls carried out twice"),
            (seen.hung, "calls hung"),
            (seen.undue, "calls failed though nothing was done to their server meanwhile"),
            (seen.orphans, "processes left over"),
            (seen.descriptors, "descriptors left open"),
        )
        if count
    ]
    if ended < CALLS_PER_MINUTE * seen.minutes:
        found.append(f"only {ended} calls in {seen.minutes:.1f} minutes")
    if seen.kills < KILLS_PER_MINUTE * seen.minutes:
        found.append(f"only {seen.kills} kills in {seen.minutes:.1f} minutes")
    found += [
        f"no {what}"
        for count, what in (
            (seen.resumed, "stream was resumed by Last-Event-ID"),
            (seen.sessions, "MCP session was begun again"),
            (seen.legacy_streams, "HTTP+SSE stream was opened again"),
        )
        if not count
    ]
    if seen.slope is None:
        taken = seen.memory[-1] - seen.memory[0]
        if taken > MOST_BYTES_TO_SETTLE:
            found.append(f"memory grew by {taken / 1e6:.1f} MB")
    elif seen.slope > MOST_BYTES_PER_MINUTE:
        found.append(f"memory grows by {seen.slope / 1e6:.1f} MB a minute")
    return found
