"""The page that a browser ends at after a sign-in: whether it worked, in the person's light or dark, and nothing else.

Whole in itself: no script, nothing fetched, no byte of the request. What it says is `callback.py`'s business.
"""

from string import Template
from typing import Final, Literal

# How it went: it worked, it did not, or this is not the place.
Mark = Literal["good", "bad", "none"]

_COLOURS: Final = {"good": "#1a7f4b", "bad": "#c0392b", "none": "#6b7280"}
_SHAPES: Final = {"good": "M14 25l7 7 13-15", "bad": "M16 16l16 16M32 16L16 32", "none": "M15 24h18"}

_PAGE: Final = Template(
    """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title · OpenClaw</title>
<style>
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #f3f4f6; color: #1f2937;
  font: 17px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { box-sizing: border-box; width: min(28rem, 92vw); padding: 2.75rem 2.25rem 2rem; text-align: center;
  background: #fff; border-radius: 14px; box-shadow: 0 1px 3px #0002, 0 12px 32px #0001; }
h1 { margin: 1.1rem 0 .5rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0; color: #4b5563; }
footer { margin-top: 2rem; font-size: .85rem; letter-spacing: .02em; color: #6b7280; }
@media (prefers-color-scheme: dark) {
  body { background: #0f1115; color: #e5e7eb; }
  main { background: #1a1d23; box-shadow: 0 0 0 1px #ffffff14; }
  p { color: #b3bac5; } footer { color: #8b93a1; }
}
</style>
<main>
<svg width="64" height="64" viewBox="0 0 48 48" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round"
  stroke-linejoin="round" aria-hidden="true"><circle cx="24" cy="24" r="24" fill="$colour" stroke="none"/><path d="$shape"/></svg>
<h1>$title</h1>
<p>$text</p>
<footer>OpenClaw</footer>
</main>
</html>
"""
)


def page(mark: Mark, title: str, text: str) -> str:
    """`title` and `text` are words of ours, put in as they are."""
    return _PAGE.substitute(title=title, text=text, colour=_COLOURS[mark], shape=_SHAPES[mark])
