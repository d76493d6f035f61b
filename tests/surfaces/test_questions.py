"""Questions at a terminal: those of a gateway, at the terminal of whoever handed in the command, and those of this process at its own."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openclaw.commands.console import Console
from openclaw.config.paths import Paths
from openclaw.conversation import NO_ANSWER, Answer, AskedCall, Offer, Question
from openclaw.gateway.request import CommandRequest
from parts.control_socket import serving, short_folder
from parts.dialogues import no, yes
from parts.executable import python_program
from parts.gateways import PROGRAM
from parts.processes import HANG_GUARD
from parts.terminal import CONTROL_C, CONTROL_D, ENTER, UP, Terminal

MAY_IT = Question("approval", "May files write notes.txt?", options=("once", "always"))
ASKED = "1–2 yes · n no: "
HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202eevil\r\x08"

Ask = Callable[[Console], Awaitable[list[Any]]]


async def at_the_terminal_of_a_gateway(ask: Ask, use: Callable[[Terminal], object], folder: Path, **env: str) -> Any:
    """What a command of the gateway got to hear, while somebody used the terminal that handed it in, and how that ended."""
    heard: list[Any] = []

    async def work(request: CommandRequest, console: Console) -> int:
        heard.extend(await ask(console))
        console.line("done")
        return 0

    with short_folder() as runtime:
        environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(runtime), **env}
        async with serving(work, Paths.from_env(environ).control_socket) as (server, _, _):

            def sit() -> tuple[int, str]:
                with Terminal([*PROGRAM, "status"], cwd=folder, env=environ) as terminal:
                    use(terminal)
                    return terminal.ends()

            code, rest = await asyncio.to_thread(sit)
            await server.finish(HANG_GUARD)
    return heard, code, rest


def typing(*steps: tuple[str, str]) -> Callable[[Terminal], None]:
    """Wait for each text, then type."""

    def use(terminal: Terminal) -> None:
        for shown, keys in steps:
            terminal.shows(shown)
            terminal.type(keys)

    return use


def asking(*questions: Question) -> Ask:
    async def ask(console: Console) -> list[Any]:
        return [await console.asker.ask(question) for question in questions]

    return ask


async def test_two_questions_in_a_row_are_answered_at_the_terminal(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    form = Question("form", "Who are you?", asker="shop", schema=schema)
    use = typing(
        (ASKED, "1"),
        ('Server "shop" asks:\r\n  | Who are you?', ""),
        ("name (text): ", f"Yü{ENTER}"),
        ("Send this?\r\n  | name  Yü\r\n[s]end   [e]dit   [d]ecline   [Esc] not now: ", "s"),
    )
    heard, code, rest = await at_the_terminal_of_a_gateway(asking(MAY_IT, form), use, tmp_path)
    assert heard == [yes(option="once"), yes(name="Yü")]
    assert (code, rest.endswith("done\r\n")) == (0, True)


async def test_questions_asked_at_the_same_time_are_shown_one_after_the_other(tmp_path: Path) -> None:
    async def ask(console: Console) -> list[Any]:
        asked = [console.asker.ask(Question("approval", name)) for name in ("first", "second")]
        return list(await asyncio.gather(*asked))

    shown: list[str] = []

    def use(terminal: Terminal) -> None:
        shown.append(terminal.shows("n no: "))
        terminal.type("y")
        shown.append(terminal.shows("n no: "))
        terminal.type("n")

    heard, _, _ = await at_the_terminal_of_a_gateway(ask, use, tmp_path)
    assert heard == [yes(), no()]
    assert ["first" in shown[0], "second" in shown[0], "second" in shown[1]] == [True, False, True]


async def test_enter_alone_and_the_end_of_input_are_no_answer(tmp_path: Path) -> None:
    use = typing(
        (ASKED, ENTER), (ASKED, "x"), (f"x\r\nThat is none of them.\r\n{ASKED}", CONTROL_D), ("Left unanswered.", "")
    )
    heard, code, _ = await at_the_terminal_of_a_gateway(asking(MAY_IT), use, tmp_path)
    assert (heard, code) == ([NO_ANSWER], 0)


async def test_what_was_typed_before_a_question_is_no_answer_to_it(tmp_path: Path) -> None:
    typed = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def ask(console: Console) -> list[Any]:
        console.note("working")
        await typed.wait()
        return [await console.asker.ask(MAY_IT)]

    def use(terminal: Terminal) -> None:
        terminal.shows("working")
        terminal.type(f"1{ENTER}")
        # Its echo says that the terminal has it.
        terminal.shows("1")
        loop.call_soon_threadsafe(typed.set)
        terminal.shows(ASKED)
        terminal.type("n")

    heard, _, _ = await at_the_terminal_of_a_gateway(ask, use, tmp_path)
    assert heard == [no()]


async def test_a_question_that_is_taken_back_goes_away_and_the_command_goes_on(tmp_path: Path) -> None:
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def ask(console: Console) -> list[Any]:
        asked = asyncio.create_task(console.asker.ask(MAY_IT))
        await seen.wait()
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        return [await console.asker.ask(Question("approval", "And this?"))]

    def use(terminal: Terminal) -> None:
        terminal.shows(ASKED)
        loop.call_soon_threadsafe(seen.set)
        terminal.shows("(This is no longer asked.)")
        terminal.shows("And this?")
        terminal.shows("n no: ")
        terminal.type("y")

    heard, _, _ = await at_the_terminal_of_a_gateway(ask, use, tmp_path)
    assert heard == [yes()]


async def test_what_is_printed_while_a_question_is_open_is_shown_at_once(tmp_path: Path) -> None:
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def ask(console: Console) -> list[Any]:
        asked = asyncio.create_task(console.asker.ask(MAY_IT))
        await seen.wait()
        console.line("meanwhile")
        return [await asked]

    def use(terminal: Terminal) -> None:
        terminal.shows(ASKED)
        loop.call_soon_threadsafe(seen.set)
        terminal.shows("meanwhile")
        terminal.type("2")

    heard, _, _ = await at_the_terminal_of_a_gateway(ask, use, tmp_path)
    assert heard == [yes(option="always")]


@pytest.mark.parametrize("how", ["interrupt", "leave"])
async def test_a_terminal_that_leaves_or_interrupts_answers_with_cancel(tmp_path: Path, how: str) -> None:
    answers: asyncio.Queue[Answer] = asyncio.Queue()

    async def ask(console: Console) -> list[Any]:
        asked = asyncio.create_task(console.asker.ask(MAY_IT))
        try:
            return [await asyncio.shield(asked)]
        finally:
            answers.put_nowait(await asked)

    def use(terminal: Terminal) -> None:
        terminal.shows(ASKED)
        if how == "interrupt":
            terminal.type(CONTROL_C)
            terminal.shows("\r\n(This is no longer asked.)\r\n")
        else:
            terminal.kill()

    _, code, _ = await at_the_terminal_of_a_gateway(ask, use, tmp_path)
    assert (await answers.get(), code) == (NO_ANSWER, 130 if how == "interrupt" else -9)


async def test_what_a_gateway_prints_while_a_question_waits_stands_above_what_is_asked(tmp_path: Path) -> None:
    is_shown = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def ask(console: Console) -> list[Any]:
        asked = asyncio.create_task(console.asker.ask(MAY_IT))
        await is_shown.wait()
        console.note("The call before it is done.")
        return [await asked]

    def use(terminal: Terminal) -> None:
        terminal.shows(ASKED)
        loop.call_soon_threadsafe(is_shown.set)
        # And what is asked stands below it again.
        assert terminal.shows(ASKED).startswith("\r\nThe call before it is done.\r\n")
        terminal.type("n")

    assert (await at_the_terminal_of_a_gateway(ask, use, tmp_path))[1] == 0


async def test_hostile_text_cannot_draw_on_the_screen_of_the_terminal(tmp_path: Path) -> None:
    received: list[bytes] = []

    def use(terminal: Terminal) -> None:
        terminal.shows("n no: ")
        received.append(terminal.received)
        terminal.type(CONTROL_D)

    asked = asking(Question("approval", HOSTILE, asker=HOSTILE))
    await at_the_terminal_of_a_gateway(asked, use, tmp_path, NO_COLOR="1")
    assert received[0].decode() == 'Server "evil" asks:\r\n  | evil\r\ny yes · n no: '


async def test_an_address_is_opened_on_the_screen_of_the_terminal_after_a_yes(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    program = python_program(tmp_path / "browser", f"import sys\nopen({str(opened)!r}, 'a').write(sys.argv[1])")
    asked = Question("url", "Pay here.", asker="shop", url="https://shop.test/pay?id=1")
    for typed, answer in (("d", "decline"), ("o", "accept")):
        use = typing(("\r\n  https://shop.test/pay?id=1\r\n", ""), ("not now: ", typed))
        heard, _, _ = await at_the_terminal_of_a_gateway(asking(asked), use, tmp_path, BROWSER=str(program))
        assert (heard[0].action, opened.exists()) == (answer, answer == "accept")
    assert opened.read_text() == "https://shop.test/pay?id=1"


async def test_in_a_pipe_nobody_is_asked(tmp_path: Path) -> None:
    async def work(request: CommandRequest, console: Console) -> int:
        answer = await console.asker.ask(MAY_IT)
        console.line(f"{console.asker.can('approval')} {answer.action} {await console.agreed('Really? ')}")
        return 0

    with short_folder() as runtime:
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(runtime)}
        async with serving(work, Paths.from_env(env).control_socket):
            program = await asyncio.create_subprocess_exec(
                *PROGRAM, "status", env=env, cwd=tmp_path, stdin=-1, stdout=-1, stderr=-1
            )
            said = await asyncio.wait_for(program.communicate(b"1\n1\n"), HANG_GUARD)
    assert said == (b"False cancel None\n", b"")


# A process of its own whose terminal is asked, two questions at a time; the third is cancelled when the second line is typed.
HERE = """
import asyncio, os, sys
from openclaw.cli.local import terminal
from openclaw.conversation import Question

