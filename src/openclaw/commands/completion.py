"""Completion in shells: the script that each is given, and the answer to its Tab key where control/shell_words.py has none at hand.

Owns the scripts, which are short because the program decides what is offered, and the names that can be completed: servers and tools as
they are known, prompts of servers that are up, grants, agents, models and settings of the config, other programs, vendors, conversations of
the store. What was found is kept in a file, from which the next Tab is answered without loading any of this. Starts no server.
"""

import marshal
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import msgspec

from openclaw.commands.approvals import grant_names
from openclaw.commands.dispatch import Context
from openclaw.commands.man_page import man_page
from openclaw.commands.options import SHARED
from openclaw.commands.parse import Argument, Command, Option, Parsed
from openclaw.commands.references import prompt_entries
from openclaw.commands.setting_words import setting_words
from openclaw.config.agents import agent_ids, default_agent
from openclaw.control.shell_words import (
    ARGUMENT,
    GRANT,
    MCP_TOOL,
    PROMPT,
    PROMPT_ARGUMENT,
    SESSION,
    TOOL,
    answer,
    names_file,
    offers,
    sessions,
    stamp,
    typed_words,
)
from openclaw.engine import NATIVE_NAMES, Engine
from openclaw.errors import OpenClawError
from openclaw.files import make_directory, replace
from openclaw.importers.programs import PROGRAMS
from openclaw.log import one_line
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.names import typed_name
from openclaw.models.configured import model_names
from openclaw.models.vendors import VENDORS
from openclaw.version import __version__


