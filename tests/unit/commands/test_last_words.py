"""What a program that does not come up says it lacks."""

import pytest

from openclaw.commands.last_words import variable_lacked


@pytest.mark.parametrize(
    ("lines", "variable"),
    [
        (["Error: NOTION_TOKEN is not set. Get one at https://notion.so/integrations"], "NOTION_TOKEN"),
        (["usage: server [options]", "error: environment variable BRAVE_API_KEY is required"], "BRAVE_API_KEY"),
        (["Please set SLACK_BOT_TOKEN"], "SLACK_BOT_TOKEN"),
        (["KeyError: missing 'GITHUB_PERSONAL_ACCESS_TOKEN'"], "GITHUB_PERSONAL_ACCESS_TOKEN"),
        (["Set SLACK_BOT_TOKEN and SLACK_TEAM_ID"], ""),
        (["Error: ERR_MODULE_NOT_FOUND"], ""),
        (["npm error code ENOENT", "cannot read /etc/MY_APP/required"], ""),
        (["it ended"], ""),
        ([], ""),
    ],
)
def test_one_variable_that_is_missing_is_known_by_its_name(lines: list[str], variable: str) -> None:
    assert variable_lacked(lines) == variable
