"""Completion scripts for shells, made from the command table."""

from collections.abc import Iterator

from openclaw.commands.dispatch import Context
from openclaw.commands.options import SHARED
from openclaw.commands.parse import Command, Parsed


async def run(context: Context, parsed: Parsed) -> int:
    makers = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    context.console.out(makers[parsed.text("shell")](context.root))
    return 0


def _words(root: Command) -> Iterator[tuple[str, list[str]]]:
    """Each command line so far, and the words that may follow it."""

    def visit(command: Command, trail: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
        options = [option.flag for option in (*command.options, *SHARED)]
        choices = [choice for argument in command.arguments for choice in argument.choices]
        shown = [child for child in command.children if not child.hidden]
        yield " ".join(trail), [*(child.name for child in shown), *choices, *options]
        for child in shown:
            yield from visit(child, (*trail, child.name))

    yield from visit(root, ())


def _bash(root: Command) -> str:
    cases = "\n".join(f'        "{trail}") words="{" ".join(words)}";;' for trail, words in _words(root))
    return f"""\
_openclaw() {{
    local trail="" word words=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) ;; *) trail="${{trail:+$trail }}$word";; esac
    done
    case "$trail" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _openclaw openclaw
"""


def _zsh(root: Command) -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash(root)}"


def _fish(root: Command) -> str:
    lines = ["complete -c openclaw -f"]
    for trail, words in _words(root):
        given = trail.split()
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in given) or "__fish_use_subcommand"
        lines += [f"complete -c openclaw -n '{seen}' -a '{word}'" for word in words if not word.startswith("-")]
    return "\n".join(lines) + "\n"
