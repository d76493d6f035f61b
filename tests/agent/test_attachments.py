"""Attachments on their way to a model: each kind as what it can be taken in as."""

import os
import re
import stat
import tempfile
import zlib
from pathlib import Path
from typing import Literal

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.agent.attachments import MAX_TEXT, Attachment, discard, incoming
from openclaw.agent.pdf import read_pdf
from openclaw.agent.transcription import Transcriber
from openclaw.content import Block, File, Framed, Image, Text
from openclaw.errors import MediaError, StoreError
from openclaw.media import MediaStore
from parts.documents import drawing_itself, encrypted, endless, pdf, repeated
from parts.transcription_server import TranscriptionServer

PNG = b"\x89PNG\r\n\x1a\n"
ZIP = b"PK\3\4"


def framed(name: str, text: str, subject: str = "") -> str:
    about = f"\nSubject: {subject}" if subject else ""
    return (
        f'\n<<<EXTERNAL_UNTRUSTED_CONTENT id="*">>>\nSource: External\nFrom: {name}{about}\n---\n{text}\n'
        '<<<END_EXTERNAL_UNTRUSTED_CONTENT id="*">>>'
    )


def plain(block: Block) -> str:
    assert isinstance(block, Text)
    return re.sub('id="[0-9a-f]{16}"', 'id="*"', block.text)


def kept(block: Block) -> bytes:
    assert isinstance(block, File)
    return Path(block.path).read_bytes()


def left_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def of(tmp_path: Path, *attachments: Attachment) -> list[Block]:
    return list(await incoming(attachments, MediaStore(tmp_path)))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("image/png", PNG),
        ("image/jpeg", b"\xff\xd8\xff"),
        ("image/gif", b"GIF89a"),
        ("image/webp", b"RIFF\0\0\0\0WEBP"),
    ],
)
async def test_a_picture_is_a_picture_and_leaves_no_file(kind: str, data: bytes, tmp_path: Path) -> None:
    assert await of(tmp_path, Attachment("a", kind, data)) == [Image(data, kind)]
    assert left_in(tmp_path) == []


async def test_a_picture_is_of_the_kind_its_bytes_show(tmp_path: Path) -> None:
    assert await of(tmp_path, Attachment("a.gif", "image/gif", PNG)) == [Image(PNG, "image/png")]


async def test_a_picture_no_model_looks_at_is_a_file(tmp_path: Path) -> None:
    (block,) = await of(tmp_path, Attachment("a.svg", "image/svg+xml", b"<svg/>"))
    assert isinstance(block, File)
    assert (block.name, block.mime_type, block.size) == ("a.svg", "image/svg+xml", 6)


@pytest.mark.parametrize("kind", ["text/plain", "text/x-python", "application/json", "application/toml"])
async def test_text_is_inline_in_its_frame(kind: str, tmp_path: Path) -> None:
    (block,) = await of(tmp_path, Attachment("../a.txt", kind, "Größe\n".encode()))
    assert isinstance(block, Text)
    assert isinstance(block.text, Framed)
    assert plain(block) == framed("a.txt", "Größe\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
async def test_text_in_the_usual_encodings_is_read(encoding: str, tmp_path: Path) -> None:
    (block,) = await of(tmp_path, Attachment("a", "text/plain", "Größe 你好".encode(encoding)))
    assert plain(block) == framed("a", "Größe 你好")


@pytest.mark.parametrize("data", [b"caf\xe9", b"null \0 inside"])
async def test_what_is_no_text_is_kept_with_a_note(data: bytes, tmp_path: Path) -> None:
    note, file = await of(tmp_path, Attachment("a.txt", "text/plain", data))
    assert plain(note) == '["a.txt" is not text in UTF-8 or UTF-16; it is kept as a file.]'
    assert kept(file) == data


@pytest.mark.parametrize(("size", "cut"), [(MAX_TEXT, False), (MAX_TEXT + 1, True)])
async def test_a_long_text_is_cut_and_kept_whole(size: int, cut: bool, tmp_path: Path) -> None:
    blocks = await of(tmp_path, Attachment("a.txt", "text/plain", b"x" * size))
    shown = "x" * MAX_TEXT + ("\n[… 1 more of 100,001 characters]" if cut else "")
    assert (plain(blocks[0]), len(blocks)) == (framed("a.txt", shown), 1 + cut)


async def test_a_pdf_is_its_text_and_the_file(tmp_path: Path) -> None:
    data = pdf("First", "Second")
    text, file = await of(tmp_path, Attachment("r.pdf", "application/pdf", data))
    assert plain(text) == framed("r.pdf", "First\nSecond")
    assert kept(file) == data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"%PDF-1.7 junk", "it is damaged, or too large to be read."),
        (pdf("First", "Second")[:400], "it is damaged, or too large to be read."),
        (pdf(), "there is no text in it, only pictures perhaps."),
        (encrypted("secret", "AES-256"), "it is protected by a password."),
        (encrypted("secret", "RC4-128"), "it is protected by a password."),
        (endless(), "it is damaged, or too large to be read."),
        (repeated(1_000_000), "it is damaged, or too large to be read."),
        (drawing_itself(), "there is no text in it, only pictures perhaps."),
    ],
    ids=["junk", "cut off", "no pages", "password", "older password", "endless", "a million pages", "in itself"],
)
async def test_a_pdf_without_readable_text_is_kept_with_a_note(data: bytes, why: str, tmp_path: Path) -> None:
    note, file = await of(tmp_path, Attachment("r.pdf", "application/pdf", data))
    assert plain(note) == f'[No text could be taken from "r.pdf": {why}]'
    assert isinstance(file, File)


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
async def test_a_pdf_that_only_forbids_things_is_read(algorithm: Literal["RC4-128", "AES-128", "AES-256"]) -> None:
    assert await read_pdf(encrypted("", algorithm), most_characters=100) == "Sealed"


