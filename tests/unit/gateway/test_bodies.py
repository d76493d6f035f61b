"""Bodies of very many parts are refused, and long texts are not, whatever they are full of."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.errors import UsageError
from openclaw.gateway import bodies
from openclaw.gateway.bodies import refuse_very_many

TEXTS = st.text('ab\\":, {}[]\nü', max_size=12)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def parts_of(value: Any) -> tuple[int, int]:
    """Keys, and commas between values, counted in what the JSON means."""
    if not isinstance(value, dict | list):
        return 0, 0
    members = list(value.values()) if isinstance(value, dict) else value
    inner = [parts_of(member) for member in members]
    keys = len(members) if isinstance(value, dict) else 0
    return keys + sum(one[0] for one in inner), max(0, len(members) - 1) + sum(one[1] for one in inner)


@given(value=VALUES, spaces=st.booleans(), piece=st.integers(1, 9))
def test_keys_and_values_are_counted_exactly_whatever_stands_in_texts(value: Any, spaces: bool, piece: int) -> None:
    keys, commas = parts_of(value)
    body = json.dumps(value, indent=1 if spaces else None, separators=(", ", " : ") if spaces else None).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "_PIECE", piece)
        patch.setattr(bodies, "MANY_KEYS", keys)
        patch.setattr(bodies, "MANY_VALUES", commas)
        refuse_very_many(body)
        if keys:
            patch.setattr(bodies, "MANY_KEYS", keys - 1)
            with pytest.raises(UsageError):
                refuse_very_many(body)
        if commas:
            patch.setattr(bodies, "MANY_KEYS", keys)
            patch.setattr(bodies, "MANY_VALUES", commas - 1)
            with pytest.raises(UsageError):
                refuse_very_many(body)


@pytest.mark.parametrize("word", ['{"key": 1, "other": 2}', '":', ":", "\\\\,", '\\":,'])
def test_a_long_text_is_one_value_whatever_it_is_full_of(word: str) -> None:
    refuse_very_many(msgspec.json.encode({"tool": "write", "args": {"content": word * 1_100_000}}))
