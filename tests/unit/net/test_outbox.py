"""Which requests of a turn are written when."""

import asyncio

from openclaw.net.outbox import GATHER, Outbox


class Paper(asyncio.Transport):
    """A transport that notes what was written to it and the others."""

    def __init__(self, written: list[bytes]) -> None:
        super().__init__()
        self.written = written
        self.left = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.left


def requests(count: int) -> tuple[Outbox, list[Paper], list[bytes]]:
    outbox, written = Outbox(), list[bytes]()
    papers = [Paper(written) for _ in range(count)]
    for number, paper in enumerate(papers):
        outbox.write(paper, b"%d" % number, asyncio.get_running_loop())
    return outbox, papers, written


async def test_the_first_request_of_a_turn_is_written_at_once_and_the_others_at_its_end() -> None:
    outbox, papers, written = requests(3)
    assert written == [b"0"]
    await asyncio.sleep(0)
    assert written == [b"0", b"1", b"2"]
    outbox.write(papers[0], b"next turn", asyncio.get_running_loop())
    assert written[3:] == [b"next turn"]


async def test_many_requests_do_not_wait_for_the_end_of_the_turn() -> None:
    _, _, written = requests(GATHER + 2)
    assert written == [b"%d" % number for number in range(GATHER + 1)]
    await asyncio.sleep(0)
    assert len(written) == GATHER + 2


async def test_a_request_whose_caller_left_in_the_same_turn_is_never_sent() -> None:
    _, papers, written = requests(3)
    papers[1].left = True
    await asyncio.sleep(0)
    assert written == [b"0", b"2"]