async def test_a_pdf_whose_table_of_contents_is_wrong_is_read() -> None:
    assert await read_pdf(pdf("Found").replace(b"startxref\n", b"startxref\n9999"), most_characters=100) == "Found"


async def test_of_a_book_the_first_two_thousand_pages_are_read() -> None:
    text = await read_pdf(repeated(2_001), most_characters=100_000)
    assert text == "\n".join(["again"] * 2_000) + "\n[… 2000 of 2001 pages were read]"


async def test_only_the_beginning_of_a_long_pdf_is_read() -> None:
    text = await read_pdf(pdf(*(f"page {n}" for n in range(50))), most_characters=20)
    assert text == "page 0\npage 1\npage 2\n[… 3 of 50 pages were read]"


def swollen() -> bytes:
    """A page that unpacks to a hundred times what it takes."""
    packer = zlib.compressobj()
    packed = b"".join(packer.compress(b" " * 1_000_000) for _ in range(100)) + packer.flush()
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed)
    start, _, rest = pdf("x").partition(b"<< /Length 32 >>\nstream\n")
    return start + stream + rest.partition(b"endstream")[2]


async def test_a_page_that_swells_beyond_all_bounds_is_given_up() -> None:
    with pytest.raises(MediaError) as refused:
        await read_pdf(swollen(), most_characters=100)
    assert str(refused.value) == "it is damaged, or too large to be read."


async def test_a_recording_without_a_transcriber_is_kept_with_a_note(tmp_path: Path) -> None:
    note, file = await of(tmp_path, Attachment("a.mp3", "audio/mpeg", b"ID3"))
    why = "no transcription provider is configured (media.audio.transcription)."
    assert plain(note) == f'[The recording "a.mp3" was not transcribed: {why}]'
    assert isinstance(file, File)


async def test_a_transcribed_recording_is_its_words_and_the_file(tmp_path: Path) -> None:
    recording = Attachment("a.mp3", "audio/mpeg", b"ID3 la")
    async with TranscriptionServer(" la la ") as ears:
        transcriber = Transcriber(ears.url, "tiny", ears.key)
        words, file = await incoming([recording], MediaStore(tmp_path), transcribe=transcriber)
    fields = {"model": "tiny", "response_format": "json"}
    assert ears.heard == [(b"ID3 la", "recording.mp3", "audio/mpeg", fields)]
    assert plain(words) == framed("a.mp3", "la la", "transcript")
    assert isinstance(file, File)


@pytest.mark.parametrize(
    ("server", "key", "why"),
    [
        (TranscriptionServer("", status=500), None, "the transcription endpoint answered with HTTP 500."),
        (TranscriptionServer(""), "wrong", "the transcription endpoint answered with HTTP 401."),
        (
            TranscriptionServer("", body=b"<html>"),
            None,
            "the transcription endpoint answered with something that is no transcript.",
        ),
        (
            TranscriptionServer("", body=b'{"text": "\xff"}'),
            None,
            "the transcription endpoint answered with something that is no transcript.",
        ),
        (
            TranscriptionServer("", body=b'{"words": []}'),
            None,
            "the transcription endpoint answered with something that is no transcript.",
        ),
        (TranscriptionServer(" \n"), None, "the transcription endpoint heard no words in it."),
    ],
)
async def test_a_transcriber_that_fails_says_why_and_no_more(
    server: TranscriptionServer, key: str | None, why: str
) -> None:
    async with server:
        with pytest.raises(MediaError) as failed:
            await Transcriber(server.url, "m", key or server.key)(Attachment("a", "audio/wav", b"RIFF"))
    assert str(failed.value) == why


