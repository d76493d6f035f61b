"""A fleet under blows: many gateways on one PostgreSQL with a standby, killed, frozen, cut off and failed over while callers keep asking.

    python -m parts.fleet_chaos --minutes 10 --seed 7      (PYTHONPATH=tests; or `make chaos-fleet`)

All parts are real: gateways are processes of `openclaw`, each with its own MCP server on stdio that writes down every call it carries out;
the model is a server on the chat-completions wire that calls that tool once in every turn. Callers ask with `POST /v1/runs` under an id of
their own, at any gateway, and ask again elsewhere under the same id until they are told how the run ended. Two triggers in the database
write down who stores what and who takes which conversation from whom. What came of it is a History, which `fleet_history.py` judges at the
end; and what is stored by then, every few seconds: a promise that is surely broken ends the run at once.

A seed gives the same blows at the same times against the same gateways; how all that falls together is up to the machine.
"""

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, get_args

import aiohttp
import asyncpg
import msgspec

from openclaw.content import AssistantMessage, ToolMessage, UserMessage, text_of
from openclaw.fleet.cut_turn import CUT, UNKNOWN_END
from openclaw.sessions.event import Custom, Said, SessionEvent, unpack
from parts import loaded, planned_server
from parts.chaos_proxy import Chaos, ChaosProxy
from parts.command_line import local_model
from parts.fleet_history import Asked, Broken, History, Stored, Taken, broken, broken_so_far, summary
from parts.gateways import READY, Home, home
from parts.model_servers import Answer, Call, ChatServer, Reply
from parts.postgres import PostgresServer
from parts.processes import HANG_GUARD
from parts.talking_model import asked_last, results

GATEWAYS = 8
SESSIONS = 200
# Callers at the same time: a few for each gateway, so that conversations are wanted by two of them now and then.
CALLERS = 40
# Of the gateways, these reach the database through a proxy that can cut and silence them.
PROXIED = 3
# Seconds after which the others take over (presence.py), and how much longer a pause lasts at least and at most.
TTL = 15.0
PAST_TTL = (2.0, 6.0)
# Gateways that are away at the same time, at most: somebody has to take over.
MOST_AWAY = 4
# Seconds between two blows, on average.
BETWEEN = 1.5
# Seconds for one request of a caller before it asks elsewhere, and in all before it gives a turn up.
REQUEST_SECONDS = 3.0
TURN_SECONDS = 120.0
# Seconds before a caller asks again.
ASK_AGAIN = 0.2
# Seconds between two looks at what is stored.
LOOK = 2.0
# Seconds after the start within which it has to be seen that there is no fence.
CAUGHT_WITHIN = 60.0
# How often something is said again that was lost.
SAID_AGAIN = 2

Kind = Literal["kill", "pause", "cut", "sever", "silence", "failover"]
# How often each comes: a failover is planned by itself.
_WEIGHTS: dict[Kind, int] = {"kill": 4, "pause": 3, "cut": 3, "sever": 4, "silence": 1}

# What a gateway says when it is up.
_UP = re.compile(re.escape(READY) + r"(http://127\.0\.0\.1:[0-9]+)")

_WITNESS = """
CREATE SCHEMA witness;
CREATE TABLE witness.stored (session bigint, seq int, writer text, holder text, fence bigint, PRIMARY KEY (session, seq));
CREATE TABLE witness.taken (session bigint, fence bigint, former text, taker text, alive bool, PRIMARY KEY (session, fence));
CREATE FUNCTION witness.name_of(p_id uuid) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT coalesce((SELECT name FROM openclaw.gateway WHERE id = p_id), '')
$$;
CREATE FUNCTION witness.see_stored() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO witness.stored SELECT NEW.session, NEW.seq, current_setting('application_name'), witness.name_of(s.holder), s.fence
    FROM openclaw.session s WHERE s.number = NEW.session;
  RETURN NULL;
END $$;
CREATE FUNCTION witness.see_taken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO witness.taken
    VALUES (NEW.number, NEW.fence, witness.name_of(OLD.holder), witness.name_of(NEW.holder), openclaw.alive(OLD.holder));
  RETURN NULL;
END $$;
CREATE TRIGGER see_stored AFTER INSERT ON openclaw.event FOR EACH ROW EXECUTE FUNCTION witness.see_stored();
CREATE TRIGGER see_taken AFTER UPDATE ON openclaw.session FOR EACH ROW
  WHEN (NEW.fence <> OLD.fence AND OLD.holder IS NOT NULL AND OLD.holder <> NEW.holder) EXECUTE FUNCTION witness.see_taken();
"""


