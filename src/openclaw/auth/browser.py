"""Opening an address in the person's browser, by argv and never through a shell.

Knows which program opens addresses on each system, and when there is nobody to see one. The address has been checked and encoded by
`security/egress.py`; here it is one element of an argv, never the first, and never taken for an option.
"""

import sys
from collections.abc import Mapping
from typing import Final

from openclaw.errors import ProcessError
from openclaw.process.detach import detach
from openclaw.process.environment import child_environment
from openclaw.typed_words import split_words

# An opener that fails does so at once; a browser started by it may stay in the foreground.
PATIENCE: Final = 3.0
# What a browser needs of the desktop it is to appear on.
_DESKTOP: Final = (
    *("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION"),
    *("GNOME_DESKTOP_SESSION_ID", "KDE_FULL_SESSION", "KDE_SESSION_VERSION", "WSL_DISTRO_NAME", "WSL_INTEROP"),
)


def browser_command(url: str, env: Mapping[str, str], platform: str = sys.platform) -> list[str] | None:
    """The argv that opens `url`; None when there is no screen to open it on."""
    if not url.startswith(("https://", "http://")):
        raise ProcessError("Only http and https addresses are opened in a browser.")
    chosen = env.get("BROWSER", "").partition(";" if platform == "win32" else ":")[0]
    if chosen:
        try:
            words = split_words(chosen, windows=platform == "win32")
        except ValueError:
            words = []
        if words:
            return [word.replace("%s", url) for word in words] if "%s" in chosen else [*words, url]
    if platform == "darwin":
        return None if "SSH_CONNECTION" in env else ["open", url]
    if platform == "win32":
        return ["rundll32", "url.dll,FileProtocolHandler", url]
    if env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"):
        return ["xdg-open", url]
    return ["wslview", url] if "WSL_DISTRO_NAME" in env else None


def has_screen(env: Mapping[str, str]) -> bool:
    """Whether there is a screen on which a person would see a browser."""
    return browser_command("https://localhost/", env) is not None


async def open_browser(url: str, env: Mapping[str, str], *, patience: float = PATIENCE) -> bool:
    """Whether a browser was started. A system without one, or without a screen, is not an error: the person can open the address."""
    argv = browser_command(url, env)
    if argv is None:
        return False
    try:
        code = await detach(
            argv, env=child_environment(pass_env=_DESKTOP, allowed=_DESKTOP, parent=env).variables, patience=patience
        )
    except ProcessError:
        return False
    return code in (None, 0)
