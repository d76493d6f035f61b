"""The wire of the control socket: frames, and the request that opens a conversation.

A frame is one byte that says what it is, four bytes of length, and that many bytes. Both ends use this module, and one of them is the
command-line stub, so it imports nothing at all. A conversation is opened by RUN, or by STATUS, STOP, DRAIN, TICKET or REVOKE. A request
to run is a list of fields without NUL bytes, which no argument of a program can hold: PROTOCOL first, so that every version can tell every
other apart.

    RUN → LOCAL                                          the caller has to do it itself; the payload says why, if a person should know
    RUN → TAKEN, GO → (OUT | ERR | QUESTION | WITHDRAWN | BROWSE | READ | UNSEEN)* EXIT     CANCEL and WIDTH any time
    STATUS → DATA        STOP → DATA
    DRAIN → DATA                                         finish what runs, then stop: its words are two numbers of seconds, limit and grace
    TICKET → DATA        REVOKE → DATA                   for the gateway's page: a ticket to open it with, or the end of all that are open

A QUESTION is something for a person: JSON with an id of its own (`questions.py`), answered by an ANSWER that carries the same id. Several
may be open at a time, and answers come in any order; one that names no open question is ignored. The request says which kinds the caller
can show, and no other is sent. WITHDRAWN takes a question back: whoever asked no longer waits. CANCEL, and leaving, answer all that are
open.

BROWSE and READ stay beside it because no person decides about them: they are what the terminal at the other end is used for. BROWSE is
an id and an address, answered by BROWSED with the same id and, when the address was opened (or one could be, if it is empty), a word; one
that nobody waits for any more is ignored. READ is answered by INPUT frames and an empty one; one that carries a number wants so many
bytes at most, and only what comes through a pipe.

WIDTH tells of the columns of a screen whose window was made wider or narrower. UNSEEN with a word: what is typed from now on is not to be
shown, for a line is drawn that it would move; empty: it is shown again.

Nothing is begun before GO: a caller that was tired of waiting and does the work itself never says it.
"""

# Changes with anything in this file that an older other end would misread.
PROTOCOL = b"openclaw-4"

# From the caller, first.
RUN, STATUS, STOP, DRAIN, TICKET, REVOKE = b"R", b"S", b"T", b"D", b"P", b"V"
# From the caller, later.
GO, CANCEL, ANSWER, BROWSED, INPUT, WIDTH = b"g", b"c", b"a", b"w", b"i", b"z"
# From the gateway.
TAKEN, LOCAL, OUT, ERR, EXIT, DATA = b"k", b"l", b"o", b"e", b"x", b"d"
QUESTION, WITHDRAWN, BROWSE, READ, UNSEEN = b"q", b"u", b"b", b"r", b"h"

# The questions that a terminal can show: those of `conversation.QuestionKind` that control/question_dialogue.py knows.
TERMINAL_KINDS = b"approval form url"

HEAD_BYTES = 5
# No argument list is longer on any system, and output is sent in pieces far below this.
MOST_BYTES = 64 * 1024 * 1024
# What makes one frame of a long output: large enough to cost nothing, small enough to pass through as it comes.
PIECE_BYTES = 64 * 1024
# A terminal gives a line at a time, and none is longer.
LINE_BYTES = 4096
# Seconds. A healthy gateway takes a request within milliseconds; one that does not is left alone.
ANSWER_TIMEOUT = 5.0
# Seconds that a pipe has to begin with what it brings: `ssh` and some programs leave one open that nobody ever writes to.
PIPE_PATIENCE = 3.0
NOTHING_PIPED = (
    b"note: nothing came through standard input within %d s, so the message goes without it. "
    b"To wait for all of it: openclaw agent -m -\n" % PIPE_PATIENCE
)
# The exit code of a command that was interrupted, as shells show it.
INTERRUPTED = 130


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


def length_of(head: bytes | bytearray) -> int:
    """How many bytes follow a head. Raises ValueError when no honest frame is that long."""
    length = int.from_bytes(head[1:HEAD_BYTES], "big")
    if length > MOST_BYTES:
        raise ValueError(f"a frame of {length} bytes")
    return length


def take(buffer: bytearray) -> tuple[bytes, bytes] | None:
    """The first frame of what has arrived, taken out of it; None until it is whole. Raises ValueError."""
    if len(buffer) < HEAD_BYTES:
        return None
    end = HEAD_BYTES + length_of(buffer)
    if len(buffer) < end:
        return None
    kind, payload = bytes(buffer[:1]), bytes(buffer[HEAD_BYTES:end])
    del buffer[:end]
    return kind, payload


def request(
    token: bytes,
    *,
    version: bytes = b"",
    state_dir: bytes = b"",
    config_file: bytes = b"",
    cwd: bytes = b"",
    width: bytes = b"",
    marks: bytes = b"",
    kinds: bytes = b"",
    words: list[bytes] | None = None,
) -> bytes:
    """What RUN carries, for `gateway/request.py` to read: `kinds` are the questions that can be shown here, between blanks. Of what the
    others carry, the gateway looks at the token alone, and of DRAIN at the words."""
    return pack([PROTOCOL, token, version, state_dir, config_file, cwd, width, marks, kinds, *(words or ())])


def pack(fields: list[bytes]) -> bytes:
    return b"\0".join(fields)


def unpack(payload: bytes) -> list[bytes]:
    return payload.split(b"\0")
