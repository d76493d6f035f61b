"""What is said of a call that is asked about: the question to a person, and what a model and the audit trail hear of the answer. Pure.

Values of the call stand in the question alone, as they are: whoever shows it cleans them. What an answer does is approver.py's.
"""

from openclaw.config.call_pattern import text_of
from openclaw.conversation import Answer, AskedCall, Question
from openclaw.security.approval import ASK_ROW, LAST_ROW, Case, Verdict
from openclaw.security.external import clean_label
from openclaw.security.offers import granted, offers
from openclaw.tool import ToolFacts
from openclaw.typed_words import quote_word

# As much as a person says with a no.
_LONGEST_NOTE = 500
# Why somebody is asked about what they ordered.
_TYPED = " Typing a call is no yes to what it changes: this shows it whole, and --yes says it beforehand."
_CHANGED = "You allowed calls of this tool before. Its server has changed it since."
_BY_PANEL = "It comes from the app that this server shows, not from the model."


def question_about(
    call_id: str, case: Case, verdict: Verdict, *, typed: bool = False, by_panel: bool = False
) -> Question:
    """The question about a call, with all there is to know of it. `typed`: the person ordered it by name; `by_panel`: the server's own
    panel did."""
    tool, facts = case.tool, case.facts
    offered = offers(case, verdict)
    skill = facts.skill if facts is not None else ""
    title = skill or (facts.name if facts is not None else tool.name)
    who = tool.origin or "The agent"
    wish = f"{who} wants to call {title}" if tool.origin else f"{who} wants to use {title}"
    reasons = [f"Asked because {verdict}.{_TYPED if typed else ''}"]
    # A rule that asks is asked again whatever was granted.
    if verdict.step != ASK_ROW and _is_changed(case):
        reasons.append(_CHANGED)
    if by_panel:
        reasons.append(_BY_PANEL)
    return Question(
        "approval",
        f"The agent wants to use the skill {title}, which {who} offers" if skill else wish,
        call=call_id,
        options=tuple(offer.id for offer in offered),
        approval=AskedCall(
            tool.name,
            title,
            server=tool.origin,
            arguments=case.arguments,
            classes=case.risk.classes,
            reasons=tuple(reasons),
            sources=tuple(case.sources) if verdict.by_foreign else (),
            origins=case.origins,
            claims=_claims(facts),
            offers=offered,
            skill=skill,
        ),
    )


def _is_changed(case: Case) -> bool:
    """Whether grants are of this tool as it was, and none of what it is: a question that was answered for good comes back."""
    facts = case.facts
    if facts is None or facts.skill:
        return False
    mine = (one for one in case.grants if (one.server, one.tool) == (facts.identity, facts.name))
    definitions = {one.definition for one in mine if one.agent in ("", case.agent)}
    return bool(definitions) and facts.definition not in definitions


def _claims(facts: ToolFacts | None) -> tuple[str, ...]:
    """What the server says of the tool, in our words."""
    if facts is None:
        return ()
    said = (
        (facts.read_only is True, "it only reads"),
        (facts.destructive is True, "it may overwrite or delete"),
        (facts.destructive is False and not facts.read_only, "it overwrites and deletes nothing"),
        (facts.open_world is True, "it reaches out to other systems"),
    )
    return tuple(words for is_said, words in said if is_said)


def told(answer: Answer) -> str:
    """What the audit trail says of an answer that is no yes."""
    if answer.is_yes:
        return "unknown option"
    return {"decline": "declined", "cancel": answer.why or "cancelled"}[answer.action]


def refusal(answer: Answer, case: Case, verdict: Verdict) -> str:
    """What the model is told of an answer that is no yes, as the end of a sentence."""
    if answer.is_yes:
        return "the answer was none of those that were offered."
    if answer.action == "decline":
        note = clean_label(answer.note, _LONGEST_NOTE)
        return f"the person declined. They said: {note}" if note else "the person declined."
    match answer.why:
        case "nobody":
            return nobody(case, verdict)
        case "expired":
            return "the question was not answered in time."
        case "withdrawn":
            return "the question was taken back before anybody answered it."
        case _:
            return "the person did not answer."


def nobody(case: Case, verdict: Verdict) -> str:
    """With the command that lets it run: none but a plain yes helps where a rule asks, or for a program after foreign text."""
    lasting = next((offer for offer in offers(case, verdict) if offer.id == "always"), None)
    way = "--yes"
    if lasting is not None:
        (grant,) = (one for one in granted(case, verdict, lasting.id) if one.tool)
        # A value may hold quotes that others chose, and a person copies this into a shell.
        way = f"--allow {quote_word(text_of(case.tool.name, grant.arguments))}"
    elif verdict.step == LAST_ROW:
        way = f"--allow {case.tool.name}"
    command = "openclaw mcp call" if case.surface == "call" else "openclaw agent"
    return f"nobody could be asked. It can be allowed with: {command} {way} (it is asked about because {verdict})"
