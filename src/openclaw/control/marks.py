"""What a terminal is like, from its environment alone, in a few letters that fit into a request to the gateway.

    s  standard output is a screen        c  with colours              i  a person watches standard error
    m  a line can be drawn again          a  nothing but ASCII         k, t, x  shows pictures as kitty, iTerm2 or by sixels

Pure, and imports nothing: the command-line stub uses it.
"""

from _collections_abc import Mapping

# Programs that take a picture in the way of iTerm2, by the name they give themselves.
_LIKE_ITERM2 = ("iTerm.app", "WezTerm", "vscode", "mintty")
# Terminals that show sixels, by the start of their TERM. Others do too, and would have to be asked.
_WITH_SIXELS = ("foot", "mlterm", "yaft", "contour", "xterm-sixel")


def marks(env: Mapping[str, str], *, screen: bool, interactive: bool, no_color: bool = False) -> str:
    is_dumb = env.get("TERM", "") == "dumb"
    found = ("s" if screen else "") + ("i" if interactive else "")
    if screen and not is_dumb and not no_color and not env.get("NO_COLOR"):
        found += "c"
    if (screen or interactive) and not is_dumb:
        found += "m"
    if screen and not has_utf8(env):
        found += "a"
    return found + (_pictures(env) if screen and not is_dumb else "")


def has_utf8(env: Mapping[str, str]) -> bool:
    """By the locale. Where none is named, as in many containers, the terminal outside is a modern one."""
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or "utf-8"
    return "utf-8" in locale.lower() or "utf8" in locale.lower()


def _pictures(env: Mapping[str, str]) -> str:
    """Nothing below tmux and screen, which do not hand pictures through."""
    term, program = env.get("TERM", ""), env.get("TERM_PROGRAM", "") or env.get("LC_TERMINAL", "")
    if env.get("TMUX") or env.get("STY") or term.startswith(("tmux", "screen")):
        return ""
    if env.get("KITTY_WINDOW_ID") or "kitty" in term or "ghostty" in term or program == "ghostty":
        return "k"
    if program in _LIKE_ITERM2 or program == "iTerm2":
        return "t"
    return "x" if term.startswith(_WITH_SIXELS) else ""


def pictures_of(found: str) -> 'Literal["", "kitty", "iterm2", "sixel"]':
    """How pictures are sent to a terminal with these marks."""
    return "kitty" if "k" in found else "iterm2" if "t" in found else "sixel" if "x" in found else ""


# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal
