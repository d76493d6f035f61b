"""From what the config says about approvals to the rules of one agent: layers that only narrow. Pure.

Owns how layers meet: `deny` and `ask` of all of them hold, a call is allowed when every layer allows it that names any, and of mode, taint,
fallback and time the stricter counts. Patterns are parsed here, once for each config; the config has refused those that cannot be.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from openclaw.config.agents import ApprovalLayer
from openclaw.security.approval import DEFAULT_PENDING, DEFAULT_TIMEOUT, FALLBACKS, MODES, TAINTS, Fallback, Rules
from openclaw.security.patterns import Pattern, PatternSet, parse

_T = TypeVar("_T", bound=str)


def rules_of(layers: Iterable[ApprovalLayer | None], *, home: str = "") -> Rules:
    """The first layer is that of all agents: without a word of it, the defaults hold, and the later ones narrow those."""
    written = [layer for layer in layers if layer is not None]
    first = written[0] if written and written[0].name == "tools.approval" else ApprovalLayer()
    all_layers = [first, *(layer for layer in written if layer is not first)]
    places: dict[str, str] = {}
    mode = _strictest(
        "mode", MODES, [first.mode or "writes", *(one.mode for one in all_layers[1:])], all_layers, places
    )
    taint = _strictest(
        "taint", TAINTS, [first.taint or "ask", *(one.taint for one in all_layers[1:])], all_layers, places
    )
    return Rules(
        mode=mode,
        allow=tuple(
            PatternSet(_patterns(layer, "allow", layer.allow or (), home))
            for layer in all_layers
            if layer is first or layer.allow is not None
        )
        if first.allow
        else (),
        ask=PatternSet(one for layer in all_layers for one in _patterns(layer, "ask", layer.ask, home)),
        deny=PatternSet(one for layer in all_layers for one in _patterns(layer, "deny", layer.deny, home)),
        taint=taint,
        timeout=min([first.timeout or DEFAULT_TIMEOUT, *(one.timeout for one in all_layers[1:] if one.timeout)]),
        pending=min([first.pending or DEFAULT_PENDING, *(one.pending for one in all_layers[1:] if one.pending)]),
        fallback=_fallback(all_layers, places),
        places=places,
    )


def _strictest(
    setting: str, order: Sequence[_T], values: Sequence[Any], layers: Sequence[ApprovalLayer], places: dict[str, str]
) -> _T:
    found = [(order.index(value), layer) for value, layer in zip(values, layers, strict=True) if value is not None]
    strictest, layer = max(found, key=lambda one: one[0])
    if setting in layer.places:
        places[setting] = layer.places[setting]
    return order[strictest]


def _fallback(layers: Sequence[ApprovalLayer], places: dict[str, str]) -> Mapping[str, Fallback]:
    surfaces = {"default", *(surface for layer in layers for surface in layer.fallback)}
    found: dict[str, Fallback] = {}
    for surface in sorted(surfaces):
        said = [_at(layer, surface) for layer in layers]
        found[surface] = FALLBACKS[max(FALLBACKS.index(one) for one in [said[0] or "untainted", *said[1:]] if one)]
    if where := next((layer.places["fallback"] for layer in reversed(layers) if "fallback" in layer.places), ""):
        places["fallback"] = where
    return found


def _at(layer: ApprovalLayer, surface: str) -> Any:
    return layer.fallback.get(surface) or layer.fallback.get("default")


def _patterns(layer: ApprovalLayer, setting: str, texts: Iterable[str], home: str) -> Iterable[Pattern]:
    return (parse(text, layer.place(setting), home=home) for text in texts)
