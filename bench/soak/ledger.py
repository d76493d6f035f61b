"""What was asked against what was done: calls that were lost, and calls that were carried out twice. Pure, over lines of text.

Callers write a line when a call is over: `ok TEXT` or `error TEXT`.
Servers write TEXT when they carry a call out, before they answer. Every text is used once.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec


class Ledger(msgspec.Struct, frozen=True):
    answered: int
    failed: int
    # Answered, but no server ever did it.
    lost: int
    # Done more than once: `tools/call` is at most once.
    doubled: int


def reckon(calls: Iterable[str], journal: Iterable[str]) -> Ledger:
    done = Counter(line.strip() for line in journal if line.strip())
    answered = failed = lost = 0
    for line in calls:
        outcome, _, text = line.strip().partition(" ")
        if outcome == "ok":
            answered += 1
            lost += text not in done
        elif outcome == "error":
            failed += 1
    return Ledger(answered, failed, lost, sum(count > 1 for count in done.values()))
