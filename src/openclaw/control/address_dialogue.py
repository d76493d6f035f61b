"""A page that a person is asked to open, as a dialogue at a terminal: the whole address, its host set apart, and their consent. Pure.

Refuses addresses that cannot be shown as they would be opened, that carry a user name, that are not https, and, when a server asks, those
that only this machine or this network reaches. Nothing is fetched: the address goes to the person's own browser, or to them.
"""

import unicodedata
from base64 import b64encode
from urllib.parse import quote

from openclaw.control.dialogue_steps import (
    DECLINED,
    NOT_ANSWERED,
    Dialogue,
    Finished,
    Screen,
    accepted,
    buttons,
    pressed,
    prose,
    said_why,
    who,
    words_of,
)
from openclaw.control.shown_text import folded, quoted
from openclaw.conversation import Question
from openclaw.errors import AddressError
from openclaw.security.egress import OPERATOR, Rules, browser_address, check_url

# Besides letters and digits; no program on the way takes them for more than a part of an address.
_IN_FRAGMENT = "-._~:/?&=+,%@!"
_PUNYCODE = "xn--"
_OPENS, _COPIES, _MYSELF = "[o] open in browser", "[c] copy address", "[y] I open it myself"
_DECLINES, _LEAVES = "[d] decline", "[Esc] not now"
# No key and no word: Enter alone stands for it.
_DONE = "\n"
_WAITING = "Press Enter when you are done there, Esc to stop waiting. "


def address_dialogue(question: Question, screen: Screen) -> Dialogue:
    if not question.url:
        return (yield from _finished_there(question, screen))
    base, mark, fragment = question.url.partition("#")
    # A server may not lead a browser to what only this machine or this network reaches: pages there act for whoever comes from near.
    rules = Rules() if question.asker else OPERATOR
    try:
        check_url(base, rules)
        address, host = browser_address(base, rules, what="It")
    except AddressError as error:
        return (yield from said_why(f"{who(question)} wants a web page opened. It is not: {error.message}", screen))
    address += mark + quote(fragment.encode("utf-8", "replace"), safe=_IN_FRAGMENT)
    shown = _shown(question, address, host, screen)
    keys, row = "ocd", buttons(screen, _OPENS, _COPIES, _DECLINES, _LEAVES)
    while True:
        key = yield from pressed(shown, keys, row)
        match key:
            case "o" | "y":
                return Finished(accepted(opened=True), address=address if key == "o" else "")
            case "c":
                shown = _copied(address, screen)
                keys, row = "yod", buttons(screen, _MYSELF, _OPENS, _DECLINES, _LEAVES)
            case "d":
                return DECLINED
            case _:
                return NOT_ANSWERED


def _finished_there(question: Question, screen: Screen) -> Dialogue:
    """They went to a page that was opened before: nothing but Enter says that they are done there."""
    rows = words_of(question, screen)
    head = prose(f"{who(question)}:", screen) if question.asker and rows else []
    shown = "".join(f"{row}\n" for row in (*head, *rows))
    waiting = "\n".join(folded(_WAITING, screen.width - 1))
    key = yield from pressed(shown, (_DONE,), waiting, enter=_DONE)
    return Finished(accepted()) if key else NOT_ANSWERED


def _shown(question: Question, address: str, host: str, screen: Screen) -> str:
    scheme, slashes, rest = address.partition("://")
    before, found, after = rest.partition(host)
    rows = [*prose(f"{who(question)} wants you to open a web page:", screen), *words_of(question, screen)]
    # In one line however long it is, so that it can be taken from the screen in one piece.
    rows += [f"  {scheme}{slashes}{before}{screen.bold(found)}{after}", f"  host: {screen.bold(host)}"]
    for warning in _warnings(host):
        rows += prose(f"warning: {warning}", screen, screen.warning, "  ")
    return "".join(f"{row}\n" for row in rows)


def _warnings(host: str) -> list[str]:
    found, scripts = [], set[str]()
    for label in host.split("."):
        if label.startswith(_PUNYCODE):
            found.append(f"this address contains unusual letters ({label}, read as {_read(label)})")
            scripts |= _scripts(_decoded(label))
    if len(scripts) > 1:
        found.append(f"its name mixes letters of several scripts: {', '.join(sorted(scripts))}")
    return found


def _decoded(label: str) -> str:
    try:
        return label[len(_PUNYCODE) :].encode("ascii").decode("punycode")
    except UnicodeError:
        return ""


def _read(label: str) -> str:
    return quoted(_decoded(label)) if _decoded(label) else "nothing that can be shown"


def _scripts(name: str) -> set[str]:
    """The scripts of its letters, by the first word of each letter's name: Latin, Cyrillic, Greek."""
    return {unicodedata.name(letter, "unknown").partition(" ")[0].capitalize() for letter in name if letter.isalpha()}


def _copied(address: str, screen: Screen) -> str:
    if not screen.clipboard:
        return f"{address}\n"
    # The terminal itself copies it, wherever it runs; there is no telling whether it does.
    sequence = f"\x1b]52;c;{b64encode(address.encode()).decode()}\x07"
    rows = prose("The terminal was asked to copy it. If it did not, here it is:", screen)
    return sequence + "".join(f"{row}\n" for row in (*rows, address))