async def test_a_transcriber_takes_the_proxy_of_the_environment_it_was_given() -> None:
    async with TranscriptionServer("la la") as proxy:
        far = Transcriber(
            "http://ears.example/v1", "m", proxy.key, environ={"http_proxy": proxy.url.removesuffix("/v1")}
        )
        assert await far(Attachment("a", "audio/wav", b"RIFF")) == "la la"


async def test_a_transcriber_that_is_not_there_says_so_without_its_address() -> None:
    with pytest.raises(MediaError) as failed:
        await Transcriber("http://127.0.0.1:1/v1", "m")(Attachment("a", "audio/wav", b"RIFF"))
    assert failed.value.message == "the transcription endpoint cannot be reached."


async def test_a_transcriber_that_takes_too_long_is_given_up() -> None:
    async with TranscriptionServer("", silent=True) as ears:
        with pytest.raises(MediaError) as failed:
            await Transcriber(ears.url, "m", ears.key, timeout=0.2)(Attachment("a", "audio/wav", b"RIFF"))
        await ears.gone.wait()
    assert str(failed.value) == "the transcription endpoint took longer than 0.2 seconds."


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("audio/mpeg", "recording.mp3"),
        ("audio/wav", "recording.wav"),
        ("audio/ogg", "recording.ogg"),
        ("audio/opus", "recording.ogg"),
        ("audio/mp4", "recording.m4a"),
        ("audio/aac", "recording.aac"),
        ("audio/flac", "recording.flac"),
    ],
)
async def test_a_recording_is_sent_as_the_vendors_own_client_sends_it(kind: str, name: str) -> None:
    data = bytes(range(256)) + b"\r\n--"
    async with TranscriptionServer("la la") as ears:
        async with openai.AsyncOpenAI(base_url=ears.url, api_key=ears.key) as client:
            theirs = await client.audio.transcriptions.create(
                file=(name, data, kind), model="tiny", language="en", response_format="json"
            )
        ours = await Transcriber(ears.url, "tiny", ears.key, language="en")(Attachment("a", kind, data))
    assert (theirs.text, ears.heard[0]) == (ours, ears.heard[1])


@pytest.mark.parametrize("kind", ["application/zip", "video/mp4", "application/octet-stream", "nonsense"])
async def test_anything_else_is_a_file_nobody_opened(kind: str, tmp_path: Path) -> None:
    (file,) = await of(tmp_path, Attachment("a.zip", kind, ZIP))
    assert kept(file) == ZIP


async def test_files_are_private_and_do_not_meet(tmp_path: Path) -> None:
    same = Attachment("a.zip", "application/zip", ZIP)
    first, second = await of(tmp_path, same, same)
    assert isinstance(first, File)
    assert isinstance(second, File)
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (first.path, os.path.dirname(first.path))]
    assert (first.path != second.path, modes) == (True, [0o600, 0o700])


async def test_discarding_removes_files_and_their_directories(tmp_path: Path) -> None:
    blocks = await of(tmp_path, Attachment("a.zip", "application/zip", ZIP), Attachment("b", "text/plain", b"x"))
    discard(blocks)
    discard(blocks)
    assert left_in(tmp_path) == []


async def test_what_was_kept_before_a_failure_is_removed(tmp_path: Path) -> None:
    class Full(MediaStore):
        saved = 0

        def save(self, data: bytes | str, mime: str, name: str = "") -> File:
            self.saved += 1
            if self.saved > 1:
                raise StoreError("The disk is full.")
            return super().save(data, mime, name)

    item = Attachment("a.zip", "application/zip", ZIP)
    with pytest.raises(StoreError):
        await incoming([item, item], Full(tmp_path))
    assert left_in(tmp_path) == []


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=30), st.binary(min_size=1, max_size=50))
async def test_any_name_stays_below_the_media_root(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as root:
        (file,) = await incoming([Attachment(name, "application/zip", data)], MediaStore(Path(root)))
        assert isinstance(file, File)
        assert (Path(file.path).parent.parent, kept(file)) == (Path(root), data)
