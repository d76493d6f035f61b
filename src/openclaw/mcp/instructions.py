"""What a server says about how to use it, clean, cut and framed for the prompt."""

from openclaw.security.external import clean_label, clean_text, frame

# A page.
MAX_INSTRUCTIONS = 2_000
# Of what tells a search, and a model that has not seen its tools, what a server is about.
MAX_OPENING = 200


def clean_instructions(raw: str) -> str:
    """What is kept of a server's words."""
    return clean_text(raw, MAX_INSTRUCTIONS)


class Instructions:
    """`words` are clean, and empty when the server says nothing. `text` is framed; `opening` is the first words on one line, not framed."""

    def __init__(self, server: str, words: str = "") -> None:
        self.text = ""
        self.opening = ""
        self.words = ""
        self._server = server
        self.take(words)

    def take(self, words: str) -> None:
        # A frame has a fresh id each time: unchanged words keep theirs.
        if words != self.words:
            self.words = words
            self.text = frame(words, source="mcp_server", sender=self._server, subject="instructions") if words else ""
            self.opening = clean_label(words, MAX_OPENING)
