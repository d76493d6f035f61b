"""What a soak must show, and what is wrong with one that does not. Pure."""

import statistics
from collections.abc import Sequence

import msgspec

# With fewer, it was no soak.
CALLS_PER_MINUTE = 1_000
KILLS_PER_MINUTE = 50
# Memory that is really lost grows with the calls, of which there are tens of thousands a minute: 1 MB a minute is some 50 bytes a call.
MOST_BYTES_PER_MINUTE = 1_000_000
# What an allocator may still take in a short run before it is settled.
SETTLING_BYTES = 3_000_000


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
    def slope(self) -> float:
        return slope(self.memory, self.minutes)


def slope(samples: Sequence[int], minutes: float) -> float:
    """Bytes a minute, from the median of the second quarter to that of the last: the first is for warming up."""
    quarter = len(samples) // 4
    if quarter == 0 or minutes <= 0:
        return 0.0
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    # From the middle of one to the middle of the other is half of the time.
    return (statistics.median(late) - statistics.median(early)) / (minutes / 2)


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
    if seen.slope > MOST_BYTES_PER_MINUTE + SETTLING_BYTES / max(seen.minutes, 1 / 60):
        found.append(f"memory grows by {seen.slope / 1e6:.1f} MB a minute")
    return found
