"""What a shell is offered of a server's words."""

import msgspec

from openclaw.commands.completion import argument_names


def test_an_argument_whose_name_is_no_word_is_not_offered() -> None:
    properties = {"path": {"description": "Where."}, "two words": {}, "a\n:files": {}, "b\x1b[2J": {}, "plain": True}
    schema = msgspec.Raw(msgspec.json.encode({"properties": properties}))
    assert argument_names(schema) == [("path", "Where."), ("plain", "")]
