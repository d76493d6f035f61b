"""The slope of a gateway's memory: steps are growth, one jump is not, and what goes up and down is none."""

import random

from bench.measures.day import FILLING, HOURS, PAGE, TURNS, slope

COUNTED = HOURS - FILLING + 1


def test_memory_that_grows_in_steps_of_every_third_hour_grows() -> None:
    each, least, most = slope([1_000.0 * (hour // 3) for hour in range(COUNTED)])
    assert 300 < each < 350
    assert 0 < least < each < most


def test_memory_that_grows_by_the_same_each_hour_grows_by_that() -> None:
    assert slope([100.0 * hour for hour in range(COUNTED)]) == (100.0, 100.0, 100.0)


def test_a_single_jump_is_within_the_error_of_nothing() -> None:
    _, least, most = slope([5_000_000.0 if hour > 7 else 0.0 for hour in range(COUNTED)])
    assert least < 0 < most


def test_memory_that_goes_nowhere_has_no_slope_in_about_95_of_100_days() -> None:
    drawn = random.Random(7)
    held = 0
    for _ in range(500):
        walked = [0.0]
        for _ in range(COUNTED - 1):
            walked.append(walked[-1] + drawn.gauss(0, 1))
        _, least, most = slope(walked)
        held += least <= 0 <= most
    assert 460 <= held <= 490


def test_a_page_now_and_then_is_no_slope_and_an_object_that_each_turn_leaves_is_one() -> None:
    pages = [PAGE * (hour // 3) for hour in range(COUNTED)]
    smallest_object = 48.0
    left = [TURNS * smallest_object * hour for hour in range(COUNTED)]
    assert slope([float(one) for one in pages], grain=PAGE)[1] < 0
    assert slope(left, grain=PAGE)[1] > 0
