"""What a server says about how to use it, cut and framed for the prompt."""

from openclaw.security.external import clean_label, clean_text, frame

# A page.
MAX_INSTRUCTIONS = 2_000
# Of what tells a search, and a model that has not seen its tools, what a server is about.
MAX_OPENING = 200


class Instructions:
    """`text` is empty when the server says nothing. `opening` is its first words on one line, clean and not framed."""

    def __init__(self, server: str) -> None:
        self.text = ""
        self.opening = ""
        self._server = server
        self._raw = ""

    def take(self, raw: str) -> None:
        # A frame has a fresh id each time: unchanged words keep theirs, so that prompts stay cacheable.
        if raw != self._raw:
            self._raw = raw
            cut = clean_text(raw, MAX_INSTRUCTIONS)
            self.text = frame(cut, source="mcp_server", sender=self._server, subject="instructions") if cut else ""
            self.opening = clean_label(raw, MAX_OPENING)
