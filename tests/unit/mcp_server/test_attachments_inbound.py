"""Attachments of an order, from Base64 to bytes."""

import base64
import string
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.agent.attachments import Attachment
from openclaw.content import PICTURES
from openclaw.errors import MediaError
from openclaw.mcp_server.attachments import FILES, check_counts, decode
from openclaw.mcp_server.order import Item, Order
from openclaw.media import ITEM_BYTES
from parts.samples import SAMPLES

PNG = SAMPLES["image/png"]


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: str, mime_type: str = "image/png", filename: str = "") -> Order:
    return Order("m", images=[Item("images[0]", data, mime_type, filename)])


def file(data: str, mime_type: str, filename: str = "") -> Order:
    return Order("m", files=[Item("files[0]", data, mime_type, filename)])


def refusal(order: Order) -> str:
    with pytest.raises(MediaError) as refused:
        list(decode(order))
    return str(refused.value)


@pytest.mark.requirement("004-file-types")
@pytest.mark.requirement("004-image-types")
def test_the_table_of_types_is_the_documented_one() -> None:
    """Seed 004, "Image Attachments" and "File Attachments"."""
    assert set(SAMPLES) == PICTURES | FILES
    assert len(PICTURES) == 4


@pytest.mark.requirement("004-image-types")
@pytest.mark.parametrize("kind", sorted(PICTURES))
def test_every_kind_of_image_is_taken(kind: str) -> None:
    (taken,) = decode(image(encoded(SAMPLES[kind]), kind, "a b.x"))
    assert taken == Attachment("a b.x", kind, SAMPLES[kind], titled=True)


@pytest.mark.requirement("004-file-types")
@pytest.mark.parametrize("kind", sorted(FILES))
def test_every_kind_of_file_is_taken(kind: str) -> None:
    assert list(decode(file(encoded(SAMPLES[kind]), kind))) == [Attachment("file-1", kind, SAMPLES[kind])]


@pytest.mark.requirement("004-file-fields")
@pytest.mark.requirement("004-image-fields")
def test_images_come_before_files_and_each_has_a_name() -> None:
    order = Order(
        "m",
        images=[Item("images[0]", encoded(PNG), "image/png"), Item("images[1]", encoded(PNG), "image/png")],
        files=[Item("files[0]", encoded(b"x"), "text/plain")],
    )
    assert [item.name for item in decode(order)] == ["image-1", "image-2", "file-1"]


def test_items_are_decoded_one_at_a_time_and_their_text_forgotten() -> None:
    order = Order("m", images=[Item(f"images[{n}]", encoded(PNG), "image/png") for n in range(3)])
    items = decode(order)
    next(items)
    assert [bool(item.data) for item in order.images] == [False, True, True]


@pytest.mark.requirement("004-limit-in")
@pytest.mark.parametrize("size", [ITEM_BYTES - 1, ITEM_BYTES])
def test_an_item_up_to_15_mb_is_taken(size: int) -> None:
    (taken,) = decode(image(encoded(PNG.ljust(size, b"\0"))))
    assert len(taken.data) == size


@pytest.mark.requirement("004-image-limits")
@pytest.mark.requirement("004-limit-in")
@pytest.mark.parametrize("size", [ITEM_BYTES + 1, ITEM_BYTES + 2, ITEM_BYTES + 3, 2 * ITEM_BYTES])
def test_a_larger_item_is_refused(size: int) -> None:
    assert refusal(image(encoded(PNG.ljust(size, b"\0")))) == "images[0] is larger than 15.0 MB."


def test_a_much_larger_item_is_refused_before_it_is_decoded() -> None:
    """It is not even Base64: nobody looked."""
    assert refusal(image("!" * (2 * ITEM_BYTES))) == "images[0] is larger than 15.0 MB."


@pytest.mark.requirement("004-file-limits")
@pytest.mark.requirement("004-image-limits")
@pytest.mark.parametrize(("images", "files", "fits"), [(10, 5, True), (11, 0, False), (0, 6, False)])
def test_ten_images_and_five_files_are_the_most(images: int, files: int, fits: bool) -> None:
    item = Item("x", "", "")
    order = Order("m", images=[item] * images, files=[item] * files)
    if fits:
        check_counts(order)
        return
    what = f"{images} images; 10" if images else f"{files} files; 5"
    with pytest.raises(MediaError) as refused:
        check_counts(order)
    assert str(refused.value) == f"There are {what} are the most. Send the rest in another order."


@pytest.mark.parametrize(
    "text",
    [
        encoded(PNG),
        encoded(PNG).rstrip("="),
        encoded(PNG).rstrip("=") + "====",
        base64.urlsafe_b64encode(PNG).decode(),
        base64.encodebytes(PNG * 20).decode(),
        f"data:image/png;base64,{encoded(PNG)}",
        f"data:;base64,{encoded(PNG)}",
        f"DATA:IMAGE/PNG;BASE64,{encoded(PNG)}",
        f" {encoded(PNG)}\r\n",
    ],
)
def test_the_common_ways_to_write_base64_are_accepted(text: str) -> None:
    (taken,) = decode(image(text))
    assert taken.data.startswith(PNG)