class Blow(msgspec.Struct, frozen=True):
    """`at` seconds after the start this is done to a gateway, for `lasts` seconds."""

    at: float
    kind: Kind
    gateway: int
    lasts: float


def schedule(seed: int, seconds: float, *, failovers: int, only: Sequence[Kind] = ()) -> list[Blow]:
    """The blows of a run. Nobody is struck again before the last blow is over, and never more than a few are away at once."""
    chance = random.Random(seed)
    kinds = {kind: weight for kind, weight in _WEIGHTS.items() if not only or kind in only}
    blows: list[Blow] = []
    at = 1.0
    while at < seconds:
        away = {blow.gateway for blow in blows if blow.at + blow.lasts >= at and blow.lasts}
        kind = chance.choices([*kinds], [*kinds.values()])[0]
        able = [
            number for number in range(GATEWAYS) if number not in away and (number < PROXIED or not _needs_proxy(kind))
        ]
        if len(away) < MOST_AWAY and able:
            blows.append(Blow(at, kind, chance.choice(able), _lasting(kind, chance)))
        at += chance.expovariate(1 / BETWEEN)
    blows += [Blow(seconds * (number + 0.5) / failovers, "failover", -1, 0.0) for number in range(failovers)]
    return sorted(blows, key=lambda blow: blow.at)


def _needs_proxy(kind: Kind) -> bool:
    return kind in ("sever", "silence")


def _lasting(kind: Kind, chance: random.Random) -> float:
    match kind:
        case "pause" | "silence":
            return TTL + chance.uniform(*PAST_TTL)
        case "kill":
            # Back before others take over, or after.
            return chance.choice((chance.uniform(0.0, 3.0), TTL + chance.uniform(*PAST_TTL)))
        case _:
            return 0.0


