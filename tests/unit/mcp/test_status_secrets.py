"""What a status never shows: a secret that a server repeats, and a credential among its arguments."""

import base64
from urllib.parse import quote

from openclaw.config.servers import ServerSpec
from openclaw.errors import ProtocolError
from openclaw.mcp.server.connection import event_of
from openclaw.mcp.status import target_of
from openclaw.redact import remember

VALUE = "a value/that+a server is given"


def test_the_reason_of_a_failure_repeats_no_secret_in_any_form() -> None:
    remember(VALUE)
    forms = (VALUE, base64.b64encode(VALUE.encode()).decode(), quote(VALUE, safe=""))
    event = event_of(ProtocolError(f"The server refused initialize: bad key {' '.join(forms)}"), ServerSpec("a"))
    assert [form for form in forms if form in event.reason] == []
    assert event.reason.startswith("The server refused initialize: bad key [REDACTED] [REDACTED]")


def test_a_secret_at_the_end_of_a_long_reason_is_not_cut_in_half() -> None:
    remember(VALUE)
    for length in range(400, 700):
        event = event_of(ProtocolError("x" * length + VALUE), ServerSpec("a"))
        assert VALUE[:8] not in event.reason


def test_arguments_that_are_credentials_are_masked_and_the_others_shown() -> None:
    args = ("server.py", "--api-key", "abcd1234efgh5678", "--root", "/srv", "ghp_abcdefghijklmnopqrstuvwxyz0123456789")
    spec = ServerSpec("a", command="python3", args=args)
    assert target_of(spec) == "stdio://python3 server.py --api-key [REDACTED] --root /srv [REDACTED]"
