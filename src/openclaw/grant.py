"""A permission that a person gave for calls of a tool: bound to what they were shown, so that nothing else can inherit it.

A value alone. Which calls it covers is security/approval.py's to say; those that outlive a conversation are kept by security/grants.py,
those of one conversation in its session.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

# The `server` of a grant that is for no call: to start the server `tool` that an editor brings, as `definition` has it.
EDITOR = "editor"
# The same of one for the server `tool`, whose identity `definition` is, to ask a model in a conversation.
SAMPLING = "sampling"


class Grant(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`tool` is its own name at the server whose `server` identity this is (`tool.ToolFacts`), `definition` the digest of what it looked
    like: a changed tool is another one. For a native or plugin tool `server` is its kind and origin, and `definition` is empty.

    `arguments` are patterns (`path: "/home/me/notes/**"`), all of which a call must match; none means any arguments. `as_read` says no
    more than that the tool only reads. `even_after_untrusted` holds also when the conversation has read foreign text.
    """

    id: str
    tool: str
    server: str
    definition: str = ""
    agent: str = ""
    arguments: Mapping[str, str] = {}
    as_read: bool = False
    even_after_untrusted: bool = False
    scope: Literal["session", "always"] = "always"
    created: str = ""
    by: str = ""
