"""Media in an answer."""

import os
from pathlib import Path
from typing import Any

import pytest

from openclaw.content import Audio, File, Image
from openclaw.mcp_server.attachments import Media, content
from openclaw.media import ANSWER_BYTES, ANSWER_ITEM_BYTES, MB, MediaStore

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SAMPLES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\0\0\0\0WEBP",
}
AUDIO = ("audio/mpeg", "audio/wav", "audio/ogg", "audio/mp4", "audio/aac", "audio/flac", "audio/opus")
FILES = (
    *("application/pdf", "text/plain", "text/markdown", "text/html", "text/csv", "application/json"),
    *("video/mp4", "video/webm", "video/quicktime", "video/x-msvideo"),
    *("application/zip", "application/gzip", "application/x-tar", "application/x-compressed-tar"),
)


def blocks(*media: Media, text: str = "", audio_blocks: bool = True) -> list[dict[str, Any]]:
    return content(text, media, audio_blocks=audio_blocks)


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def resource(name: str, kind: str, data: bytes) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": f"attachment://{name}", "mimeType": kind, "blob": data}}


@pytest.mark.requirement("004-out-text")
def test_text_comes_first_and_media_in_their_order() -> None:
    image, sound = Image(PNG, "image/png"), Audio(b"la", "audio/mpeg")
    assert blocks(sound, image, text="Here.") == [
        said("Here."),
        {"type": "audio", "data": b"la", "mimeType": "audio/mpeg"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
    ]


def test_without_text_there_is_no_text_block() -> None:
    assert blocks(Image(PNG, "image/png")) == [{"type": "image", "data": PNG, "mimeType": "image/png"}]


@pytest.mark.requirement("004-out-image")
@pytest.mark.parametrize("kind", SAMPLES)
def test_pictures_of_every_kind_are_image_blocks(kind: str, tmp_path: Path) -> None:
    expected = [{"type": "image", "data": SAMPLES[kind], "mimeType": kind}]
    kept = MediaStore(tmp_path).save(SAMPLES[kind], kind, "x")
    assert [blocks(Image(SAMPLES[kind], kind)), blocks(kept)] == [expected, expected]


def test_a_picture_that_is_none_goes_as_a_file() -> None:
    svg = Image(b"<svg/>", "image/svg+xml")
    assert blocks(svg) == [resource("image-1.svg%2Bxml", "image/svg+xml", b"<svg/>")]


@pytest.mark.requirement("004-out-audio")
@pytest.mark.parametrize("kind", AUDIO)
def test_recordings_of_every_kind_are_audio_blocks_or_resources(kind: str) -> None:
    audio = Audio(b"la la", kind)
    name = f"audio-1.{kind.partition('/')[2]}"
    block = {"type": "audio", "data": b"la la", "mimeType": kind}
    assert [blocks(audio), blocks(audio, audio_blocks=False)] == [[block], [resource(name, kind, b"la la")]]


@pytest.mark.requirement("004-out-resource")
@pytest.mark.parametrize("kind", FILES)
def test_files_of_every_other_kind_are_embedded_resources(kind: str, tmp_path: Path) -> None:
    kept = MediaStore(tmp_path).save(b"data", kind, "report.bin")
    assert blocks(kept) == [resource("report.bin", kind, b"data")]


def test_names_are_quoted_and_told_apart(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    files = [store.save(b"1", "text/csv", "größe 1.csv"), store.save(b"2", "text/csv", "größe 1.csv")]
    assert blocks(*files) == [
        resource("gr%C3%B6%C3%9Fe%201.csv", "text/csv", b"1"),
        resource("gr%C3%B6%C3%9Fe%201-2.csv", "text/csv", b"2"),
    ]


@pytest.mark.requirement("004-limit-item")
@pytest.mark.parametrize("size", [ANSWER_ITEM_BYTES - 1, ANSWER_ITEM_BYTES])
def test_an_item_up_to_20_mb_is_attached(size: int) -> None:
    data = PNG.ljust(size, b"\0")
    assert [block["type"] for block in blocks(Image(data, "image/png"), text="x")] == ["text", "image"]


@pytest.mark.requirement("004-limit-item")
def test_an_item_one_byte_larger_is_named_instead() -> None:
    data = PNG.ljust(ANSWER_ITEM_BYTES + 1, b"\0")
    sentence = "image-1.png (image/png, 20,971,521 bytes) is not attached: it is larger than 20 MB."
    assert blocks(Image(data, "image/png"), text="Here.") == [said(f"Here.\n\n{sentence}")]


def test_a_file_that_is_too_large_is_never_read(tmp_path: Path) -> None:
    huge = tmp_path / "film.mp4"
    huge.touch()
    os.truncate(huge, 4 * ANSWER_BYTES)
    file = File(str(huge), "film.mp4", "video/mp4", 4 * ANSWER_BYTES)
    sentence = "film.mp4 (video/mp4, 209,715,200 bytes) is not attached: it is larger than 20 MB."
    assert blocks(file) == [said(sentence)]


@pytest.mark.requirement("004-limit-answer")
def test_all_items_together_may_be_50_mb_and_not_a_byte_more() -> None:
    large, half = Audio(bytes(20 * MB), "audio/wav"), Audio(bytes(10 * MB), "audio/wav")
    over = Audio(bytes(10 * MB + 1), "audio/wav")
    sentence = "audio-3.wav (audio/wav, 10,485,761 bytes) is not attached: the answer would be larger than 50 MB."
    assert [block["type"] for block in blocks(large, large, half)] == ["audio"] * 3
    assert blocks(large, large, over)[0] == said(sentence)
    assert len(blocks(large, large, over)) == 3


def test_what_still_fits_behind_an_item_that_does_not_is_attached() -> None:
    large, small = Audio(bytes(20 * MB), "audio/wav"), Audio(b"la", "audio/wav")
    types = [block["type"] for block in blocks(large, large, large, small)]
    assert types == ["text", "audio", "audio", "audio"]


@pytest.mark.posix_only("named pipes")
@pytest.mark.parametrize("what", ["gone", "link", "directory", "pipe", "changed"])
def test_a_file_that_is_no_longer_what_the_tool_returned_is_not_read(what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    other = tmp_path / "other"
    other.write_bytes(b"1234")
    match what:
        case "link":
            path.symlink_to(other)
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "changed":
            path.write_bytes(b"12345")
        case _:
            pass
    file = File(str(path), "a.txt", "text/plain", 4)
    assert blocks(file) == [said("a.txt (text/plain, 4 bytes) is not attached: it cannot be read.")]
