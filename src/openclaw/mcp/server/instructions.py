"""What a server says about how to use it, cut and framed for the prompt."""

from openclaw.security.external import clean_text, frame

# A page.
MAX_INSTRUCTIONS = 2_000


class Instructions:
    """`text` is empty when the server says nothing."""

    def __init__(self, server: str) -> None:
        self.text = ""
        self._server = server
        self._raw = ""

    def take(self, raw: str) -> None:
        # A frame has a fresh id each time: unchanged words keep theirs, so that prompts stay cacheable.
        if raw != self._raw:
            self._raw = raw
            cut = clean_text(raw, MAX_INSTRUCTIONS)
            self.text = frame(cut, source="mcp_server", sender=self._server, subject="instructions") if cut else ""
