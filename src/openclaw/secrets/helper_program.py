"""Asking a program for a secret: by argv, with a short environment, within a time, and with what it prints kept out of errors.

Owns how vendors' command lines (`gcloud`, `aws`, `az`) are found and how their failures read. What a configured helper may be is in
`exec.py`. Processes are made by `process/` alone.
"""

import math
from collections.abc import Mapping, Sequence

from openclaw.errors import ProcessError, SecretError
from openclaw.libraries import install
from openclaw.log import one_line
from openclaw.process.environment import child_environment
from openclaw.process.find_program import find_program
from openclaw.process.run import OUTPUT_LIMIT, Finished, run
from openclaw.redact import redact
from openclaw.secrets.provider import ProviderDependencies

# Seconds for a vendor's command line. They take one or two to start, and more to renew a sign-in.
VENDOR_SECONDS = 10.0
# Enough of a complaint to act on.
_COMPLAINT = 300


async def ask(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,
    silence: float = math.inf,
    input: bytes = b"",
    limit: int = OUTPUT_LIMIT,
) -> Finished:
    """Run a program to its end. Raises SecretError when it does not start, does not end in time, says nothing for `silence` seconds, or
    prints too much."""
    name = argv[0].rpartition("/")[2]
    try:
        finished = await run(argv, timeout=timeout, silence=silence, env=env, input=input, output_limit=limit)
    except ProcessError as error:
        raise SecretError(error.message, hint=error.hint) from None
    if finished.silent:
        raise SecretError(f"{name} printed nothing for {silence:g} s")
    if finished.timed_out:
        raise SecretError(f"{name} did not answer within {timeout:g} s")
    if finished.dropped:
        raise SecretError(f"{name} printed more than {limit} bytes")
    return finished


def find_vendor(name: str, dependencies: ProviderDependencies) -> str:
    """The vendor's command line on our search path; empty when it is not installed."""
    try:
        return find_program(
            name, search_path=dependencies.env.get("PATH", ""), suffixes=dependencies.env.get("PATHEXT")
        )
    except ProcessError:
        return ""


async def ask_vendor(argv: Sequence[str], dependencies: ProviderDependencies, *prefixes: str) -> str:
    """What a vendor's command line prints. It is given its own variables, those that start with one of `prefixes`."""
    own = [name for name in dependencies.env if name.startswith(prefixes)]
    child = child_environment(pass_env=own, parent=dependencies.env)
    finished = await ask(argv, env=child.variables, timeout=VENDOR_SECONDS)
    if finished.returncode:
        name = argv[0].rpartition("/")[2]
        raise SecretError(f"{name} failed ({_complaint(finished) or f'exit code {finished.returncode}'})")
    return text_of(finished.stdout)


def _complaint(finished: Finished) -> str:
    """The first line of what a vendor's program says went wrong. These print secrets to standard output only, and that is not shown."""
    lines = finished.stderr.decode("utf-8", "replace").split("\n")
    first = next((line.strip() for line in lines if line.strip()), "")
    return redact(one_line(first, _COMPLAINT)).rstrip(".")


def text_of(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SecretError("it is not text (UTF-8)", hint="Store it as text, encoded if need be.") from None


def missing(program: str, library: str, place: str) -> SecretError:
    return SecretError(
        f"neither the library for {place} nor {program} is installed",
        hint=f"Run: {install(library)}, or install {program} and sign in.",
    )
