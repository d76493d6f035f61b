"""What somebody uses the gateway's page with, a ticket and then a token: how they are made, and how long they are good.

Values alone; where they are kept is `gateway/page_tokens.py`, and for several gateways `fleet/pages.py`.
"""

import hashlib
import secrets
from typing import Final

TICKET_SECONDS: Final = 60.0
# Of 128 bits, and of 256.
_TICKET_BYTES, _TOKEN_BYTES = 16, 32
# Seconds after which a token that nobody used, and any token, is good no more.
IDLE_SECONDS: Final = 12 * 3600.0
LONGEST_SECONDS: Final = 7 * 24 * 3600.0
# Pages at a time; the one that was not used for longest goes first.
MOST_PAGES: Final = 100
# How often a use is noted: what is lost by a crash is only how long ago the last one was.
NOTED_EVERY: Final = 600.0


def new_ticket() -> str:
    return secrets.token_urlsafe(_TICKET_BYTES)


def new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


def digest_of(secret: str) -> str:
    # Compared by looking them up: what a guess has in common with a digest tells nothing of the secret.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
