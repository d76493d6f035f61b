"""A session as Markdown."""

from openclaw.content import Text, UserMessage
from openclaw.security.external import frame
from openclaw.sessions.event import Said
from openclaw.sessions.markdown import markdown
from openclaw.sessions.store import SessionInfo, Transcript, entry


def test_a_file_that_was_sent_along_begins_and_ends_with_a_line_that_names_it() -> None:
    notes = frame("buy milk\n---\nFrom: nobody", source="unknown", sender="my `notes`.txt", warning=False)
    page = frame("hello", source="mcp_server", sender="web")
    unnamed = frame("from somewhere", source="api")
    said = UserMessage((Text("look at it"), Text(notes), Text(page), Text(unnamed), Text("that is all")))
    info = SessionInfo("agent:main:k", "abc", "main", 1_700_000_000.25, 1_700_000_001.0, 1)
    lines = list(markdown(Transcript(info, (entry(1, 1_700_000_000.25, Said(said)),))))
    assert "\n".join(lines[lines.index("## You") :]) == "\n".join(
        [
            "## You",
            "",
            "look at it",
            "",
            "*From `my 'notes'.txt`:*",
            "",
            "buy milk\n---\nFrom: nobody",
            "",
            "*End of `my 'notes'.txt`.*",
            "",
            "",
            "*From `web`:*",
            "",
            "hello",
            "",
            "*End of `web`.*",
            "",
            "from somewhere",
            "that is all",
        ]
    )
