"""What is remembered of a server's answers and failures."""

from openclaw.mcp.server.record import KEPT, Record


def test_a_server_that_never_answered_has_no_latency() -> None:
    assert (Record().latency(0.5), Record().latency(0.95)) == (None, None)


def test_latency_is_that_of_the_answers_and_not_of_their_order() -> None:
    record = Record()
    for number in reversed(range(1, 101)):
        record.answered(number / 1000)
    assert (record.latency(0.5), record.latency(0.95), record.latency(1.0)) == (0.051, 0.096, 0.1)


def test_one_answer_is_both() -> None:
    record = Record()
    record.answered(0.25)
    assert (record.latency(0.5), record.latency(0.95)) == (0.25, 0.25)


def test_old_answers_make_room_for_new_ones() -> None:
    record = Record()
    for seconds in (*[9.0] * KEPT, *[1.0] * KEPT):
        record.answered(seconds)
    assert record.latency(0.95) == 1.0
