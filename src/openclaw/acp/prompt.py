"""What a client says in a prompt, as a message to an agent: words, attachments, and what only came along. Pure.

Owns the limits of a prompt and what each kind of block becomes. Words are the person's; a resource that is embedded is shown to the model
as what it is, framed with its address. One out of the session's folders is the person's own file; any other is foreign text.
"""

import base64
import binascii
import ntpath
import os
import posixpath
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from openclaw import content
from openclaw.acp import wire
from openclaw.acp.connection import RequestError
from openclaw.agent.attachments import Attachment
from openclaw.protocol.jsonrpc import INVALID_PARAMS
from openclaw.security.external import clean_label, frame

# Bytes of all text of a prompt, decoded.
MOST_TEXT = 2 * 1_048_576
MOST_IMAGES = 20
_LONGEST_NAME = 200
_LONGEST_ADDRESS = 2_000


class Message(msgspec.Struct, frozen=True):
    """As `App.reply` takes it. `sources` says of each block whose it is."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    blocks: tuple[content.Block, ...] = ()
    sources: tuple[str, ...] = ()


def message_of(prompt: Sequence[wire.Block], folders: Sequence[Path]) -> Message:
    """Raises RequestError, which names the block that cannot be taken."""
    if not prompt:
        raise RequestError(INVALID_PARAMS, "The prompt is empty.")
    if sum(isinstance(block, wire.Image) for block in prompt) > MOST_IMAGES:
        raise RequestError(INVALID_PARAMS, f"A prompt has {MOST_IMAGES} images at most.")
    if sum(map(_text_bytes, prompt)) > MOST_TEXT:
        raise RequestError(INVALID_PARAMS, f"The text of a prompt has {MOST_TEXT:,} bytes at most.")
    words: list[str] = []
    attachments: list[Attachment] = []
    blocks: list[content.Block] = []
    sources: list[str] = []
    for number, block in enumerate(prompt):
        match block:
            case wire.Text(text=text):
                words.append(text)
            case wire.ResourceLink():
                words.append(_line(block, folders))
            case wire.Image(data=data, mime_type=kind):
                attachments.append(Attachment(f"image-{number + 1}", kind, _decoded(data, number)))
            case wire.Audio():
                raise RequestError(INVALID_PARAMS, f"prompt[{number}]: audio is not taken here.")
            case wire.EmbeddedResource(resource=resource):
                _take(resource, number, folders, attachments, blocks, sources)
    return Message("\n".join(words), tuple(attachments), tuple(blocks), tuple(sources))


def _take(
    resource: wire.Resource,
    number: int,
    folders: Sequence[Path],
    attachments: list[Attachment],
    blocks: list[content.Block],
    sources: list[str],
) -> None:
    parts = _parts(resource.uri)
    name = clean_label((os.path.basename(parts.path) if parts else "") or resource.uri, _LONGEST_NAME)
    if resource.blob is not None:
        kind = resource.mime_type or "application/octet-stream"
        attachments.append(Attachment(name, kind, _decoded(resource.blob, number)))
        return
    if resource.text is None:
        raise RequestError(INVALID_PARAMS, f"prompt[{number}]: the resource has neither text nor blob.")
    own = local_path(resource.uri, folders)
    sender = own or clean_label(resource.uri, _LONGEST_ADDRESS)
    if own:
        attachments.append(Attachment(sender, "text/plain", resource.text.encode("utf-8", "replace")))
        return
    blocks.append(content.Text(frame(resource.text, source="unknown", sender=sender)))
    sources.append(f"resource:{name}")


def local_path(uri: str, folders: Sequence[PurePath], *, windows: bool = sys.platform == "win32") -> str:
    """The path of a `file:` address inside one of the folders; empty for any other."""
    parts = _parts(uri)
    if parts is None or parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    system = ntpath if windows else posixpath
    written = unquote(parts.path)
    # Before the letter of a drive stands a sign of the address.
    path: str = system.normpath(written.removeprefix("/") if windows else written)
    # Editors write the letter of a drive as they like.
    here: str = system.normcase(path)
    places: list[str] = [system.normcase(str(folder)) for folder in folders]
    is_inside = any(here == place or here.startswith(f"{place.rstrip(system.sep)}{system.sep}") for place in places)
    return path if system.isabs(path) and is_inside else ""


def _parts(uri: str) -> SplitResult | None:
    """None for what is no address: it is shown to the model as it came."""
    try:
        return urlsplit(uri)
    except ValueError:
        return None


def _line(link: wire.ResourceLink, folders: Sequence[Path]) -> str:
    """A link is a line with its name and where it is: whether it is read is the model's to say, and the rules'."""
    where = local_path(link.uri, folders) or clean_label(link.uri, _LONGEST_ADDRESS)
    return f"[{clean_label(link.title or link.name, _LONGEST_NAME)}: {where}]"


def _text_bytes(block: wire.Block) -> int:
    match block:
        case wire.Text(text=text):
            return len(text.encode("utf-8", "replace"))
        case wire.EmbeddedResource(resource=wire.Resource(text=str(text))):
            return len(text.encode("utf-8", "replace"))
        case _:
            return 0


def _decoded(data: str, number: int) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError(INVALID_PARAMS, f"prompt[{number}]: its data is not Base64.") from None
