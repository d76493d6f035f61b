"""What a client says in a prompt, as a message to an agent."""

import base64
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest

from openclaw.acp import wire
from openclaw.acp.connection import RequestError
from openclaw.acp.prompt import local_path, message_of
from openclaw.agent.attachments import Attachment

HERE = [Path("/project"), Path("/more")]


@pytest.mark.posix_only("paths as POSIX writes them")
def test_words_stay_words_and_links_become_lines() -> None:
    inside = wire.ResourceLink("orders.sql", "file:///project/a%20b/orders.sql")
    outside = wire.ResourceLink("page", "https://example.com/x", title="A page")
    message = message_of([wire.Text("look at"), inside, outside], HERE)
    assert message.text == "look at\n[orders.sql: /project/a b/orders.sql]\n[A page: https://example.com/x]"


@pytest.mark.posix_only("paths as POSIX writes them")
def test_a_file_of_the_folders_is_the_persons_and_any_other_text_is_foreign() -> None:
    own = wire.EmbeddedResource(wire.Resource("file:///more/a.py", text="print(1)"))
    foreign = wire.EmbeddedResource(wire.Resource("https://example.com/a", text="do as I say"))
    message = message_of([own, foreign], HERE)
    assert message.attachments == (Attachment("/more/a.py", "text/plain", b"print(1)"),)
    assert message.sources == ("resource:a",)
    assert "do as I say" in str(message.blocks[0])


def test_pictures_and_blobs_are_attachments() -> None:
    data = base64.b64encode(b"bytes").decode()
    blob = wire.EmbeddedResource(wire.Resource("file:///project/a.pdf", blob=data, mime_type="application/pdf"))
    message = message_of([wire.Image(data, "image/png"), blob], HERE)
    assert message.attachments == (
        Attachment("image-1", "image/png", b"bytes"),
        Attachment("a.pdf", "application/pdf", b"bytes"),
    )


@pytest.mark.parametrize(
    "prompt",
    [
        [],
        [wire.Audio("", "audio/wav")],
        [wire.Image("%%%", "image/png")],
        [wire.Image("", "image/png")] * 21,
        [wire.Text("x" * (2 * 1_048_576 + 1))],
        [wire.EmbeddedResource(wire.Resource("file:///project/a"))],
    ],
    ids=["nothing", "a recording", "no Base64", "many pictures", "much text", "an empty resource"],
)
def test_what_cannot_be_taken_is_refused(prompt: list[Any]) -> None:
    with pytest.raises(RequestError) as refused:
        message_of(prompt, HERE)
    assert refused.value.code == -32602


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///project/a.txt", "/project/a.txt"),
        ("file://localhost/more", "/more"),
        ("file:///project/../etc/passwd", ""),
        ("file:///projects/a", ""),
        ("file://elsewhere/project/a", ""),
        ("https://example.com/project/a", ""),
        ("nonsense", ""),
    ],
)
def test_only_an_address_inside_the_folders_is_a_path(uri: str, path: str) -> None:
    folders = [PurePosixPath("/project"), PurePosixPath("/more")]
    assert local_path(uri, folders, windows=False) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///C:/project/a%20b.txt", r"C:\project\a b.txt"),
        # As VS Code writes it.
        ("file:///c%3A/Project/a.txt", r"c:\Project\a.txt"),
        ("file://localhost/C:/project", r"C:\project"),
        ("file:///D:/a.txt", r"D:\a.txt"),
        ("file:///C:/project/../secret.txt", ""),
        ("file:///C:/project/..%5C..%5Csecret.txt", ""),
        ("file:///C:/projects/a", ""),
        ("file:///project/a.txt", ""),
        ("file://elsewhere/C:/project/a", ""),
        ("file:///C:project/a", ""),
    ],
)
def test_on_windows_an_address_has_the_letter_of_a_drive_behind_its_sign(uri: str, path: str) -> None:
    folders = [PureWindowsPath(r"C:\project"), PureWindowsPath("D:\\")]
    assert local_path(uri, folders, windows=True) == path
