"""What a turn took, in one line: tokens, the share of the model's window that is full, the cost where prices are known. Pure."""

from collections.abc import Callable, Sequence

from openclaw.content import Usage
from openclaw.models.spec import Prices

_MILLION = 1_000_000
# Dollars: four digits behind the point are shown.
_LEAST = 0.0001


def cost(usage: Usage, prices: Prices) -> float:
    cached = prices.input if prices.cached is None else prices.cached
    fresh = max(usage.input_tokens - usage.cached_tokens, 0)
    spent = fresh * prices.input + usage.cached_tokens * cached + usage.output_tokens * prices.output
    return spent / _MILLION


def spent_line(
    messages: Sequence[tuple[str, Usage]], window: int, seconds: float, prices: Callable[[str], Prices | None]
) -> str:
    """`messages` are those of the model in this turn, each with the model that wrote it. Empty when nothing was counted."""
    used = sum((usage for _, usage in messages), Usage())
    if not used.input_tokens and not used.output_tokens:
        return ""
    parts = [f"{used.input_tokens:,} tokens in, {used.output_tokens:,} out"]
    if used.cached_tokens:
        parts[0] += f" ({used.cached_tokens:,} cached)"
    _, last = messages[-1]
    if window:
        parts.append(f"{percent((last.input_tokens + last.output_tokens) / window)} of {window:,}")
    known = [(usage, found) for model, usage in messages if (found := prices(model)) is not None]
    if known and len(known) == len(messages):
        total = sum(cost(usage, found) for usage, found in known)
        parts.append(money(total))
    parts.append(f"{seconds:.1f} s")
    return " · ".join(parts)


def percent(share: float) -> str:
    """Of what is used at all it is never said that it is nothing."""
    return f"{share:.0%}" if share >= 0.01 or share == 0 else "under 1%"


def money(amount: float) -> str:
    """Dollars, with as many digits as say something. Of what costs at all it is never said that it costs nothing."""
    if 0 < amount < _LEAST:
        return f"under ${_LEAST}"
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"