@pytest.mark.requirement("004-base64-only")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "images[0] is empty."),
        ("====", "images[0] is empty."),
        ("!!!!", "images[0] is not valid Base64."),
        (encoded(PNG) + "!", "images[0] is not valid Base64."),
        (encoded(PNG)[:8] + "=" + encoded(PNG)[8:], "images[0] is not valid Base64."),
        ("A", "images[0] is not valid Base64."),
        ("iVBORw0KGgo\0", "images[0] is not valid Base64."),
        ("äöü=", "images[0] is not valid Base64."),
        ("data:image/png,raw", "images[0] is a data: URL without Base64. Send the Base64 data alone."),
        ("data:image/png;base64", "images[0] is a data: URL without Base64. Send the Base64 data alone."),
        ("data:" + "x" * 300, "images[0] is a data: URL without Base64. Send the Base64 data alone."),
        (
            f"data:image/gif;base64,{encoded(PNG)}",
            "images[0] is a data: URL of type image/gif, but mimeType says image/png.",
        ),
    ],
)
def test_anything_else_is_refused(text: str, sentence: str) -> None:
    assert refusal(image(text)) == sentence


SUPPORTED = "Supported: image/gif, image/jpeg, image/png, image/webp."


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("image/svg+xml", "image/svg+xml"),
        ("image/jpg", "image/jpg"),
        ("", "given"),
        ("../../etc", "given"),
        ("image/png\nX: y", "given"),
    ],
)
def test_an_unknown_type_of_image_is_refused(kind: str, shown: str) -> None:
    sentence = f"images[0]: the type {shown} is not supported. {SUPPORTED}"
    assert refusal(image(encoded(PNG), kind)) == sentence


def test_a_type_may_have_parameters_and_capitals() -> None:
    (taken,) = decode(file(encoded(b"x"), "Text/Plain; charset=utf-8"))
    assert taken.mime_type == "text/plain"


def test_an_image_among_the_files_is_refused() -> None:
    sentence = "files[0]: the type image/png is not supported. Send it in images."
    assert refusal(file(encoded(PNG), "image/png")) == sentence


@pytest.mark.parametrize("kind", ["application/pdf", "text/html"])
def test_a_file_among_the_images_is_refused(kind: str) -> None:
    assert (
        refusal(image(encoded(SAMPLES[kind]), kind))
        == f"images[0]: the type {kind} is not supported. Send it in files."
    )


@pytest.mark.parametrize("kind", sorted(PICTURES | FILES - {"text/plain", "text/markdown", "text/html", "text/csv"}))
def test_content_of_another_kind_than_declared_is_refused(kind: str) -> None:
    data = SAMPLES["application/pdf" if kind != "application/pdf" else "image/png"]
    shown = "application/pdf" if kind != "application/pdf" else "image/png"
    place, order = ("images[0]", image) if kind in PICTURES else ("files[0]", file)
    sentence = f"{place} is said to be {kind}, but its content is {shown}. Correct mimeType."
    assert refusal(order(encoded(data), kind)) == sentence


@pytest.mark.parametrize("data", [b"<svg onload=x>", b"<html>", b"plain", b"\0\0\0\0"])
@pytest.mark.parametrize("kind", sorted(PICTURES))
def test_markup_and_junk_are_no_images(kind: str, data: bytes) -> None:
    sentence = f"images[0] is said to be {kind}, but its content is something else. Correct mimeType."
    assert refusal(image(encoded(data), kind)) == sentence


@pytest.mark.parametrize("binary", ["image/png", "application/zip", "application/pdf", "video/mp4"])
def test_binary_files_are_no_text(binary: str) -> None:
    sentence = f"files[0] is said to be text/csv, but its content is {binary}. Correct mimeType."
    assert refusal(file(encoded(SAMPLES[binary]), "text/csv")) == sentence


def test_a_table_that_begins_like_a_recording_is_still_text() -> None:
    (taken,) = decode(file(encoded(b"ID3,name\n1,x\n"), "text/csv"))
    assert taken.data == b"ID3,name\n1,x\n"


@pytest.mark.parametrize(
    ("kind", "data"), [("audio/aac", b"ADIF\0\0"), ("video/quicktime", b"\0\0\0\x08wide\0\0\0\0mdat")]
)
def test_older_forms_of_a_type_are_known(kind: str, data: bytes) -> None:
    (taken,) = decode(file(encoded(data), kind))
    assert taken.mime_type == kind


def outcome(order: Order) -> bytes | str:
    try:
        (taken,) = decode(order)
        return taken.data
    except MediaError as error:
        return str(error)


@settings(max_examples=200)
@given(st.binary(min_size=1, max_size=400), st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_bytes_survive_the_journey_or_are_named_for_what_they_are(
    data: bytes, writer: Callable[[bytes], bytes]
) -> None:
    found = outcome(file(writer(data).decode(), "text/plain"))
    assert found == data or (isinstance(found, str) and ", but its content is " in found)


@settings(max_examples=200)
@given(st.text(alphabet=string.printable + "é\u2028\ud800", max_size=60))
def test_text_that_is_no_base64_is_refused_or_read_and_nothing_else(text: str) -> None:
    found = outcome(file(text, "text/plain"))
    assert found if isinstance(found, bytes) else found.startswith("files[0]")