async def main():
    asker = terminal(dict(os.environ), no_color=True).asker
    questions = [Question("approval", name, asker="shop") for name in ("first", "second\\x1b[2J\\u202e")]
    print(asker.can("approval"), [one.action for one in await asyncio.gather(*map(asker.ask, questions))])
    asked = asyncio.ensure_future(asker.ask(Question("approval", "third")))
    asyncio.get_running_loop().add_signal_handler(2, asked.cancel)
    print("cancelled", isinstance((await asyncio.gather(asked, return_exceptions=True))[0], asyncio.CancelledError))
    print("then", (await asker.ask(Question("approval", "Name it? [y/N] "))).action)

asyncio.run(main())
"""


# Ten questions at a time: eight wait for the person.
MANY = """
import asyncio, os
from openclaw.cli.local import terminal
from openclaw.conversation import Question

async def main():
    asker = terminal(dict(os.environ), no_color=True).asker
    questions = [Question("approval", f"number {number}") for number in range(10)]
    print([one.action for one in await asyncio.gather(*map(asker.ask, questions))])

asyncio.run(main())
"""


def test_at_its_own_terminal_more_questions_than_a_person_can_be_asked_are_not_shown(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with Terminal([sys.executable, "-c", MANY], cwd=tmp_path, env=env) as terminal:
        for number in range(8):
            terminal.shows(f"number {number}\r\ny yes · n no: ")
            terminal.type("n")
        code, rest = terminal.ends()
    assert (code, str(["decline"] * 8 + ["cancel"] * 2) in rest.replace("\r\n", "")) == (0, True)


def test_a_process_asks_at_its_own_terminal_one_question_at_a_time(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with Terminal([sys.executable, "-c", HERE], cwd=tmp_path, env=env) as terminal:
        assert "second" not in terminal.shows("n no: ")
        terminal.type("y")
        terminal.shows('Server "shop" asks:\r\n  | second\r\ny yes · n no: ')
        assert b"\x1b" not in terminal.received
        terminal.type("n")
        terminal.shows("True ['accept', 'decline']")
        terminal.shows("n no: ")
        terminal.type(CONTROL_C)
        terminal.shows("(This is no longer asked.)")
        terminal.shows("cancelled True")
        terminal.shows("Name it? [y/N] ")
        terminal.type(f"y{ENTER}")
        code, rest = terminal.ends()
    assert (code, "then accept" in rest) == (0, True)


OFFERS = (Offer("once", "y", "once", "once"), Offer("always", "a", "always below /home/me", "always"))
CALL = AskedCall(
    "files__write_file",
    "write_file",
    "files",
    {"path": "/home/me/trip.md", "content": HOSTILE},
    classes=("write",),
    reasons=("it changes things and no rule allows it",),
    sources=("mcp:web",),
    origins={"path": "mcp:web"},
    offers=OFFERS,
)
MAY_WRITE = Question("approval", options=("once", "always"), approval=CALL)
CALL_ASKED = "y once · a always below /home/me · n no · r no, with a reason · d details: "

# A process of its own that asks about calls at its terminal until one is not answered.
CALLS_HERE = """
import asyncio, os, sys
import msgspec
from openclaw.cli.local import terminal
from openclaw.conversation import Question

