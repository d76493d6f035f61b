"""The ways to say yes to a call that is asked about, and the grants they become. Pure, but for the ids of new grants.

Owns what is offered in which row of the table (security/approval.py): nothing that would be asked about again all the same, and nothing
that lasts for a program whose words do not say what it does. A grant is made of what was shown, and of nothing else.
"""

import secrets

from openclaw.config.call_pattern import glob
from openclaw.conversation import Offer
from openclaw.grant import Grant
from openclaw.security.approval import (
    ASK_ROW,
    FOREIGN_REACH_ROW,
    FOREIGN_VALUE_ROW,
    HOST,
    Case,
    Verdict,
    bound_to,
    is_exec,
    is_plain_command,
    is_short,
    new_hosts,
)
from openclaw.security.patterns import names_host
from openclaw.security.suggestion import Suggestion, exact, suggest
from openclaw.tool import RUN_CODE, Tool, ToolFacts

_ID_BYTES = 8


def offers(case: Case, verdict: Verdict) -> tuple[Offer, ...]:
    """The ways to say yes. None is offered that would be asked about again all the same."""
    return tuple(offer for offer, _ in _offered(case, verdict))


def granted(case: Case, verdict: Verdict, offer_id: str, *, by: str = "", created: str = "") -> tuple[Grant, ...]:
    """What an accepted offer becomes, beside the call itself. A new host is remembered for the conversation whatever was chosen.

    An id that was not offered is a KeyError: nothing may be granted that was not shown.
    """
    chosen = {offer.id: (offer, about) for offer, about in _offered(case, verdict)}
    offer, about = chosen[offer_id]
    server, tool, definition = bound_to(case.tool, case.facts)
    found: list[Grant] = []
    if verdict.step == FOREIGN_REACH_ROW and not case.risk.exec:
        found = [
            Grant(new_id(), "", HOST, arguments={"host": host}, scope="session", created=created, by=by)
            for host in new_hosts(case)
        ]
    if offer.lasts == "once":
        return tuple(found)
    lasting = Grant(
        new_id(),
        tool,
        server,
        definition,
        case.agent,
        about.arguments,
        even_after_untrusted=offer_id == "even",
        scope=offer.lasts,
        created=created,
        by=by,
    )
    return (*found, lasting)


def read_grant(tool: Tool, facts: ToolFacts, *, agent: str = "", by: str = "", created: str = "") -> Grant:
    """A person's word that a tool only reads."""
    server, name, definition = bound_to(tool, facts)
    return Grant(new_id(), name, server, definition, agent, as_read=True, created=created, by=by)


def new_id() -> str:
    return f"g_{secrets.token_hex(_ID_BYTES)}"


def _offered(case: Case, verdict: Verdict) -> list[tuple[Offer, Suggestion]]:
    nothing = Suggestion({}, "")
    once = (Offer("once", "y", "once", "once"), nothing)
    is_code = case.tool.kind == "native" and case.tool.name == RUN_CODE
    # Nobody can tell from the text of code what it will do.
    may_last = not is_code and (not is_exec(case.tool) or is_plain_command(case))
    # A rule that asks is asked again whatever is granted. And a server's tool without a definition cannot be recognised.
    if verdict.step == ASK_ROW or not may_last or (case.tool.kind == "mcp" and case.facts is None):
        return [once]
    found = [once]
    if case.facts is not None and case.facts.skill:
        # Whichever of its files is read: a yes is to all of them, as they are now.
        found.append(
            (Offer("session", "s", "in this conversation, until one of its files changes", "session"), nothing)
        )
        found.append((Offer("always", "a", "always, until one of its files changes", "always"), nothing))
        return found
    pattern = suggest(case.tool, case.arguments, case.paths)
    if verdict.step == FOREIGN_REACH_ROW:
        hosts = () if case.risk.exec else new_hosts(case)
        is_named = bool(hosts) and pattern is not None and _name_all(pattern, hosts)
        if hosts:
            found[0] = (Offer("once", "y", f"yes, and {' and '.join(hosts)} in this conversation", "once"), nothing)
        if is_named and pattern is not None:
            found.append((Offer("always", "a", f"always {pattern.text}", "always"), pattern))
        # Of a call that only reads there is nothing but its hosts to ask about, and no grant holds for a host that it does not name.
        if pattern is not None and (case.risk.exec or (is_named and not case.risk.only_reads)):
            text = f"always {pattern.text}, also after text that nobody checked"
            found.append((Offer("even", "u", text, "always"), pattern))
        return found
    if verdict.step == FOREIGN_VALUE_ROW:
        short = {name: case.arguments[name] for name in case.origins if is_short(case.arguments.get(name))}
        named = exact(short) if short else pattern
        if named is not None:
            found.append((Offer("always", "a", f"always {named.text}", "always"), named))
        return found
    if is_exec(case.tool):
        if pattern is not None:
            found.append((Offer("session", "s", f"{pattern.text} in this conversation", "session"), pattern))
    elif case.surface != "call":
        # Who types one call has no conversation.
        found.append((Offer("session", "s", "in this conversation", "session"), nothing))
    if pattern is not None:
        found.append((Offer("always", "a", f"always {pattern.text}", "always"), pattern))
    if not is_exec(case.tool):
        found.append((Offer("any", "t", "always, any arguments", "always"), nothing))
    return found


def _name_all(pattern: Suggestion, hosts: tuple[str, ...]) -> bool:
    return all(any(names_host(glob(one), host) for one in pattern.arguments.values()) for host in hosts)
