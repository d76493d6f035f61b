"""A program: a PDF on standard input, its text on standard output as one JSON object.

    python -I -m openclaw.agent.pdf_text MOST_CHARACTERS

PDFs come from outside and their reader is large: it runs here, apart from everything else, with bounds on memory and processor time. Run
by `pdf.py`; imported by nobody.
"""

import io
import json
import sys

from openclaw.libraries import missing
from openclaw.process.limits import limit_this_process

# A document with more pages is a book: its beginning tells what it is.
MOST_PAGES = 2_000
# Streams of a PDF are compressed and may claim to be of any size.
MOST_MEMORY = 1 << 30
MOST_SECONDS = 25


def extract(data: bytes, most_characters: int) -> dict[str, object]:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ModuleNotFoundError as error:
        return {"error": f"it cannot be read here. {missing(error)}"}
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "it is protected by a password."}
        pages = len(reader.pages)
        texts: list[str] = []
        room = most_characters
        for page in reader.pages[:MOST_PAGES]:
            if room <= 0:
                break
            texts.append(page.extract_text()[:room])
            room -= len(texts[-1]) + 1
    except (PyPdfError, MemoryError, RecursionError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return {"error": "it is damaged, or too large to be read."}
    text = "\n".join(texts).strip()
    if not text:
        return {"error": "there is no text in it, only pictures perhaps."}
    return {"text": text.encode("utf-8", "replace").decode(), "pages": pages, "read": len(texts)}


if __name__ == "__main__":
    limit_this_process(memory=MOST_MEMORY, seconds=MOST_SECONDS)
    answer = json.dumps(extract(sys.stdin.buffer.read(), int(sys.argv[1])), ensure_ascii=False)
    sys.stdout.buffer.write(answer.encode())