async def main():
    asker = terminal(dict(os.environ), no_color=True).asker
    question = msgspec.json.decode(sys.argv[1], type=Question)
    while True:
        answer = await asker.ask(question)
        print(answer.action, dict(answer.content), answer.note)
        if answer.action == "cancel":
            break

asyncio.run(main())
"""


def at_its_own_terminal(question: Question, folder: Path) -> Terminal:
    env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    asked = msgspec.json.encode(question).decode()
    return Terminal([sys.executable, "-c", CALLS_HERE, asked], cwd=folder, env=env)


def test_a_call_is_approved_with_one_key_at_the_terminal_of_this_process(tmp_path: Path) -> None:
    with at_its_own_terminal(MAY_WRITE, tmp_path) as terminal:
        shown = terminal.shows(CALL_ASKED)
        assert shown.startswith("Careful: in this conversation server web sent text that nobody checked.\r\n")
        assert "  path     /home/me/trip.md   ← this value came from that text\r\n" in shown
        assert not terminal.takes_lines()
        terminal.type("a")
        terminal.shows("accept {'option': 'always'}")
        terminal.shows(CALL_ASKED)
        terminal.type("r")
        terminal.shows("What should it be told? ")
        assert terminal.takes_lines()
        terminal.type(f"Not today.{ENTER}")
        terminal.shows("decline {} Not today.")
        terminal.shows(CALL_ASKED)
        terminal.type("d")
        terminal.shows("content (")
        terminal.shows(CALL_ASKED)
        terminal.type("n")
        terminal.shows("decline {}")
        terminal.shows(CALL_ASKED)
        terminal.type("\x1b")
        terminal.shows("cancel {}")
        assert terminal.ends()[0] == 0
        assert b"\x1b" not in terminal.received
        assert "\u202e" not in terminal.received.decode()


@pytest.mark.parametrize("how", ["end of input", "interrupt"])
def test_the_terminal_of_this_process_is_left_as_it_was_found(tmp_path: Path, how: str) -> None:
    with at_its_own_terminal(MAY_WRITE, tmp_path) as terminal:
        terminal.shows(CALL_ASKED)
        assert not terminal.takes_lines()
        terminal.type(CONTROL_D if how == "end of input" else CONTROL_C)
        _, rest = terminal.ends()
        assert (terminal.takes_lines(), "accept" in rest) == (True, False)


async def test_a_call_is_approved_with_one_key_at_the_terminal_of_a_gateway(tmp_path: Path) -> None:
    use = typing(
        (CALL_ASKED, ENTER), (CALL_ASKED, "d"), (CALL_ASKED, "a"), (CALL_ASKED, "r"), ("told? ", f"Not now.{ENTER}")
    )
    heard, code, _ = await at_the_terminal_of_a_gateway(asking(MAY_WRITE, MAY_WRITE), use, tmp_path)
    assert (heard, code) == ([yes(option="always"), no("Not now.")], 0)


@pytest.mark.parametrize("how", ["interrupt", "terminate", "withdraw", "answer"])
async def test_the_terminal_of_a_gateway_is_left_as_it_was_found(tmp_path: Path, how: str) -> None:
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()
    modes: list[bool] = []

    async def ask(console: Console) -> list[Any]:
        asked = asyncio.create_task(console.asker.ask(MAY_WRITE))
        if how == "withdraw":
            await seen.wait()
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            return []
        return [await asked]

    def use(terminal: Terminal) -> None:
        terminal.shows(CALL_ASKED)
        modes.append(terminal.takes_lines())
        terminal.type({"interrupt": CONTROL_C, "answer": "y"}.get(how, ""))
        if how == "terminate":
            terminal.terminate()
        loop.call_soon_threadsafe(seen.set)
        terminal.ends()
        modes.append(terminal.takes_lines())

    heard, _, _ = await at_the_terminal_of_a_gateway(ask, use, tmp_path)
    assert modes == [False, True]
    assert heard == ([yes(option="once")] if how == "answer" else [])


async def test_a_key_that_sends_several_characters_and_a_paste_are_no_answer(tmp_path: Path) -> None:
    use = typing((CALL_ASKED, UP), (CALL_ASKED, "yes please"), (CALL_ASKED, "\x1c"), (CALL_ASKED, "n"))
    heard, code, _ = await at_the_terminal_of_a_gateway(asking(MAY_WRITE), use, tmp_path)
    assert (heard, code) == ([no()], 0)


async def test_a_form_is_not_sent_by_what_was_typed_before_it_was_reviewed(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    use = typing(("name (text) [left out]: ", f"Yu{ENTER}s{ENTER}"), ("[Esc] not now: ", "d"))
    heard, _, _ = await at_the_terminal_of_a_gateway(asking(Question("form", schema=schema)), use, tmp_path)
    assert heard == [no()]


async def test_enter_says_that_a_page_is_done_and_esc_stops_waiting(tmp_path: Path) -> None:
    waiting = Question("url", asker="payments")
    asked = "Press Enter when you are done there, Esc to stop waiting. "
    use = typing((asked, "y"), (asked, ENTER), (asked, "\x1b"))
    heard, _, _ = await at_the_terminal_of_a_gateway(asking(waiting, waiting), use, tmp_path)
    assert heard == [yes(), NO_ANSWER]
