"""The `openclaw` program: a stub on the standard library alone, so that answering costs no more than it must.

`--version` is answered here. Everything else is done by a running gateway of the same config when there is one (control/remote.py), and
otherwise in this process (cli/local.py).
"""

# The module under `signal`, which is loaded anyway.
import _signal  # type: ignore[import-not-found]
import atexit
import gc
import os
import sys

from openclaw.version import __version__

# Words that are about the gateway itself, or about this terminal: asking a gateway first would only cost time.
_HERE = ("gateway", "chat", "setup", "keys", "mcp-server", "acp", "completion", "complete")
# The words of a command that asks for a secret.
_SECRET = ["keys", "set"]
# Objects made before garbage is looked for. Importing makes tens of thousands, none of which is garbage; and calls leave next to none.
GARBAGE_AFTER = (50_000, 20, 20)


def main() -> int:
    """The exit code; commands that run in this process end it themselves."""
    words = sys.argv[1:]
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        # While modules are loaded there is nothing to clean up, and an exception in the middle of loading one may crash the interpreter:
        # Ctrl-C just ends the program. What has something to clean up puts the handler back.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    if words in (["--version"], ["-V"]):
        try:
            # Not by way of a buffer, which would keep what cannot be written and try once more at the end.
            os.write(1, f"openclaw {__version__}\n".encode())
            return 0
        except OSError:
            # Nobody takes it. The command of that name knows what to say then.
            words = ["--version", "--local"]
    if words[:2] == _SECRET:
        _hide_keys()
    code: int | None = None
    if words[:1] == ["complete"]:
        from openclaw.control import shell_words

        words = shell_words.command_line(words)
        code = shell_words.main(words)
        if code is not None:
            return code
    if words and words[0] not in _HERE and "--local" not in words:
        from openclaw.control.remote import run as run_in_gateway

        code = run_in_gateway(words)
        if code is not None:
            return code
    gc.set_threshold(*GARBAGE_AFTER)
    try:
        if words[:1] == ["mcp-server"]:
            code = _serve_orders(words[1:])
        elif words[:1] == ["acp"]:
            code = _serve_editor(words[1:])
        if code is None:
            from openclaw.cli.local import run
            from openclaw.program import ROOT

            # What is loaded by now stays: it is not counted as made, nor looked at again.
            gc.freeze()
            code = run(words, ROOT)
    except ModuleNotFoundError as error:
        if error.name != "openclaw.cli":
            raise
        os.write(2, b"error: This installation has no command line: the package openclaw.cli is missing.\n")
        code = 1
    _leave(code)
    return code


def _serve_orders(words: list[str]) -> int | None:
    """None where the command line has to say what is wrong: with the words, or that there is no such command without its surface."""
    try:
        from openclaw.mcp_server.command import main as serve_orders
    except ModuleNotFoundError as error:
        if error.name != "openclaw.mcp_server":
            raise
        return None
    return serve_orders(words)


def _serve_editor(words: list[str]) -> int | None:
    """The same for the agent of an editor."""
    try:
        from openclaw.acp.command import main as serve_editor
    except ModuleNotFoundError as error:
        if error.name != "openclaw.acp":
            raise
        return None
    return serve_editor(words)


def _hide_keys() -> None:
    """What is typed is not shown from now on, for a secret may be pasted before its command is loaded and asks for it."""
    from openclaw.control.terminal_modes import unseen_until_ended

    unseen = unseen_until_ended(0)
    unseen.__enter__()
    atexit.register(unseen.__exit__, None, None, None)


def _leave(code: int) -> None:
    """End now: taking a few hundred modules apart in order takes longer than many commands do. What was registered for the end is done."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            # There is none, or nobody reads it any more.
            pass
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
