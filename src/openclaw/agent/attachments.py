"""What a person sends along, as blocks a model can take.

Images go to the model as images, text inline and framed, everything else is kept under the media root and named in a sentence.
Nothing is ever unpacked or run.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from openclaw.content import Block, Image, Text
from openclaw.media import MediaStore
from openclaw.security.external import frame

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True)
class Attachment:
    """One item as a surface received it."""

    name: str
    mime_type: str
    data: bytes


async def incoming(attachments: Sequence[Attachment], media: MediaStore) -> tuple[Block, ...]:
    """Blocks for the user's message, in the order the items came. Raises MediaError or StoreError."""
    blocks: list[Block] = []
    for item in attachments:
        if item.mime_type in IMAGE_TYPES:
            blocks.append(Image(item.data, item.mime_type))
        elif item.mime_type.startswith("text/") or item.mime_type == "application/json":
            text = item.data.decode("utf-8", "replace")
            blocks.append(Text(frame(text, source="unknown", subject=item.name, warning=False)))
        else:
            blocks.append(await asyncio.to_thread(media.save, item.data, item.mime_type, item.name))
    return tuple(blocks)
