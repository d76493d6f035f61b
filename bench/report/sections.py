"""What the page shows of each measure: a table with everybody in it, and charts of the cases that tell most. Pure."""

from dataclasses import dataclass

from bench.contenders.entrants import EVERYBODY, FAST_FLOOR, FLOOR, LANGCHAIN, OURS
from bench.measures.connect import GOOD, LIST
from bench.measures.placed import CASES as PLACED_CASES
from bench.measures.recovery import PER_CALL
from bench.placement import PLACES
from bench.report.chart import Bar, bars
from bench.report.words import factor, quantity
from bench.results import Figure, Results

# Everybody who may have a row, in this order.
TITLES: dict[str, str] = {}
for entrant in EVERYBODY:
    TITLES[entrant.key] = entrant.title
    if entrant == LANGCHAIN:
        TITLES[PER_CALL] = f"{entrant.title}, a session for each call"
TITLES |= {"mcp-proxy": "mcp-proxy", "supergateway": "supergateway"}
# What is said of servers, in the order of measures/placed.py.
PLACED = dict(
    zip(
        PLACED_CASES,
        (
            "stdio",
            "stdio, 2026-07-28",
            "HTTP, JSON",
            "HTTP, JSON, 2026-07-28",
            "HTTP, events",
            "HTTP, events, 2026-07-28",
            "server-everything, stdio",
            "server-everything, HTTP",
            "FastMCP 4 server, stdio",
            "FastMCP 4 server, HTTP",
            "TypeScript SDK 2 server, stdio",
            "TypeScript SDK 2 server, HTTP",
        ),
        strict=True,
    )
)
# A ratio that differs by more than this from one place to another depends on it, and is marked.
PLACE_MATTERS = 1.25
MARK = " †"
# Where nothing was asked.
NOTHING = "–"
# What each calls to open a whole list of servers.
LIST_CALLS = ", ".join(f"{e.title} `{e.opens_lists}`" for e in EVERYBODY if e.opens_lists and e != OURS)


@dataclass(frozen=True)
class Column:
    """A case of a measure. `ratio` says which number stands in the cell; with both, the other follows in brackets."""

    case: str
    title: str
    ratio: bool = False
    both: bool = False
    # Of how many servers; how many were usable follows.
    servers: int = 0


@dataclass(frozen=True)
class Chart:
    case: str
    title: str
    subtitle: str
    ratio: bool = True
    servers: int = 0


@dataclass(frozen=True)
class Section:
    title: str
    measures: tuple[str, ...]
    text: str
    columns: tuple[Column, ...]
    charts: tuple[Chart, ...] = ()
    # Cases are rows and there is one column, when only we are measured.
    alone: bool = False
    # Cases are rows and whoever was measured has a column.
    by_case: bool = False


def _ratio(case: str, title: str) -> Column:
    return Column(case, title, ratio=True, both=True)


