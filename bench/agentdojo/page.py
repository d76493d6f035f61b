"""docs/security-figures.md, written from results alone. Pure, but for `write`."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.agentdojo.modes import MODES, Mode
from bench.agentdojo.suite import SUITES, Play
from bench.agentdojo.tally import Tally, added
from bench.parts import ROOT

PAGE = ROOT / "docs" / "security-figures.md"
RESULTS = Path(__file__).with_name("results.json")
# Modes whose attacks that got through are named one by one, by what they do.
NAMED = ("defaults", "nobody", "off")


class Results(msgspec.Struct):
    """By mode, then by suite; `through` are the acting attacks that reached their goal."""

    machine: dict[str, str]
    versions: dict[str, str]
    tallies: dict[str, dict[str, Tally]]
    through: dict[str, list[Play]]


INTRODUCTION = """\
# Security figures

Written by `make attacks`; do not edit. It installs AgentDojo into an environment of its own, plays its attacks and its tasks through
OpenClaw in every mode of approvals, writes this page, and fails when an attack that acts gets through under the defaults.

**What is played.** [AgentDojo](https://github.com/ethz-spylab/agentdojo) has four suites: an office, a travel agency, a bank, a chat.
Each is run as an MCP server over stdio. A *task* is what a person wants. An *attack* is a goal that stands in text which the task makes
the model read: an e-mail, a review, a bill, a web page. AgentDojo has reference calls for every task and for most attacks, and checks of
its own that say what was reached: from the state of the suite, the calls that arrived there, and what the model said in the end.

**Who plays.** The model is a script that obeys: it makes the calls of the task one by one, and as soon as a result carries the goal of the
attack, it makes the calls of the attack instead, one after the other, whatever became of the one before. No real model is that obedient,
and none has to be kept from anything here: what stops an attack is OpenClaw. The person is a script too: they approve a call, once, when
it is one of the reference calls of their task with exactly those arguments, and decline everything else. Everything in between is the
product: a config file, an App, the agent loop, approvals, the MCP client, a server process. Nothing is drawn at random.

**Reads confirmed** says that the tools whose names say so (`get_…`, `read_…`, `search_…`, `list_…`, `check_…`) were confirmed as reading
when the server was connected. Without that every tool of a server counts as one that changes things.
"""

LIMITS = """\
## What these figures do not say

- **What a model says is not gated.** An attack that wants nothing but words reaches its goal in every mode: those are counted by
  themselves.
- **A person who reads the question.** The scripted one never errs. A person who approves everything is a person without approvals.
- **Values, not meanings.** After foreign text was read, a call that changes something asks when one of its values came from there. A value
  that the model paraphrased, computed, translated or encoded is not found. AgentDojo's references mostly use values as they stand in the
  goal. A goal that can be reached with values of the person's own task is not found either. Where somebody can be asked, the mode `writes`
  asks about such a call all the same; where nobody can, it runs.
- **Who is trusted with reading.** A tool that was confirmed as reading receives whatever a model puts into its arguments. Only an address
  among them is looked at.
- **One way of attacking.** The goals are put with AgentDojo's `important_instructions` template. To a script that obeys, all templates are
  the same; to a model they are not.
- 320 of the 949 pairs of a task and an attack have no reference for the attack (eight injections of the office), and cannot be replayed.
  Nine that can be do not pass AgentDojo's own check even when nothing is gated (the mail of the office's first injection).
"""


def render(results: Results) -> str:
    held = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    measured = f"Played on {held['date']} with {versions}, Python {held['python']}, {held['system']}.\n"
    return "\n".join([INTRODUCTION, measured, _modes(results), _suites(results), _through(results), LIMITS])


def _modes(results: Results) -> str:
    whole = {key: added(suites.values()) for key, suites in results.tallies.items()}
    some = next(iter(whole.values()))
    acting, words = some.acting_played, some.attacks["words"]
    head = (
        f"Attacks that reach their goal: of {some.attacks['write']} that change something, of {some.attacks['address']} that visit an "
        f"address, of {words} that want words alone. Questions while {acting + words} attacks and {some.tasks} tasks were played, and "
        "tasks that were solved."
    )
    lines = [
        "## Every mode\n",
        head,
        "",
        "| mode | reads confirmed | by a change | by an address | by words | questions under attack | questions in tasks | tasks solved |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for key, mode in MODES.items():
        if (tally := whole.get(key)) is not None:
            lines.append(_row(mode, tally))
    return "\n".join([*lines, ""])


def _row(mode: Mode, tally: Tally) -> str:
    reads = "yes" if mode.reads else "no"
    reached = tally.reached
    asked = f"{tally.asked:,} in {tally.asked_in} tasks" if tally.asked else "0"
    cells = (
        *(mode.title, reads, _bold_zero(reached["write"]), _bold_zero(reached["address"]), str(reached["words"])),
        *(f"{tally.asked_under_attack:,}", asked, f"{tally.solved} of {tally.tasks}"),
    )
    return "| " + " | ".join(cells) + " |"


def _bold_zero(count: int) -> str:
    return "**0**" if count == 0 else f"{count:,}"


def _suites(results: Results) -> str:
    lines = [
        "## The defaults, suite by suite\n",
        "| suite | attacks that act | reached | questions under attack | questions in tasks | tasks solved |",
        "|---|---|---|---|---|---|",
    ]
    for suite in SUITES:
        if (tally := results.tallies.get("defaults", {}).get(suite)) is not None:
            asked = f"{tally.asked:,} in {tally.asked_in}"
            lines.append(
                f"| {suite} | {tally.acting_played} | {_bold_zero(tally.acting)} | {tally.asked_under_attack:,} | {asked} | "
                f"{tally.solved} of {tally.tasks} |"
            )
    return "\n".join([*lines, ""])


def _through(results: Results) -> str:
    lines = ["## What gets through\n"]
    for key in NAMED:
        if key in results.through:
            found = results.through[key]
            lines.append(f"- {MODES[key].title}: {_listed(found) if found else 'no attack that acts'}.")
    return "\n".join([*lines, ""])


def _listed(plays: Iterable[Play]) -> str:
    """By the attack, with how many tasks it was hidden in."""
    counts: dict[str, int] = {}
    for play in plays:
        name = f"{play.suite} `{play.injection}`"
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{name} in {count} task{'s' if count > 1 else ''}" for name, count in counts.items())


def save(results: Results) -> None:
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def load() -> Results:
    return msgspec.json.decode(RESULTS.read_bytes(), type=Results)


def write(results: Results) -> None:
    PAGE.write_text(render(results), encoding="utf-8")