class Ledger(ChatServer):
    """A model that calls the tool once for every message, with the name of the turn, and then says that it is done."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._chance = random.Random(seed)

    def reply_to(self, asked: dict[str, Any]) -> Reply:
        # It is asked thousands of times.
        self.requests.clear()
        self.bodies.clear()
        self.headers.clear()
        found = re.search(r"turn (\S+)", asked_last(asked))
        assert found is not None
        turn = found[1]
        spoken = asyncio.Event()
        asyncio.get_running_loop().call_later(self._thinking(), spoken.set)
        if results(asked):
            return Answer([spoken, f"done {turn}"])
        return Answer([spoken, "Let me count."], calls=[Call(f"call-{turn}", "ledger__count", {"key": turn})])

    def _thinking(self) -> float:
        """Seconds. Now and then a long time, so that blows hit the middle of turns."""
        return self._chance.choice((0.0, 0.05, 0.2, self._chance.uniform(0.2, 2.0)))


class Cluster:
    """Two PostgreSQL, one the synchronous standby of the other. `url` names both, and leads to whichever is the primary."""

    def __init__(self, primary: PostgresServer, standby: PostgresServer, database: str) -> None:
        self._servers = (primary, standby)
        self._primary, self._standby = primary, standby
        self._database = database
        self._busy = asyncio.Lock()

    @property
    def ports(self) -> tuple[int, int]:
        """Of both, always in the same order."""
        return self._servers[0].port, self._servers[1].port

    def url(self, ports: Sequence[int] = (), **options: str) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports or self.ports)
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgres://{self._primary.user}@{hosts}/{self._database}?target_session_attrs=read-write{more}"

    async def execute(self, statement: str, *values: object) -> None:
        connection = await asyncpg.connect(self._primary.url(self._database))
        try:
            await connection.execute(statement, *values)
        finally:
            await connection.close()

    async def fetch(self, statement: str, *values: object) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self._primary.url(self._database))
        try:
            return list(await connection.fetch(statement, *values))
        finally:
            await connection.close()

    async def fail_over(self) -> None:
        """The primary is gone at once, the standby takes its place, and what was the primary comes back as its standby."""
        async with self._busy:
            await asyncio.to_thread(self._primary.kill)
            await self._standby.promote()
            self._primary, self._standby = self._standby, self._primary
            await asyncio.to_thread(self._standby.follow, self._primary)
            await asyncio.to_thread(self._standby.start)
            await self._primary.wait_for_standby()


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    with PostgresServer() as primary:
        url = await primary.new_database()
        with PostgresServer(copy_of=primary) as standby:
            await primary.wait_for_standby()
            yield Cluster(primary, standby, url.rpartition("/")[2])


class Member:
    """One gateway: its process, which comes back on the same state directory, and where it is asked."""

    def __init__(self, name: str, place: Home, calls: Path, proxies: Sequence[ChaosProxy]) -> None:
        self.name = name
        self.place = place
        self.calls = calls
        self.proxies = proxies
        self.url = ""
        self.struck = asyncio.Lock()
        self._log = place.state / "said.log"
        self._process: Any = None

    async def start(self) -> None:
        with self._log.open("ab") as log:
            begun = log.tell()
            words = [*loaded.PROGRAM, "gateway", "run"]
            self._process = loaded.begin(words, env=self.place.env, cwd=self.place.state, stderr=log.fileno())
        async with asyncio.timeout(HANG_GUARD):
            while (up := _UP.search(self._said(begun))) is None:
                # Looked at anew: what it said last may have come since.
                assert (code := self._process.poll()) is None, f"{self.name} ended with {code}: {self._said(begun)}"
                await asyncio.sleep(0.05)
        self.url = up[1]

    def _said(self, begun: int) -> str:
        return self._log.read_bytes()[begun:].decode("utf-8", "replace")

    async def kill(self) -> None:
        self.url = ""
        self._process.kill()
        await asyncio.to_thread(self._process.wait)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def stop(self) -> None:
        self.send(signal.SIGCONT)
        self._process.terminate()
        await asyncio.to_thread(self._process.wait)

    def cleanup(self) -> None:
        if self._process is not None:
            self.send(signal.SIGCONT)
            self._process.kill()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.place.token}"}


class Told(msgspec.Struct, frozen=True):
    """How a run ended, as its caller was told; empty when nobody told it."""

    reason: str = ""


class Callers:
    """They say things in random conversations, and remember what they were told."""

    def __init__(self, seed: int, members: Sequence[Member], client: aiohttp.ClientSession) -> None:
        self._chance = random.Random(seed)
        self._members = members
        self._client = client
        self._count = 0
        self._seed = seed
        self.asked: list[Asked] = []
        self.reasons: Counter[str] = Counter()

    async def call(self, until: Callable[[], bool]) -> None:
        while not until():
            session = f"s{self._chance.randrange(SESSIONS)}"
            for _ in range(SAID_AGAIN + 1):
                if await self.say(session):
                    break

    async def say(self, session: str) -> bool:
        """One turn, under a name that nobody had before. Whether its caller was told that it is done."""
        self._count += 1
        turn = f"{self._seed}-{self._count}"
        reason = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(TURN_SECONDS):
                while not reason:
                    reason = await self._ask(turn, session)
                    if not reason:
                        await asyncio.sleep(ASK_AGAIN)
        self.asked.append(Asked(turn, session, reason == "done"))
        self.reasons[reason or "never told"] += 1
        return reason == "done"

    async def _ask(self, turn: str, session: str) -> str:
        """Begin the run at some gateway, or find it there, and watch it. How it ended; empty when that was not heard."""
        able = [member for member in self._members if member.url]
        if not able:
            return ""
        member = self._chance.choice(able)
        url = f"{member.url}/v1/runs"
        body = {"id": turn, "message": f"turn {turn}", "sessionKey": session}
        try:
            async with self._client.post(url, json=body, headers=member.headers) as answer:
                if answer.status != 202:
                    return ""
                state = await answer.json()
            if state["state"] == "over":
                return str(state["reason"])
            async with self._client.get(f"{url}/{turn}/events", headers=member.headers) as events:
                ended = False
                async for raw in events.content:
                    line = raw.decode().strip()
                    if line == "event: ended":
                        ended = True
                    elif ended and line.startswith("data: "):
                        return str(json.loads(line.removeprefix("data: "))["reason"])
        except (aiohttp.ClientError, OSError, TimeoutError):
            pass
        return ""


class Outcome(msgspec.Struct, frozen=True):
    """`stuck` are the conversations that could not be gone on with when all was quiet again, and who has them.

    `caught`: so many seconds after the start a promise was seen to be broken, which ended the run; None: it went on to its end.
    """

    seed: int
    seconds: float
    history: History
    blows: dict[str, int]
    reasons: dict[str, int]
    stuck: tuple[str, ...]
    caught: float | None

    @property
    def broken(self) -> list[Broken]:
        # A run that was cut short says nothing about what was asked for at that moment.
        return broken(self.history) if self.caught is None else broken_so_far(self.history)

    def __str__(self) -> str:
        blows = " · ".join(f"{kind} {count}" for kind, count in sorted(self.blows.items()))
        told = " · ".join(f"{reason} {count:,}" for reason, count in sorted(self.reasons.items()))
        lines = [
            f"seed {self.seed}, {self.seconds:.0f} s, {GATEWAYS} gateways, {SESSIONS} conversations, {CALLERS} callers",
            f"blows: {blows}",
            f"told: {told}",
            f"{summary(self.history, self.broken)} · stuck {len(self.stuck)}",
            *([] if self.caught is None else [f"caught after {self.caught:.0f} s: the run ended there"]),
            *(f"  {one.kind}: {one.what}" for one in self.broken[:20]),
            *(f"  stuck: {one}" for one in self.stuck),
        ]
        return "\n".join(lines)


Prepare = Callable[[Cluster], Awaitable[None]]


async def run(
    folder: Path,
    *,
    seconds: float,
    seed: int,
    failovers: int = 1,
    only: Sequence[Kind] = (),
    prepare: Prepare | None = None,
) -> Outcome:
    """`prepare` is given the database before anybody uses it."""
    began = time.monotonic()
    caught: float | None = None
    stuck: tuple[str, ...] = ()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(cluster())
        await database.execute(_WITNESS)
        if prepare is not None:
            await prepare(database)
        model = await stack.enter_async_context(Ledger(seed))
        members = [await _member(stack, folder, number, database, model) for number in range(GATEWAYS)]
        for member in members:
            stack.callback(member.cleanup)
        await asyncio.gather(*(member.start() for member in members))
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS, sock_read=REQUEST_SECONDS)
        connector = aiohttp.TCPConnector(limit=0)
        client = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout, connector=connector))
        callers = Callers(seed, members, client)
        blows = schedule(seed, seconds, failovers=failovers, only=only)
        witness = Witness(database)
        seen = asyncio.create_task(witness.broken())
        told = asyncio.create_task(_told(blows, seed, members, database, callers))
        try:
            await asyncio.wait({seen, told}, return_when=asyncio.FIRST_COMPLETED)
            if told.done():
                stuck = told.result()
                await asyncio.gather(*(member.stop() for member in members))
            else:
                seen.result()
                caught = time.monotonic() - began
        finally:
            for task in (seen, told):
                task.cancel()
            await asyncio.gather(seen, told, return_exceptions=True)
        await witness.look()
        history = witness.history(callers.asked, [member.calls for member in members])
    kinds = Counter(str(blow.kind) for blow in blows)
    return Outcome(seed, time.monotonic() - began, history, dict(kinds), dict(callers.reasons), stuck, caught)


async def _told(
    blows: Sequence[Blow], seed: int, members: Sequence[Member], database: Cluster, callers: Callers
) -> tuple[str, ...]:
    """The whole run from the first blow on. The conversations that were stuck in the end."""
    calm = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(callers.call(calm.is_set))
        await asyncio.gather(*(_strike(blow, members, database, random.Random(seed)) for blow in blows))
        calm.set()
    # Everybody is back: every conversation goes on by itself.
    done = await _each(range(SESSIONS), lambda number: callers.say(f"s{number}"))
    return await _stuck(database, {f"s{number}" for number in range(SESSIONS) if not done[number]})


async def _each(numbers: Sequence[int], work: Callable[[int], Awaitable[bool]]) -> list[bool]:
    """Of all, as many at a time as there are callers."""
    slots = asyncio.Semaphore(CALLERS)

    async def one(number: int) -> bool:
        async with slots:
            return await work(number)

    return await asyncio.gather(*map(one, numbers))


async def _member(stack: AsyncExitStack, folder: Path, number: int, database: Cluster, model: Ledger) -> Member:
    name = f"g{number}"
    proxies: list[ChaosProxy] = []
    if number < PROXIED:
        proxies = [await stack.enter_async_context(ChaosProxy(port)) for port in database.ports]
    (own := folder / name).mkdir(parents=True)
    calls, plan = own / "calls.log", own / "plan.json"
    calls.touch()
    plan.write_text(json.dumps({"tools": [planned_server.tool("count")]}))
    place = stack.enter_context(home(own, env={"TOKEN_KEY": "correct horse battery staple"}))
    url = database.url([proxy.port for proxy in proxies], application_name=name)
    # What the fleet calls it: the name of its host, and this.
    place.paths.data_dir.mkdir(parents=True, exist_ok=True)
    (place.paths.data_dir / "gateway-id").write_text(name)
    arguments = ["-S", "-E", planned_server.__file__, str(plan), str(calls)]
    place.save(
        {
            "session": {"store": "postgres", "postgres": {"url": url, "poolSize": 4}},
            "tokenStore": {"key": "secret://env/TOKEN_KEY"},
            "tools": {"approval": {"mode": "off", "taint": "off"}},
            "mcp": {"servers": {"ledger": {"command": sys.executable, "args": arguments}}},
            **local_model(model.url, model.key),
        }
    )
    return Member(name, place, calls, proxies)


async def _strike(blow: Blow, members: Sequence[Member], database: Cluster, chance: random.Random) -> None:
    await asyncio.sleep(blow.at)
    if blow.kind == "failover":
        await database.fail_over()
        return
    member = members[blow.gateway]
    # The last blow may take longer than was planned: a busy machine takes its time to start a gateway.
    async with member.struck:
        await _hit(member, blow, database, chance)


async def _hit(member: Member, blow: Blow, database: Cluster, chance: random.Random) -> None:
    match blow.kind:
        case "kill":
            await member.kill()
            await asyncio.sleep(blow.lasts)
            await member.start()
        case "pause":
            member.send(signal.SIGSTOP)
            await asyncio.sleep(blow.lasts)
            member.send(signal.SIGCONT)
        case "cut":
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await database.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", member.name
                )
        case "sever":
            # In the middle of the next answer of the database, so that nobody knows whether it did what it was asked for.
            for proxy in member.proxies:
                proxy.allow(down=chance.randint(1, 200))
        case "silence":
            for proxy in member.proxies:
                proxy.freeze()
                proxy.plan = Chaos(stall_up=0, stall_down=0)
            await asyncio.sleep(blow.lasts)
            for proxy in member.proxies:
                proxy.plan = Chaos()
                proxy.cut()


async def _stuck(database: Cluster, sessions: set[str]) -> tuple[str, ...]:
    """These conversations, with whoever has them."""
    rows = await database.fetch(
        "SELECT key, witness.name_of(holder) AS holder, openclaw.alive(holder) AS alive, fence FROM openclaw.session"
    )
    return tuple(
        f"{session}: turn {row['fence']} of {_short(row['holder']) or 'nobody'}, {'alive' if row['alive'] else 'dead'}"
        for row in rows
        if (session := bytes(row["key"]).decode().rpartition(":")[2]) in sessions
    )


class Witness:
    """What the database holds, read as it grows: events are never changed, and those of one conversation come in their order."""

    def __init__(self, database: Cluster) -> None:
        self._database = database
        # Of each conversation.
        self._stored: dict[int, list[Stored]] = {}
        self._taken: list[Taken] = []

    async def broken(self) -> None:
        """Returns when a promise is surely broken."""
        while True:
            await asyncio.sleep(LOOK)
            # Between a primary and the next there is nobody to ask.
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
                fresh = await self.look()
                if broken_so_far(
                    History((), [one for number in fresh for one in self._stored[number]], (), self._taken)
                ):
                    return

    async def look(self) -> list[int]:
        """Read what is new. The conversations in which something is."""
        known = list(self._stored)
        rows = await self._database.fetch(
            "SELECT e.session, s.key, e.body, w.writer, w.holder, w.fence FROM openclaw.event e"
            " JOIN openclaw.session s ON s.number = e.session"
            " LEFT JOIN witness.stored w ON w.session = e.session AND w.seq = e.seq"
            " LEFT JOIN unnest($1::bigint[], $2::int[]) AS known (session, count) ON known.session = e.session"
            " WHERE e.seq > coalesce(known.count, 0) ORDER BY e.session, e.seq",
            *(known, [len(self._stored[number]) for number in known]),
        )
        taken = await self._database.fetch(
            "SELECT s.key, t.fence, t.former, t.taker, t.alive FROM witness.taken t"
            " JOIN openclaw.session s ON s.number = t.session ORDER BY t.session, t.fence"
        )
        for row in rows:
            turn, part, says_done = _part(unpack(row["body"], ()))
            session = bytes(row["key"]).decode().rpartition(":")[2]
            self._stored.setdefault(row["session"], []).append(
                Stored(session, turn, part, row["writer"], _short(row["holder"]), row["fence"], says_done=says_done)
            )
        self._taken = [
            Taken(bytes(row["key"]).decode(), row["fence"], _short(row["former"]), _short(row["taker"]), row["alive"])
            for row in taken
        ]
        return sorted({row["session"] for row in rows})

    def history(self, asked: Sequence[Asked], calls: Sequence[Path]) -> History:
        carried_out = [
            line.removeprefix("count ")
            for file in calls
            for line in file.read_text().splitlines()
            if line.startswith("count ")
        ]
        return History(asked, [one for stored in self._stored.values() for one in stored], carried_out, self._taken)


def _short(name: str) -> str:
    """A gateway's name in the fleet without that of its host."""
    return name.rpartition(":")[2]