BOTH = "the floor / the fast floor"
P50 = "median time of one call after warming up, as a ratio to the floor"
# Of a figure that is marked.
MARKED = (
    "† marks a figure that depends on placement: its ratio to the fast floor differs by more than a quarter from one place to "
    "another"
)
SECTIONS = (
    Section(
        "Warm calls",
        ("calls",),
        "One call at a time, 100 digits there and back; over stdio also a JSON document of 1 KB and letters outside ASCII: p50, as a ratio "
        f"to {BOTH}, and absolutely. Client and server are on one core. Everybody was warmed up until its own p50 no longer fell. "
        f"{MARKED}, as the third table shows; some have been measured on one core only.",
        (
            _ratio("stdio", "stdio"),
            _ratio("stdio document", "stdio, a JSON document"),
            _ratio("stdio letters", "stdio, other letters"),
            _ratio("json", "HTTP, JSON"),
            _ratio("events", "HTTP, events"),
            _ratio("everything", "server-everything, stdio"),
        ),
        (
            Chart("stdio", "Warm call over stdio", P50),
            Chart("json", "Warm call over HTTP, answered with JSON", P50),
            Chart("events", "Warm call over HTTP, answered with events", P50),
        ),
    ),
    Section(
        "Warm calls: the slowest of a hundred",
        ("calls",),
        "p99 of the same calls: what collecting garbage, the scheduler and everything else on the machine add.",
        (
            _ratio("stdio p99", "stdio"),
            _ratio("json p99", "HTTP, JSON"),
            _ratio("events p99", "HTTP, events"),
            _ratio("everything p99", "server-everything, stdio"),
        ),
    ),
    Section(
        "Warm calls, wherever client and server run",
        ("placed",),
        "One call at a time against echo servers of both eras and against real servers: p50, as a ratio to the fast floor in the same "
        "round, then absolutely, with p99 and the processor time of the client for each call behind it. Client and server are on one "
        f"core, on one each, or where the system puts them. {MARKED}. The plain clients speak 2025-11-25 but where 2026-07-28 is named, "
        "and so does the TypeScript SDK, which has to be told to find out; mcporter always does. OpenClaw speaks the newest revision that "
        "a server offers.",
        tuple(
            Column(f"{case}, {place}", f"{title}, {place}", ratio=True, both=True)
            for case, title in PLACED.items()
            for place in PLACES
        ),
        by_case=True,
    ),
    Section(
        "Many calls at once",
        ("throughput",),
        f"Calls a second one by one, with 64 in flight on one server, and with 16 on each of 20 servers; as a ratio to {BOTH}, and "
        "absolutely: more is better. Client and server are on one core one by one, and have one each otherwise. Other texts and the "
        "2026-07-28 era have been asked of the fastest alone.",
        (
            _ratio("stdio x1", "stdio, 1"),
            _ratio("stdio x64", "stdio, 64"),
            _ratio("stdio document x64", "stdio, a JSON document, 64"),
            _ratio("stdio letters x64", "stdio, other letters, 64"),
            _ratio("stdio-2026 x64", "stdio, 2026-07-28, 64"),
            _ratio("json x1", "HTTP, JSON, 1"),
            _ratio("json x64", "HTTP, JSON, 64"),
            _ratio("json-2026 x64", "HTTP, JSON, 2026-07-28, 64"),
            _ratio("events x1", "HTTP, events, 1"),
            _ratio("events x64", "HTTP, events, 64"),
            _ratio("events-2026 x64", "HTTP, events, 2026-07-28, 64"),
            _ratio("20 servers x16", "20 stdio servers, 16 each"),
        ),
        (
            Chart("stdio x64", "64 calls in flight, one stdio server", "calls a second: more is better", ratio=False),
            Chart("json x64", "64 calls in flight, one HTTP server", "calls a second: more is better", ratio=False),
            Chart(
                "20 servers x16",
                "16 calls in flight on each of 20 servers",
                "calls a second: more is better",
                ratio=False,
            ),
        ),
    ),
    Section(
        "Processor time of the client, for each call",
        ("calls", "throughput"),
        f"What every call takes from whatever else the program does, as a ratio to {BOTH}, and absolutely: it survives a busy machine. One "
        "call at a time, and many at once.",
        (
            _ratio("stdio cpu", "stdio, 1"),
            _ratio("stdio x64 cpu", "stdio, 64"),
            _ratio("stdio-2026 x64 cpu", "stdio, 2026-07-28, 64"),
            _ratio("json cpu", "HTTP, JSON, 1"),
            _ratio("json x64 cpu", "HTTP, JSON, 64"),
            _ratio("json-2026 x64 cpu", "HTTP, JSON, 2026-07-28, 64"),
            _ratio("events cpu", "HTTP, events, 1"),
            _ratio("events x64 cpu", "HTTP, events, 64"),
            _ratio("events-2026 x64 cpu", "HTTP, events, 2026-07-28, 64"),
            _ratio("20 servers x16 cpu", "20 stdio servers, 16 each"),
        ),
    ),
    Section(
        "From a shell to the first result",
        ("start",),
        "Whole processes, as a ratio to `python -c pass` in the interpreter that OpenClaw is installed in, also for those that run on "
        "Node. A call over stdio starts its server too. mcporter is its command line; the libraries are a short script that connects, "
        "lists the tools and makes one call. OpenClaw's rows are medians of 15 rounds, the others' of the first 5 of them.",
        (
            _ratio("call over stdio", "one call, stdio"),
            _ratio("call over http", "one call, HTTP"),
            _ratio("call through the gateway", "one call through the gateway"),
            _ratio("mcp-server", "mcp-server, to `initialize` answered"),
            _ratio("acp", "acp, to `initialize` answered"),
            _ratio("--version", "--version"),
            Column("-c pass", "-c pass"),
        ),
        (Chart("call over stdio", "One call from a shell, over stdio", "whole process, as a ratio to `-c pass`"),),
    ),
    Section(
        "Large results",
        ("large",),
        f"One result of 1, 10 and 50 MB: seconds as a ratio to {BOTH}, and absolutely. OpenClaw also writes the whole text to a file "
        "and gives the model a part of it. Who takes more than four seconds has one round.",
        tuple(
            _ratio(f"{case} {size} MB", f"{case}, {size} MB") for case in ("stdio", "events") for size in (1, 10, 50)
        ),
        (
            Chart("stdio 10 MB", "A result of 10 MB over stdio", "seconds, as a ratio to the floor"),
            Chart("events 10 MB", "A result of 10 MB as an event stream", "seconds, as a ratio to the floor"),
        ),
    ),
    Section(
        "Large results: how far memory rises",
        ("large",),
        "The highest resident memory while the first large result of a fresh process arrived, above what it was before.",
        tuple(
            Column(f"{case} {size} MB peak", f"{case}, {size} MB")
            for case in ("stdio", "events")
            for size in (1, 10, 50)
        ),
    ),
    Section(
        "Twenty servers, one of them bad",
        ("connect",),
        "Seconds until nineteen good servers have each answered a call, alone and beside a bad one, and how many of them ever did (12 s "
        "were given). Every server is opened by a task of its own, so that nobody waits for anybody: OpenClaw and mcporter do that by "
        "themselves, around the others the harness does. The last column opens all of them as a list, beside the hanging one, with the "
        f"library's own call for that: {LIST_CALLS}; a dash is for who has none. Medians of 3 rounds; OpenClaw, whose figures are "
        "judged, has 9; who waited for a time limit has one in the last column.",
        (
            Column("alone", "nineteen alone", servers=GOOD),
            Column("hanging", "beside a hanging one", servers=GOOD),
            Column("missing", "beside a missing one", servers=GOOD),
            Column("refusing", "beside one that exits", servers=GOOD),
            Column(LIST, "hanging one, opened as a list", servers=GOOD),
        ),
        (
            Chart(
                "hanging",
                "19 servers beside a hanging one, each opened by a task of its own",
                "seconds until the last that answered",
                ratio=False,
                servers=GOOD,
            ),
            Chart(
                LIST,
                "19 servers beside a hanging one, opened by the library's call for a list",
                "seconds until the last that answered",
                ratio=False,
                servers=GOOD,
            ),
        ),
    ),
    Section(
        "After something broke",
        ("recovery",),
        "Whether the next call works, without the program doing anything about it. Everybody keeps its connection open; "
        f"{LANGCHAIN.title} is also asked in the way its documentation begins with, `get_tools()`, which opens a session (for stdio, "
        "starts a process) for each call and so has nothing that could break between two. kill -9 is the worst of eight servers.",
        (
            Column("next call after a crash", "the server crashed"),
            Column("next call after a forgotten session", "it forgot the MCP session"),
            Column("next call after a restart", "it was restarted"),
            Column("error after kill -9", "kill -9, to an error for callers"),
            Column("tools back after the first backoff", "to tools back, after the backoff"),
        ),
    ),
    Section(
        "Memory",
        ("memory",),
        "Resident memory of the client with 20 servers and 1,000 tools, median of 3 fresh processes, and of an idle OpenClaw gateway "
        "with the same. With everything a client started beside the servers: OpenClaw's guardian, which ends servers when a gateway is "
        "killed, counts.",
        (Column("20 servers, 1,000 tools", "20 servers, 1,000 tools"), Column("idle gateway", "idle gateway")),
        (Chart("20 servers, 1,000 tools", "Memory with 20 servers and 1,000 tools", "resident memory", ratio=False),),
    ),
    Section(
        "What a gateway adds to a call",
        ("gateway",),
        "A plain client through the gateway, less the same client directly at the target; p50. OpenClaw is called by `POST "
        "/v1/tools/invoke`, with token, policy, checks and audit; the others pass MCP through. FastMCP is met over HTTP; mcp-proxy and "
        "supergateway turn one transport into the other, so they are met over HTTP for the stdio target and over stdio for the HTTP "
        "target.",
        (Column("stdio", "stdio target"), Column("http", "HTTP target")),
        (
            Chart("stdio", "Added by a gateway, stdio target", "added time of one call, p50", ratio=False),
            Chart("http", "Added by a gateway, HTTP target", "added time of one call, p50", ratio=False),
        ),
    ),
    Section(
        "What approvals add to a call",
        ("approvals",),
        "OpenClaw alone: processor time of one call that needs no question, without the step in which approvals decide, and what that step "
        "adds: the median difference of two turns, and from which to which it may be (95 in 100). In all of them foreign text has been "
        "read. The first tool only reads and reaches nobody, as its trusted server says: 1,000 turns of 100 calls each way. The "
        "second may reach others: its arguments are looked at for hosts. The third is the same of a server that is not trusted, and a "
        "person confirmed that it only reads, which another process may take back. The fourth (100 turns of 1,000 calls) changes things, "
        "and a pattern allows its argument: every value is looked for in the foreign text.",
        (
            Column("reads call", "it only reads and reaches nobody, without"),
            Column("reads added", "added"),
            Column("reads least", "at least"),
            Column("reads most", "at most"),
            Column("looks call", "it only reads, without"),
            Column("looks added", "added"),
            Column("looks least", "at least"),
            Column("looks most", "at most"),
            Column("confirmed call", "a person confirmed that it only reads, without"),
            Column("confirmed added", "added"),
            Column("confirmed least", "at least"),
            Column("confirmed most", "at most"),
            Column("allowed call", "a pattern allows it, without"),
            Column("allowed added", "added"),
            Column("allowed least", "at least"),
            Column("allowed most", "at most"),
        ),
    ),
    Section(
        "What telemetry adds to a call",
        ("telemetry",),
        "OpenClaw alone: processor time of one bridged call (stdio) by our code without the test whether somebody traces, and what that "
        "test adds: the median difference of two turns, and from which to which it may be (95 in 100), of 1,000 turns of 100 calls each "
        "way. Last, what is added to a call that is traced.",
        (
            Column("call", "without"),
            Column("added", "off adds"),
            Column("least", "at least"),
            Column("most", "at most"),
            Column("traced", "on adds"),
        ),
    ),
    Section(
        "Storing what was said",
        ("appends",),
        "OpenClaw alone: one message (of some 100 bytes, and of 10 KB) stored in a turn and acknowledged, and a bare INSERT of the same "
        "bytes, one after the other all the time: in PostgreSQL over the same driver and in an SQLite file, both with fsync. The ratio is "
        "the median of rounds of 100, with the least and the most of them. What is stored in a turn of a fleet is fenced: the database "
        "looks whose turn it is and whether that gateway is alive, and counts, in the same transaction.",
        (
            Column("append", "stored in a turn"),
            Column("insert", "a bare INSERT"),
            Column("ratio", "ratio"),
            Column("least", "at least"),
            Column("most", "at most"),
        ),
        alone=True,
    ),
    Section(
        "Many gateways on one PostgreSQL",
        ("fleet",),
        "OpenClaw alone: turns over HTTP with a model that plays a script, eight conversations at a time at each gateway; gateways, "
        "PostgreSQL (fsync on) and callers all on this one machine. So what runs out is its processors: from two gateways on they share "
        "what there is, and turns a second say nothing of gateways on machines of their own. What carries over is the processor time "
        "of a turn: that of a gateway is spent on its machine, that of PostgreSQL on the database's, which as many gateways keep busy as "
        "their turns a second times that time come to its cores. Database time is what the statements of a turn took, with their waits for "
        "the disk and each other (pg_stat_statements); statements with those of the heartbeat.",
        (
            Column("turns", "turns a second"),
            Column("turn", "a turn"),
            Column("gateways", "processor time of a turn: gateway"),
            Column("postgres", "PostgreSQL"),
            Column("callers", "callers"),
            Column("database", "database time"),
            Column("statements", "statements"),
            Column("wal", "bytes of WAL"),
        ),
        (Chart("turns", "Turns a second, by gateways on this one machine", "all on the same processors", ratio=False),),
        alone=True,
    ),
    Section(
        "What a turn leaves in PostgreSQL",
        ("fleet-room",),
        "Of the same turns, each a question of 78 characters and an answer of 28: bytes of its events, and what the tables with their "
        "indexes grew by; notices to other gateways; and connections of a gateway that is busy.",
        (
            Column("said", "bytes of events in a turn"),
            Column("stored", "bytes the database grew by"),
            Column("notices", "notices a turn"),
            Column("connections", "connections a gateway"),
        ),
    ),
    Section(
        "Growth: a turn in a long session",
        ("turns",),
        "OpenClaw alone: one more turn, without the model, in a session of so many messages; the median of 60 turns of each, in rounds. A "
        "session is shortened when it no longer fits the model's window, so the model sees the messages of the last column.",
        (Column("wall", "a turn"), Column("cpu", "of it, processor time"), Column("seen", "messages the model sees")),
        (Chart("wall", "One more turn, by the messages of its session", "median time without the model", ratio=False),),
        alone=True,
    ),
    Section(
        "Growth: sessions",
        ("sessions",),
        "OpenClaw alone: a page of 50 sessions, the last used first, as `sessions list` and the gateway's page ask for it; and a search "
        "for a word in all titles, which goes through them all, beside turns.",
        (Column("page", "a page"), Column("search", "a search")),
        (Chart("page", "A page of sessions, by how many there are", "median time", ratio=False),),
        alone=True,
    ),
    Section(
        "Growth: the audit trail",
        ("audit",),
        "OpenClaw alone: the last 20 records, and a search, which ends after 100 MB. We keep 60 MB; this trail is real for its last 200 "
        "MB, and what comes before takes no room on the disk (a sparse file).",
        (Column("last", "the last 20 records"), Column("search", "a search")),
        (Chart("last", "The last records of the audit trail, by its size", "median time", ratio=False),),
        alone=True,
    ),
    Section(
        "Growth: a config that changes",
        ("reconcile",),
        "OpenClaw alone: one of so many servers changes in the config. Reading the file is linear in its length; so is taking it over.",
        (Column("read", "read"), Column("change", "taken over")),
        (Chart("change", "A change of one server, by how many there are", "median time", ratio=False),),
        alone=True,
    ),
    Section(
        "Growth: a day of turns",
        ("day",),
        "OpenClaw alone: a gateway that takes the turns of 24 hours as fast as they go, over HTTP, with a tool called in each. How much "
        "memory an hour of them adds, once caches are full: the mean, and from which to which it may be (95 in 100, and no less than a "
        "page of 4 KB either way, in which the system tells it).",
        (
            Column("slope", "added in an hour"),
            Column("slope least", "at least"),
            Column("slope most", "at most"),
            Column("begin", "memory after 2 hours"),
            Column("end", "after 24"),
            Column("turns", "turns"),
            Column("turn", "each takes"),
        ),
    ),
    Section(
        "Growth: memory by the hour",
        ("hours",),
        "Of the same gateway.",
        (Column("memory", "memory"),),
        (Chart("memory", "Memory of a gateway over a day of turns", "resident memory after each hour", ratio=False),),
        alone=True,
    ),
    Section(
        "Growth: servers and tools",
        ("growth",),
        "OpenClaw alone: until all tools are known for the first time, to list them, the first turn of an agent with all of them (its "
        "first request to a model) and the next one, without the model, one call to one of them (p50, on one core as for warm calls), "
        "memory with the guardian's. Medians of 3 fresh processes.",
        (
            Column("known", "all known"),
            Column("listed", "listed"),
            Column("first", "the first turn"),
            Column("next", "the next"),
            Column("call", "a call"),
            Column("rss", "memory"),
        ),
        (
            Chart("first", "The first turn, by the tools there are", "time without the model", ratio=False),
            Chart("next", "One more turn, by the tools there are", "time without the model", ratio=False),
            Chart("call", "One call, by how much there is beside it", "median time of one call", ratio=False),
            Chart("rss", "Memory, by servers and tools", "resident memory of OpenClaw", ratio=False),
        ),
        alone=True,
    ),
)


