"""`${NAME}`, its escape, and the bare form of secret fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.config.variables import Expanded, escape, expand, say_unset

ENV = {"TOKEN": "t0k", "EMPTY": "", "A": "${TOKEN}", "_X9": "x"}


@pytest.mark.parametrize(
    ("text", "bare", "result"),
    [
        ("plain", False, Expanded("plain")),
        ("Bearer ${TOKEN}", False, Expanded("Bearer t0k")),
        ("${TOKEN}${_X9}", False, Expanded("t0kx")),
        ("$${TOKEN}", False, Expanded("${TOKEN}")),
        ("$$${TOKEN}", False, Expanded("$${TOKEN}")),
        ("${A}", False, Expanded("${TOKEN}")),
        ("${lower} ${Mixed} ${} $TOKEN $", False, Expanded("${lower} ${Mixed} ${} $TOKEN $")),
        ("${NOPE}", False, Expanded("${NOPE}", ("NOPE",))),
        ("${EMPTY}", False, Expanded("${EMPTY}", ("EMPTY",))),
        ("${TOKEN} ${B} ${C} ${B}", False, Expanded("${TOKEN} ${B} ${C} ${B}", ("B", "C"))),
        ("${TOKEN:-x} ${B?}", False, Expanded("${TOKEN:-x} ${B?}", ("TOKEN:-x", "B?"))),
        ("$${TOKEN:-x}", False, Expanded("${TOKEN:-x}")),
        ("$TOKEN", False, Expanded("$TOKEN")),
        ("$TOKEN", True, Expanded("t0k")),
        ("$NOPE", True, Expanded("$NOPE", ("NOPE",))),
        ("$TOKEN ", True, Expanded("$TOKEN ")),
        ("$5.00", True, Expanded("$5.00")),
        ("pa$TOKEN", True, Expanded("pa$TOKEN")),
    ],
)
def test_variables_are_put_in(text: str, bare: bool, result: Expanded) -> None:
    assert expand(text, ENV, bare=bare) == result


@given(st.text(st.sampled_from("${}TOKENa :-")))
def test_escaped_text_comes_back_as_it_was(text: str) -> None:
    assert expand(escape(text), ENV) == Expanded(text)


def test_what_only_a_shell_knows_is_said_to_be_unknown() -> None:
    assert say_unset(("A", "B:-/tmp")) == "${B:-/tmp}: only a name may stand in the braces, without a default"
