"""A model that behaves as real ones do, on the chat-completions wire: it streams Markdown word by word, thinks, calls tools, hangs, fails.

What it does is asked for in the last message of the person, by its first word:

    markdown             an answer with a heading, prose, lists, a table, code, a diff and a link
    long N               a paragraph of N words
    think                thoughts, then an answer
    call NAME {…}        a call of this tool; the answer then repeats what came of it. Several, one in each line
    hang                 a few words, and then nothing
    silence              nothing at all
    fail STATUS          an error of the vendor
    cut                  a few words, and then the connection ends

and anything else is repeated. By itself, to look at a screen: `python tests/parts/talking_model.py --pace 0.05` prints a config for it.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from parts.command_line import local_model
from parts.model_servers import Answer, Call, ChatServer, Cut, Failure, Hold, Piece, Reply

MARKDOWN = """\
# Trains

There are **three** ways to read `lines.txt`, and *none* of them is quick; the first of them is the one that most people know and use.

1. Read it whole, which is simple and needs as much memory as the file is large, so that it is of little use for the largest of them.
2. Read it line by line:
   - with a loop
   - with `mmap`

| way | seconds | memory |
|---|---:|---|
| whole | 1.5 | all of it |
| lines | 2.25 | one line |

```python
def lines(path: str) -> int:
    with open(path) as file:  # closed at the end
        return sum(1 for _ in file)
```

```diff
-return 1
+return 2
```

> A quotation stands here.

See [the manual](https://docs.example.org/trains) for more.
"""
THOUGHTS = (
    "The person wants to know about trains. I should look at the timetable first, and then answer in one sentence."
)


def asked_last(asked: dict[str, Any]) -> str:
    """The text of the last message of the person; what tools gave since does not count."""
    said = [message for message in asked["messages"] if message["role"] == "user"]
    content = said[-1]["content"] if said else ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)


def results(asked: dict[str, Any]) -> list[str]:
    """What tools gave since the last message of the person."""
    found: list[str] = []
    for message in reversed(asked["messages"]):
        if message["role"] == "user":
            break
        if message["role"] == "tool":
            found.insert(0, str(message["content"]))
    return found


def words_of(text: str) -> list[Piece]:
    """Pieces as models send them: a word and the blank before it."""
    pieces: list[Piece] = []
    start = 0
    for place, character in enumerate(text):
        if character == " " and place > start:
            pieces.append(text[start:place])
            start = place
    return [*pieces, text[start:]] if text[start:] else pieces


def calls_in(text: str) -> Iterator[Call]:
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.partition(" ")
        if word == "call":
            name, _, arguments = rest.partition(" ")
            yield Call(f"call_{number}", name, arguments or "{}")


def reply_to(asked: dict[str, Any]) -> Reply:
    text = asked_last(asked)
    word, _, rest = text.strip().partition(" ")
    match word:
        case "markdown":
            return Answer(words_of(MARKDOWN), usage=(1_200, 240, 0))
        case "long":
            return Answer(words_of(" ".join(f"word{number}" for number in range(int(rest)))))
        case "think":
            return Answer("At **noon**.", reasoning=THOUGHTS)
        case "call":
            if given := results(asked):
                return Answer(words_of("It gave: " + " | ".join(given)[:500]))
            return Answer("Let me look.", calls=list(calls_in(text.strip())))
        case "hang":
            return Answer(["Let me", " think", Hold()])
        case "silence":
            return Answer([Hold()])
        case "fail":
            status = int(rest or 500)
            return Failure(status, "server_error", "The engine is overheated.")
        case "cut":
            return Answer(["Half", " an", Cut()])
        case _:
            return Answer(words_of(f"You said: {text}"))


class TalkingModel(ChatServer):
    """`pace` is the time between two words, for people who look; tests need none."""

    def __init__(self, pace: float = 0.0) -> None:
        super().__init__(reasons=True)
        self.pace = pace

    def reply_to(self, asked: dict[str, Any]) -> Reply:
        reply = reply_to(asked)
        return reply if not self.pace or not isinstance(reply, Answer) else self._paced(reply)

    def _paced(self, answer: Answer) -> Answer:
        pieces: list[Piece] = []
        for number, piece in enumerate(answer.pieces, 1):
            spoken = asyncio.Event()
            asyncio.get_running_loop().call_later(self.pace * number, spoken.set)
            pieces += [spoken, piece]
        return Answer(pieces, answer.reasoning, calls=answer.calls, usage=answer.usage)

    @property
    def config(self) -> dict[str, Any]:
        """The sections of a config whose agents use this model."""
        return local_model(self.url, self.key)


async def _serve(pace: float) -> None:
    async with TalkingModel(pace) as model:
        print(json.dumps(model.config), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pace", type=float, default=0.05)
    asyncio.run(_serve(parser.parse_args().pace))
