"""Small documents made by hand."""

import io
from typing import Literal

from pypdf import PdfReader, PdfWriter

_CATALOG = "<< /Type /Catalog /Pages 2 0 R >>"
_FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [_CATALOG, f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>", _FONT]
    for number, text in enumerate(pages):
        drawing = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        font = "<< /Font << /F1 3 0 R >> >>"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R /Resources {font} >>",
            f"<< /Length {len(drawing)} >>\nstream\n{drawing}\nendstream",
        ]
    return _written(objects)


def encrypted(password: str, algorithm: Literal["RC4-128", "AES-128", "AES-256"]) -> bytes:
    """A PDF that takes this password to read; without one it merely forbids things, as many papers do."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("Sealed"))))
    writer.encrypt(password, "owner", algorithm=algorithm)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def endless() -> bytes:
    """A PDF whose pages are said to be a billion, and lead back to themselves."""
    return _written([_CATALOG, "<< /Type /Pages /Kids [2 0 R] /Count 1000000000 >>"])


def repeated(times: int) -> bytes:
    """A PDF with one page that stands there many times."""
    page = "<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
    drawing = "BT /F1 12 Tf 72 720 Td (again) Tj ET"
    tree = f"<< /Type /Pages /Kids [{'4 0 R ' * times}] /Count {times} >>"
    return _written([_CATALOG, tree, _FONT, page, f"<< /Length {len(drawing)} >>\nstream\n{drawing}\nendstream"])


def drawing_itself() -> bytes:
    """A PDF whose page shows a form that shows itself, twice each time."""
    page = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
    form = "<< /Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /X 5 0 R >> >> /Length 12 >>"
    return _written(
        [
            _CATALOG,
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            page,
            "<< /Length 5 >>\nstream\n/X Do\nendstream",
            f"{form}\nstream\n/X Do /X Do \nendstream",
        ]
    )


def _written(objects: list[str]) -> bytes:
    data = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    start = len(data)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    return data + f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