def _part(event: SessionEvent) -> tuple[str, Any, bool]:
    """Of which turn something is which part; and of a result, whether it says that the call was carried out."""
    match event:
        case Said(UserMessage(content=content)) if found := re.fullmatch(r"turn (\S+)", text_of(content).strip()):
            return found[1], "asked", False
        case Said(AssistantMessage() as message) if message.tool_calls:
            return message.tool_calls[0].id.removeprefix("call-"), "called", False
        case Said(AssistantMessage() as message) if found := re.fullmatch(r"done (\S+)", message.text):
            return found[1], "answer", False
        case Said(ToolMessage() as message) if text_of(message.content) == UNKNOWN_END:
            return "", "closing", False
        case Said(ToolMessage() as message):
            return message.call_id.removeprefix("call-"), "result", not message.is_error
        case Custom(name=name) if name == CUT:
            return "", "closing", False
        case _:
            return "", "note", False


async def break_fence(database: Cluster) -> None:
    """Let `append` store behind all that is there, for whoever asks, and `beat` never say that a gateway is no more."""
    wherever = "BEGIN\n  SELECT s.events INTO p_at FROM openclaw.session s WHERE s.number = p_number FOR UPDATE;\n"
    for function, check, instead in (
        ("append", "BEGIN\n", wherever),
        ("append", " AND s.fence = p_fence AND s.holder = p_me", ""),
        ("append", "IF NOT openclaw.alive(p_me) THEN", "IF false THEN"),
        ("beat", "RETURN FOUND", "RETURN true"),
    ):
        [row] = await database.fetch(f"SELECT pg_get_functiondef('openclaw.{function}'::regproc) AS body")
        body = str(row["body"])
        assert check in body
        await database.execute(body.replace(check, instead))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(2)))
    parser.add_argument("--only", nargs="*", choices=get_args(Kind), default=())
    parser.add_argument("--failovers", type=int, help="how many; one in about two minutes unless told otherwise")
    parser.add_argument(
        "--broken-fence", action="store_true", help="take the fence away, to see that it is missed within a minute"
    )
    parser.add_argument("--keep", type=Path, help="a folder that stays, with the logs of all gateways")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp(prefix="openclaw-chaos-"))
    failovers = round(given.minutes / 2) if given.failovers is None else given.failovers
    try:
        outcome = asyncio.run(
            run(
                folder,
                seconds=60 * given.minutes,
                seed=given.seed,
                failovers=failovers,
                only=given.only,
                prepare=break_fence if given.broken_fence else None,
            )
        )
    finally:
        if given.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(outcome, flush=True)
    if given.broken_fence:
        return 0 if outcome.caught is not None and outcome.caught <= CAUGHT_WITHIN else 1
    return 1 if outcome.broken or outcome.stuck else 0


if __name__ == "__main__":
    sys.exit(main())
