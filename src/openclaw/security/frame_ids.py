"""Ids of frames that depend on their words alone, so that the same words give the same prompt in every process. Pure.

A frame has a fresh id, which nobody can guess. Vendors keep the beginning of a prompt, and count anew from the first byte that is
another. `steady_ids` puts another id into each frame of a text: a keyed digest of what the frame says. The author of the words
cannot know it without the key, and an id that they learn later is of no use to them: with other words it is another one.
"""

import hashlib
import hmac

from openclaw.security.unframe import ID_CHARACTERS, MARK, frame_pattern


def steady_ids(text: str, key: bytes) -> str:
    """`text` with other ids in its frames. Nothing else of it changes."""
    if MARK not in text:
        return text
    return frame_pattern().sub(lambda found: _with_steady_id(found[0], found["id"], key), text)


def _with_steady_id(framed: str, fresh: str, key: bytes) -> str:
    words = framed.replace(fresh, "")
    digest = hmac.new(key, words.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
    return framed.replace(fresh, digest[:ID_CHARACTERS])
