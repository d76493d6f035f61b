"""Wrong tokens, counted by where they come from."""

import pytest

from openclaw.gateway.throttle import MOST_ADDRESSES, MOST_WRONG, WINDOW, Penalty, Throttle


def waits(throttle: Throttle, address: str, *moments: float) -> list[Penalty | None]:
    return [throttle.wrong(address, moment) for moment in moments]


def test_an_address_may_be_wrong_so_often_and_then_waits_for_the_rest_of_the_minute() -> None:
    throttle = Throttle()
    assert waits(throttle, "10.0.0.1", *[5.0] * MOST_WRONG) == [None] * MOST_WRONG
    assert waits(throttle, "10.0.0.1", 15.0, WINDOW + 4) == [Penalty(50.0, is_new=True), Penalty(1.0, is_new=False)]


def test_trying_on_does_not_make_the_wait_longer() -> None:
    throttle = Throttle()
    waits(throttle, "10.0.0.1", *[0.0] * MOST_WRONG, *range(1, 50))
    assert waits(throttle, "10.0.0.1", WINDOW) == [None]


def test_who_is_wrong_now_and_then_never_waits() -> None:
    pause = WINDOW / MOST_WRONG
    assert set(waits(Throttle(), "10.0.0.1", *(pause * number for number in range(10 * MOST_WRONG)))) == {None}


def test_one_address_costs_another_nothing() -> None:
    throttle = Throttle()
    waits(throttle, "10.0.0.1", *[0.0] * MOST_WRONG)
    assert waits(throttle, "10.0.0.2", 1.0) == [None]


@pytest.mark.parametrize(
    "forms",
    [
        ("127.0.0.1", "::ffff:127.0.0.1", "::FFFF:7f00:1"),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:0DB8:0001:0002::5"),
        ("fe80::1", "fe80::1%eth0"),
    ],
)
def test_other_forms_of_an_address_are_the_same_caller(forms: tuple[str, ...]) -> None:
    throttle = Throttle()
    for number in range(MOST_WRONG):
        assert throttle.wrong(forms[number % len(forms)], 0.0) is None
    assert None not in [throttle.wrong(form, 1.0) for form in forms]


def test_many_addresses_take_no_more_room_than_there_is() -> None:
    throttle = Throttle()
    waits(throttle, "10.0.0.1", *[0.0] * MOST_WRONG)
    for number in range(MOST_ADDRESSES):
        throttle.wrong(f"10.1.{number // 256}.{number % 256}", 1.0)
    assert waits(throttle, "10.0.0.1", 2.0) == [None]
