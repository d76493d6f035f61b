"""One hub for everything that happens."""

import asyncio
from functools import partial
from itertools import pairwise

import msgspec
import pytest

from openclaw.event_hub import MAX_BEHIND, Event, EventHub

HANG_GUARD = 60.0


class Opened(msgspec.Struct, frozen=True):
    number: int


class Closed(msgspec.Struct, frozen=True):
    number: int


def test_everybody_gets_what_they_asked_for_until_they_unsubscribe() -> None:
    hub, opened, everything = EventHub(), list[object](), list[object]()
    stop = hub.subscribe(lambda event: opened.append(event.value), Opened)
    hub.subscribe(lambda event: everything.append(event.value))
    hub.send(Opened(1))
    hub.send(Closed(2))
    stop()
    stop()
    hub.send(Opened(3))
    assert (opened, everything) == ([Opened(1)], [Opened(1), Closed(2), Opened(3)])


def test_events_are_numbered_upwards_and_carry_the_time_also_after_a_restart() -> None:
    told: list[Event[Opened]] = []
    for second in (1.0, 1.1):
        hub = EventHub(clock=partial(float, second))
        hub.subscribe(told.append, Opened)
        for number in range(3):
            hub.send(Opened(number))
    assert all(one.id < other.id for one, other in pairwise(told))
    assert [event.time for event in told] == [1.0, 1.0, 1.0, 1.1, 1.1, 1.1]


def test_a_function_that_raises_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    hub, told = EventHub(), list[object]()

    def fail(event: Event[Opened]) -> None:
        raise RuntimeError

    hub.subscribe(fail, Opened)
    hub.subscribe(lambda event: told.append(event.value), Opened)
    hub.send(Opened(1))
    assert told == [Opened(1)]
    assert "A subscriber of Opened failed." in caplog.text


def test_whether_anybody_would_hear_of_it_is_known_before_it_is_made() -> None:
    hub = EventHub()
    stop = hub.subscribe(lambda event: None, Opened)
    assert (hub.has_subscribers(Opened), hub.has_subscribers(Closed)) == (True, False)
    stop()
    assert not hub.has_subscribers(Opened)
    hub.subscribe(lambda event: None)
    assert hub.has_subscribers(Closed)


def test_what_a_part_held_back_is_told_before_what_happens_now() -> None:
    hub, told, held = EventHub(), list[Event[object]](), [Closed(1), Closed(2)]

    def flush() -> None:
        while held:
            hub.send(held.pop(0))

    hub.flush_before(flush)
    hub.subscribe(told.append)
    hub.send(Opened(3))
    assert [event.value for event in told] == [Closed(1), Closed(2), Opened(3)]
    assert all(one.id < other.id for one, other in pairwise(told))


def test_a_part_that_fails_to_send_what_it_held_back_is_logged_and_nobody_else_notices(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hub, told = EventHub(), list[object]()

    def fail() -> None:
        raise ValueError("no")

    hub.flush_before(fail)
    hub.flush_before(lambda: hub.send(Closed(1)))
    hub.subscribe(lambda event: told.append(event.value))
    hub.send(Opened(2))
    assert told == [Closed(1), Opened(2)]
    assert "Events that were held back could not be sent." in caplog.text


async def test_readers_see_what_happens_from_now_on_and_what_they_asked_for() -> None:
    hub = EventHub()
    hub.send(Opened(0))
    with hub.reader() as everything, hub.reader(Closed) as closed:
        hub.send(Opened(1))
        hub.send(Closed(2))
        seen = [await everything.next(), await everything.next(), await closed.next()]
    assert [event.value for event in seen if event is not None] == [Opened(1), Closed(2), Closed(2)]
    assert not hub.has_subscribers(Closed)


async def test_a_reader_that_falls_behind_is_told_how_much_it_missed_and_sees_the_newest() -> None:
    hub = EventHub()
    with hub.reader(Opened) as reader:
        for number in range(MAX_BEHIND + 5):
            hub.send(Opened(number))
        first = await reader.next()
        assert first is not None
        assert (first.value, reader.missed(), reader.missed()) == (Opened(5), 5, 0)


async def test_when_we_stop_readers_see_what_is_left_and_then_the_end() -> None:
    hub, told = EventHub(), list[object]()
    hub.subscribe(lambda event: told.append(event.value), Closed)
    with hub.reader(Opened) as reader:
        hub.send(Opened(1))
        hub.close_readers()
        assert [event.value async for event in reader] == [Opened(1)]
        assert reader.is_closed
    with hub.reader() as late:
        assert await late.next() is None
    hub.send(Closed(2))
    assert told == [Closed(2)]


async def test_silence_ends_the_wait_and_not_the_reading() -> None:
    hub = EventHub()
    with hub.reader(Opened) as reader:
        assert await reader.next(0) is None
        waiting = asyncio.ensure_future(reader.next(HANG_GUARD))
        await asyncio.sleep(0)
        hub.send(Opened(1))
        event = await waiting
    assert event is not None
    assert event.value == Opened(1)
