"""The error of a difference: an interval that holds the true median however the noise is distributed."""

import random

from bench.measures.approvals import interval


def test_the_interval_lies_around_the_middle_and_narrows_with_more_rounds() -> None:
    few = interval([float(number) for number in range(10)])
    many = interval([number / 10 for number in range(100)])
    assert few == (1.0, 8.0)
    assert many == (4.0, 5.9)


def test_the_true_median_is_within_it_in_about_95_of_100_runs() -> None:
    drawn = random.Random(7)
    held = 0
    for _ in range(1_000):
        # Skewed, as the noise of a busy machine is.
        low, high = interval([drawn.expovariate(1.0) - 0.6931 for _ in range(100)])
        held += low <= 0 <= high
    assert 930 <= held <= 980
