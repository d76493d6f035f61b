"""How long an answer asks to wait before the request is made again. Pure."""

import calendar
import math
import time
from collections.abc import Mapping


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, from `retry-after-ms`, or `Retry-After` as seconds or a date; None when there is nothing to honour.

    `headers` have lower-case names; `now` is Unix time.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            seconds = float(value) / unit
        except ValueError:
            try:
                seconds = max(calendar.timegm(time.strptime(value, "%a, %d %b %Y %H:%M:%S GMT")) - now, 0.0)
            except ValueError:
                continue
        if seconds >= 0 and math.isfinite(seconds):
            return seconds
    return None
