"""Code that runs, counts and prints without end: it takes all the time that it is given, so it is for the full tests."""

from pathlib import Path

import pytest

from openclaw.tools.code.sandbox import Limits, opened
from parts.hostile_code import SLOW
from parts.trespass import Trespass

pytestmark = [pytest.mark.full]


@pytest.mark.parametrize("kind", sorted(SLOW))
async def test_hostile_code_that_takes_its_time_ends_in_time(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Trespass(tmp_path, monkeypatch) as ground, opened() as sandbox:
        for code in SLOW[kind]:
            await ground.judge(sandbox, code, Limits(seconds=0.5))
        # It is none the worse for it.
        assert (await ground.judge(sandbox, "1 + 1", Limits())).head == "2"
