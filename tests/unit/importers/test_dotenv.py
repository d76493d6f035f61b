"""Files of variables as people write them."""

from openclaw.importers.dotenv import read_dotenv


def test_variables_are_read_with_quotes_comments_and_export() -> None:
    text = """\ufeff# a comment
export A=1
B = "two words" # behind
C='it''s'
D=a#b # c
E=
F="x\\ny"
not a variable
"""
    assert read_dotenv(text) == ({"A": "1", "B": "two words", "C": "it", "D": "a#b", "E": "", "F": "x\ny"}, 1)
