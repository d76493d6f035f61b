"""Cookies of one client, for load balancers that keep a client on one backend by a cookie.

A cookie goes back to the very origin that set it and nowhere else; `Domain` never widens that. Values live as long as the client.
"""

from typing import Final

from openclaw.security.egress import Target

# What browsers promise as a minimum; a server that needs more is misusing us.
MAX_COOKIES: Final = 50
MAX_COOKIE_BYTES: Final = 4096


class CookieJar:
    def __init__(self) -> None:
        # origin -> (path, name) -> value
        self._cookies: dict[str, dict[tuple[str, str], str]] = {}
        # Whether no server ever set any, as hardly one does. No property: every request asks.
        self.is_empty = True

    def store(self, target: Target, lines: tuple[str, ...]) -> None:
        """Remember the Set-Cookie lines of an answer."""
        for line in lines:
            pair, *attributes = line.split(";")
            name, equals, value = pair.strip().partition("=")
            if not name or not equals or len(pair) > MAX_COOKIE_BYTES:
                continue
            known = dict(_attribute(text) for text in attributes)
            path = known.get("path", "")
            key = (path if path.startswith("/") else _directory(target.path), name)
            jar = self._cookies.setdefault(target.origin, {})
            if _is_deletion(known):
                jar.pop(key, None)
            elif key in jar or len(jar) < MAX_COOKIES:
                jar[key] = value
                self.is_empty = False

    def header(self, target: Target) -> str:
        """The Cookie header for a request, longer paths first; empty when there is nothing to send."""
        jar = self._cookies.get(target.origin)
        if not jar:
            return ""
        path = target.path.partition("?")[0]
        fitting = [(key, value) for key, value in jar.items() if _covers(key[0], path)]
        fitting.sort(key=lambda item: -len(item[0][0]))
        return "; ".join(f"{name}={value}" for (_, name), value in fitting)


def _attribute(text: str) -> tuple[str, str]:
    name, _, value = text.strip().partition("=")
    return name.lower(), value.strip()


def _is_deletion(attributes: dict[str, str]) -> bool:
    """Servers delete a cookie by a Max-Age of zero or an Expires at the beginning of time."""
    age = attributes.get("max-age", "")
    if age.startswith("-") or age == "0":
        return True
    return " 1970 " in attributes.get("expires", "").replace("-", " ")


def _directory(path: str) -> str:
    return path.partition("?")[0].rpartition("/")[0] or "/"


def _covers(cookie_path: str, path: str) -> bool:
    return path == cookie_path or path.startswith(cookie_path.rstrip("/") + "/")
