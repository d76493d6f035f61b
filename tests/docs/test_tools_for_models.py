"""The programs of "Give the tools to your model" run as they stand, with both vendors' libraries, against servers as strict as theirs."""

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parts.model_servers import KEY, MODEL, Answer, Call, ChatServer, MessagesServer, ModelServer

if TYPE_CHECKING:
    # A type checker that reads this file reads these too: programs that embed the client are as strictly typed as it is.
    from docs.examples import answer_a_server as answer_a_server
    from docs.examples import embed_engine as embed_engine
    from docs.examples import in_process_server as in_process_server
    from docs.examples import tools_for_anthropic as tools_for_anthropic
    from docs.examples import tools_for_openai as tools_for_openai

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
YEAR = str(datetime.now(UTC).year)


@pytest.mark.parametrize(
    ("program", "kind", "key", "address"),
    [
        ("tools_for_openai.py", ChatServer, "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ("tools_for_anthropic.py", MessagesServer, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    ],
)
async def test_a_model_calls_a_tool_is_told_when_one_fails_and_answers(
    program: str, kind: type[ModelServer], key: str, address: str
) -> None:
    calls = [Call("c1", "clock__now", {"format": "%Y"}), Call("c2", "clock__tomorrow")]
    async with kind([Answer("Let me look.", calls=calls), Answer("It is that year.")]) as server:
        origin = server.origin if kind is MessagesServer else server.url
        ran = await asyncio.create_subprocess_exec(
            sys.executable,
            str(EXAMPLES / program),
            *("Which", "year", "is", "it?"),
            env={**os.environ, key: KEY, address: origin, "MODEL": MODEL},
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await ran.communicate()
        assert (said.decode(), ran.returncode, server.refused) == ("It is that year.\n", 0, [])
        first, second = server.requests
        assert len(first["tools"]) == 1
        told = str(second["messages"])
        assert f"\\n{YEAR}\\n" in told
        assert "EXTERNAL_UNTRUSTED_CONTENT" in told
        assert "clock__tomorrow" in told