async def run(context: Context, parsed: Parsed) -> int:
    shell = parsed.text("shell")
    if shell == "man":
        context.console.out(man_page(context.root, SHARED, __version__))
    else:
        context.console.out({"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell])
    return 0


async def complete(context: Context, parsed: Parsed) -> int:
    """A Tab that nothing was remembered for. Whatever goes wrong, nothing is offered, and nothing said: a person is typing."""
    words = parsed.many("words")
    async with context.open_engine() as engine:
        names, commands = await known_names(engine), tree(context.root, default_agent(engine.config))
        if _wants_prompts(commands, words):
            names = {**names, **await known_prompts(await engine.manager(), default_agent(engine.config))}
    database = str(engine.paths.sessions_file)
    shown = answer(
        commands, lambda kind: sessions(database, commands["agent"]) if kind == SESSION else names.get(kind, {}), words
    )
    context.console.out(shown)
    if context.surface == "terminal":
        # A gateway knows more of its servers than a file would.
        _remember(engine, parsed.text("config"), commands, names)
    return 0


def _wants_prompts(commands: Mapping[str, Any], words: Sequence[str]) -> bool:
    """Whether the line names a prompt: no other Tab asks servers for theirs."""
    kinds: set[str] = set()

    def none_of(kind: str) -> Mapping[str, str]:
        kinds.add(kind)
        return {}

    offers(commands, none_of, typed_words(words))
    return not kinds.isdisjoint((PROMPT, PROMPT_ARGUMENT))


def _remember(engine: Engine, config: str, commands: Mapping[str, Any], names: Mapping[str, Any]) -> None:
    # Grants end, and are given, without a word in the config.
    files = [*engine.config.files, engine.paths.approvals_file]
    made_from = stamp(engine.env, config, [str(path) for path in files])
    kept = {"stamp": made_from, "commands": commands, "names": names}
    try:
        make_directory(engine.paths.data_dir)
        # Numbers, texts, lists and objects alone, in the form that is read quickest.
        replace(FilePath(names_file(engine.env)), marshal.dumps(kept, 4))
    except (OpenClawError, OSError):
        # The next Tab takes as long as this one did.
        return


async def known_names(engine: Engine) -> dict[str, dict[str, str]]:
    """All names by their kinds, each with what is said of it, but for conversations."""
    config, manager = engine.config, await engine.manager()
    return {
        "agent": dict.fromkeys(agent_ids(config), ""),
        "model": dict.fromkeys(model_names(config, engine.env), ""),
        # Where servers are not kept up they are all stopped, which tells nobody anything.
        "server": {
            one.name: one.state if manager.is_eager else "" for one in manager.status() if one.name.isprintable()
        },
        GRANT: grant_names(engine.grants.all()),
        # What can be typed before the names of its prompts are known.
        PROMPT: {
            typed_name(one.name): "" for one in manager.status() if one.state != "disabled" and one.name.isprintable()
        },
        "program": {**{id: one.name for id, one in PROGRAMS.items()}, "all": "every program that has servers here"},
        "vendor": dict.fromkeys(sorted({*VENDORS, *config.root.models.providers}), ""),
        **setting_words(config),
        **tool_names(manager, agent_ids(config)),
    }


async def known_prompts(manager: Manager, agent: str) -> dict[str, dict[str, str]]:
    """The prompts of servers that are up and their arguments behind their names, and by name alone the servers that are not up."""
    listed = await prompt_entries(manager, agent)
    away = [one for one in manager.status(agent) if one.state not in ("ready", "disabled")]
    names = {typed_name(one.name): one.state if manager.is_eager else "" for one in away}
    arguments: dict[str, str] = {}
    for name, entry in listed.items():
        names[name] = entry.description or entry.title or ""
        for one in entry.arguments or []:
            if one.name.isprintable() and " " not in one.name:
                arguments[f"{name} {one.name}"] = one.description or ""
    return {PROMPT: {name: text for name, text in names.items() if name.isprintable()}, PROMPT_ARGUMENT: arguments}


def tool_names(manager: Manager, agents: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Tools as far as their servers have ever listed them, and their arguments behind their names."""
    tools: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for agent in agents:
        for entry in manager.entries(agent):
            if entry.name in tools:
                continue
            tool = manager.tool(entry, agent)
            tools[entry.name] = one_line(tool.description.partition("] ")[2], 80)
            for name, text in argument_names(tool.parameters):
                arguments[f"{entry.name} {name}"] = text
    return {TOOL: {**dict.fromkeys(NATIVE_NAMES, ""), **tools}, MCP_TOOL: tools, ARGUMENT: arguments}


def argument_names(schema: msgspec.Raw) -> list[tuple[str, str]]:
    """The names of a tool's arguments, and what its server says of them."""
    properties = msgspec.json.decode(schema).get("properties")
    if not isinstance(properties, dict):
        return []
    said = {name: part.get("description") if isinstance(part, dict) else "" for name, part in properties.items()}
    # A name is printed as it is, and a line of an answer is a word.
    words = {name: text for name, text in said.items() if name.isprintable() and " " not in name}
    return [(name, text if isinstance(text, str) else "") for name, text in words.items()]


def tree(root: Command, agent: str) -> dict[str, Any]:
    """The commands as plain values. `agent` is the default one, whose name keys are shown without."""
    return {"tree": _node(root), "shared": [_option(one) for one in SHARED], "agent": agent}


def _node(command: Command) -> dict[str, Any]:
    return {
        "summary": command.summary,
        "hidden": command.hidden,
        "default": command.default,
        "children": {child.name: _node(child) for child in command.children},
        "options": [_option(one) for one in command.options],
        "arguments": [_argument(one) for one in command.arguments],
    }


def _option(option: Option) -> dict[str, Any]:
    return {
        "flag": option.flag,
        "short": option.short,
        "help": option.help,
        "value": bool(option.value),
        "many": option.many,
        "names": option.names,
        "choices": list(option.choices),
    }


def _argument(argument: Argument) -> dict[str, Any]:
    # A program and its arguments, of which files are the best guess.
    names = "file" if argument.verbatim else argument.names
    shown = {"names": names, "rest": argument.rest, "choices": list(argument.choices)}
    return {**shown, "verbatim": True} if argument.verbatim else shown


# The program that was typed answers: it may be another than the one on PATH. A line of an answer is a word, and behind a tab what is said
# of it; `:files` stands for the names of files.
_BASH = r"""_openclaw() {
    local program=$1 line
    case $program in "~/"*) program=$HOME/${program#"~/"};; esac
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) compopt -o default 2>/dev/null; COMPREPLY=(); return;;
            *=|*.) compopt -o nospace 2>/dev/null; COMPREPLY+=("$line");;
            ?*) COMPREPLY+=("$line");;
        esac
    done < <("$program" complete -- bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null </dev/null)
}
complete -F _openclaw openclaw
"""

_ZSH = r"""#compdef openclaw
_openclaw() {
    local program=${words[1]/#\~\//$HOME/} line word
    local -i width=0
    local -a lines plain plain_shown open open_shown
    lines=("${(@f)$("$program" complete -- zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
    for line in $lines; do
        word=${line%%$'\t'*}
        (( $#word > width )) && width=$#word
    done
    for line in $lines; do
        word=${line%%$'\t'*}
        # A row each, which zsh would break within a word.
        line=${${:-${(r:width:)word}  ${line#*$'\t'}}[1,COLUMNS-1]}
        case $word in
            :files) _files; return;;
            *=|*.) open+=("$word"); open_shown+=("$line");;
            ?*) plain+=("$word"); plain_shown+=("$line");;
        esac
    done
    (( $#plain )) && compadd -l -d plain_shown -a plain
    (( $#open )) && compadd -l -S '' -d open_shown -a open
}
if [ "$funcstack[1]" = _openclaw ]; then
    _openclaw "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u; }
    compdef _openclaw openclaw
fi
"""

_FISH = r"""function __openclaw_words
    set -l line (commandline -opc) (commandline -ct)
    set -l found ($line[1] complete -- fish $line[2..-1] 2>/dev/null </dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct)
    else if test (count $found) -gt 0
        printf '%s\n' $found
    end
end
complete -c openclaw -e
complete -c openclaw -f -k -a '(__openclaw_words)'
"""
