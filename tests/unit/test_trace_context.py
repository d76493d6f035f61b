"""What is taken from a caller of the trace it is part of."""

from typing import Any

import pytest

from openclaw.trace_context import carried

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (None, {}),
        ({}, {}),
        ({"traceparent": PARENT}, {"traceparent": PARENT}),
        (
            {"traceparent": PARENT, "tracestate": "a=1", "baggage": "user=1", "progressToken": 1},
            {"traceparent": PARENT, "tracestate": "a=1"},
        ),
        ({"tracestate": "a=1"}, {}),
        ({"traceparent": 7}, {}),
        ({"traceparent": "--agent"}, {}),
        ({"traceparent": f"{PARENT}\n"}, {}),
        ({"traceparent": PARENT, "tracestate": "-x"}, {"traceparent": PARENT}),
        ({"traceparent": PARENT, "tracestate": ["a"]}, {"traceparent": PARENT}),
        ({"traceparent": PARENT, "tracestate": "a" * 513}, {"traceparent": PARENT}),
    ],
)
def test_the_two_fields_of_a_trace_are_taken_and_nothing_else(given: Any, taken: dict[str, str]) -> None:
    assert carried(given) == taken