def table(results: Results, section: Section) -> list[str]:
    """The lines of a table; none when nothing of it was measured."""
    if section.alone:
        return _growth(results, section)
    if section.by_case:
        return _by_case(results, section)
    cases = {column.case for column in section.columns}
    cases |= {f"{column.case} usable" for column in section.columns if column.servers}
    held = {f.who for measure in section.measures for f in results.of(measure) if f.case in cases}
    if not held:
        return []
    held |= {note.who for note in results.notes if note.measure in section.measures}
    people = [who for who in TITLES if who in held]
    columns = [c for c in section.columns if any(_find(results, section, c.case, who) for who in people)]
    head = ["", *(column.title for column in columns)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for who in people:
        cells = [_content(results, section, column, who) + _mark(results, section, column, who) for column in columns]
        name = f"**{TITLES[who]}**" if who == OURS.key else TITLES[who]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return lines


def _mark(results: Results, section: Section, column: Column, who: str) -> str:
    """Behind a figure of one call at a time that is another elsewhere."""
    is_one = section.measures == ("calls",) and _find(results, section, column.case, who) is not None
    return MARK if is_one and depends_on_place(results, column.case.removesuffix(" p99"), who) else ""


def _find(results: Results, section: Section, case: str, who: str) -> Figure | None:
    return next((found for m in section.measures if (found := results.find(m, case, who))), None)


def _content(results: Results, section: Section, column: Column, who: str) -> str:
    if column.servers and (usable := _find(results, section, f"{column.case} usable", who)) is not None:
        return _usable(_find(results, section, column.case, who), usable, column.servers)
    found = _find(results, section, column.case, who)
    return _cell(found, column) if found else _gap(results, section, column.case, who)


def _usable(figure: Figure | None, usable: Figure, servers: int) -> str:
    """How long it took, when it did not take for ever, and for how many."""
    if figure is None:
        return f"none of {servers}"
    return f"{quantity(figure.value, figure.unit)}, {usable.value:.0f} of {servers}"


def _cell(figure: Figure, column: Column) -> str:
    value = quantity(figure.value, figure.unit)
    if not column.ratio or figure.ratio is None:
        return value
    fast = "" if figure.fast is None else f" / {factor(figure.fast)}"
    return f"{factor(figure.ratio)}{fast} ({value})" if column.both else factor(figure.ratio)


def _by_case(results: Results, section: Section) -> list[str]:
    """A row for each case, a column for whoever was measured."""
    people = [who for who in TITLES if any(_find(results, section, c.case, who) for c in section.columns)]
    if not people:
        return []
    head = ["", *(TITLES[who] for who in people)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for column in section.columns:
        found = {who: _find(results, section, column.case, who) for who in people}
        if any(found.values()):
            cells = [_with_tail(results, section, column.case, who, figure) for who, figure in found.items()]
            lines.append("| " + " | ".join([column.title, *cells]) + " |")
    return lines


def _with_tail(results: Results, section: Section, case: str, who: str, figure: Figure | None) -> str:
    """p50 first, with its ratio to the fast floor; then p99 and processor time."""
    if figure is None:
        return _gap(results, section, case, who)
    p99, cpu = (_find(results, section, f"{case} {field}", who) for field in ("p99", "cpu"))
    ratio = "" if figure.fast is None else f"{factor(figure.fast)}: "
    tail = "".join(
        f", {name} {quantity(one.value, one.unit)}" for name, one in (("p99", p99), ("cpu", cpu)) if one is not None
    )
    mark = MARK if depends_on_place(results, case.rpartition(", ")[0], who) else ""
    return f"{ratio}{quantity(figure.value, figure.unit)}{tail}{mark}"


def depends_on_place(results: Results, server: str, who: str) -> bool:
    """Whether somebody's ratio to the fast floor with this server is another from one place to another."""
    figures = [results.find("placed", f"{server}, {place}", who) for place in PLACES]
    found = [figure.fast for figure in figures if figure is not None and figure.fast]
    return bool(found) and max(found) > PLACE_MATTERS * min(found)


def _gap(results: Results, section: Section, case: str, who: str) -> str:
    """`failed` or `skipped` where a note says so; a dash where nothing was asked."""
    for note in results.notes:
        # A note about a case holds for everything that was to be read off it: `stdio` for `stdio p99`.
        is_about = not note.case or case == note.case or case.startswith(f"{note.case} ")
        if note.measure in section.measures and note.who == who and is_about:
            return note.kind
    return NOTHING


def why_missing(results: Results, section: Section) -> list[str]:
    """The reasons behind `failed` and `skipped`, under the table; those of one contender and one wording are one line."""
    cases = [column.case for column in section.columns]
    found: dict[tuple[str, str, str], list[str]] = {}
    for note in results.notes:
        is_shown = not note.case or section.alone or any(c == note.case or c.startswith(f"{note.case} ") for c in cases)
        if note.measure in section.measures and is_shown:
            found.setdefault((note.who, note.kind, note.why), []).extend([note.case] if note.case else [])
    return [
        f"- {TITLES.get(who, who)}{''.join(f', {case}' for case in of)}: {kind}: {_plain(why)}"
        for (who, kind, why), of in found.items()
    ]


def _plain(text: str) -> str:
    """What a program said, as code: nothing in it is markup or a link."""
    return "`" + text.replace("`", "'") + "`"


def _growth(results: Results, section: Section) -> list[str]:
    figures = results.of(section.measures[0])
    fields = {column.case for column in section.columns}
    split = [figure.case.rpartition(" ") for figure in figures]
    cases = list(dict.fromkeys(case for case, _, field in split if field in fields))
    if not cases:
        return []
    head = ["", *(column.title for column in section.columns)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for case in cases:
        found = [(_find(results, section, f"{case} {c.case}", OURS.key), c) for c in section.columns]
        cells = [_cell(figure, column) if figure else NOTHING for figure, column in found]
        lines.append("| " + " | ".join([case, *cells]) + " |")
    return lines


def charts(results: Results, section: Section) -> dict[str, tuple[str, str]]:
    """File name → title and SVG, for the charts whose figures exist."""
    made: dict[str, tuple[str, str]] = {}
    for chart in section.charts:
        rows = _cases(results, section, chart) if section.alone else _people(results, section, chart)
        if sum(row.value is not None for row in rows) > 1:
            file = f"{section.measures[0]}-{chart.case.replace(' ', '-').replace(',', '')}.svg"
            made[file] = (chart.title, bars(chart.title, chart.subtitle, rows))
    return made


def _cases(results: Results, section: Section, chart: Chart) -> list[Bar]:
    """Where only we are measured: a bar for each case."""
    ending = f" {chart.case}"
    found = [figure for figure in results.of(section.measures[0]) if figure.case.endswith(ending)]
    return [Bar(f.case.removesuffix(ending), f.value, quantity(f.value, f.unit), "ours") for f in found if f.value > 0]


def _people(results: Results, section: Section, chart: Chart) -> list[Bar]:
    """A bar for each contender; a row with a word for who failed or was skipped."""
    rows = []
    column = Column(chart.case, "", ratio=chart.ratio, servers=chart.servers)
    for who, title in TITLES.items():
        figure = _find(results, section, chart.case, who)
        value = None if figure is None else figure.ratio if chart.ratio else figure.value
        shown = _content(results, section, column, who)
        if shown != NOTHING:
            kind = {OURS.key: "ours", FLOOR.key: "floor", FAST_FLOOR.key: "floor"}.get(who, "other")
            rows.append(Bar(title, value if value and value > 0 else None, shown, kind))
    return rows
