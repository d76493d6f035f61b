"""Command lines as data: a tree of `Command` values, and one parser for all surfaces.

Serves `openclaw …` in a terminal, the same words sent to a gateway, and `/mcp …` typed in chat. Owns the grammar (subcommands,
options anywhere, `--` ends them, repeated options, trailing words) and the help text; refuses to know what commands do.
The standard library's parsers print and exit the process, which a gateway cannot allow. The commands are in table.py, and in the table
of each surface.
"""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Literal

import msgspec

from openclaw.config.wording import closest, nearest
from openclaw.errors import UsageError

# What a value names, so that it can be completed: the names that are known, or files.
Names = Literal[
    "",
    "server",
    "tool",
    "mcp-tool",
    "argument",
    "prompt",
    "prompt-argument",
    "grant",
    "session",
    "agent",
    "model",
    "file",
    "program",
    "vendor",
    "setting",
    "value",
]


class Option(msgspec.Struct, frozen=True):
    """`--name VALUE`, or a flag when `value` is empty. `many` collects repeats into a tuple. `names` says what a value names."""

    name: str
    help: str
    value: str = ""
    short: str = ""
    many: bool = False
    kind: Literal["text", "int", "float"] = "text"
    choices: tuple[str, ...] = ()
    names: Names = ""

    @property
    def flag(self) -> str:
        return f"--{self.name}"


class Argument(msgspec.Struct, frozen=True):
    """A positional word. `rest` takes all words that remain; `verbatim` is a command line, whose options are its own, or an address."""

    name: str
    help: str
    required: bool = True
    rest: bool = False
    verbatim: bool = False
    choices: tuple[str, ...] = ()
    names: Names = ""

    @property
    def usage(self) -> str:
        word = self.name.upper() + (" …" if self.rest else "")
        return word if self.required else f"[{word}]"


class Command(msgspec.Struct, frozen=True):
    """One word of the command tree. `handler` is `module:function`, loaded when it is run; a group has children instead. `help_handler` is
    the same for `--help` with words before it: what they name is explained, and they are the value `about`.

    `default` names the child that runs when none is given. `local` marks commands that belong to this terminal or process
    and are never sent to a gateway. `hidden` marks those that programs use and nobody types: help does not list them. One that `means`
    other words stands for them, beside which it stands: the words are put in its place, unless it has a handler of its own.
    `stays` marks those that run until somebody ends them: nobody waits for them.
    """

    name: str
    summary: str
    handler: str = ""
    details: str = ""
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    children: tuple["Command", ...] = ()
    default: str = ""
    local: bool = False
    means: tuple[str, ...] = ()
    hidden: bool = False
    help_handler: str = ""
    stays: bool = False

    def child(self, name: str) -> "Command | None":
        return next((c for c in self.children if c.name == name), None)


class Parsed(msgspec.Struct, frozen=True):
    """What was asked for: the command, the words that lead to it, and its values by option or argument name."""

    command: Command
    trail: tuple[str, ...]
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def text(self, name: str) -> str:
        return str(self.values.get(name) or "")

    def flag(self, name: str) -> bool:
        return bool(self.values.get(name))

    def number(self, name: str) -> float | None:
        """A number that is not negative. Raises UsageError."""
        value = self.values.get(name)
        # Said this way round, it refuses `nan` too.
        if value is not None and not value >= 0:
            raise UsageError(f"--{name} needs a number from 0 on; {value:g} is not one.")
        return None if value is None else float(value)

    def count(self, name: str, default: int) -> int:
        """A whole number that is not negative. Raises UsageError."""
        value = self.values.get(name)
        if value is not None and value < 0:
            raise UsageError(f"--{name} cannot be negative.")
        return default if value is None else int(value)

    def many(self, name: str) -> tuple[str, ...]:
        return tuple(self.values.get(name) or ())


def parse(root: Command, words: Sequence[str], shared: Sequence[Option] = ()) -> Parsed:
    """Read `words` against the tree under `root`. `shared` options may stand anywhere. Raises UsageError."""
    command, trail, rest = _descend(root, words, shared)
    options = {o.flag: o for o in (*shared, *command.options)} | {
        o.short: o for o in (*shared, *command.options) if o.short
    }
    values: dict[str, Any] = {}
    positional: list[str] = []
    verbatim = any(a.verbatim for a in command.arguments)
    # How many words stand before that command line.
    before = sum(not a.rest for a in command.arguments)
    queue = list(rest)
    while queue:
        word = queue.pop(0)
        if word == "--":
            # Inside a command line it is one of its words: `npm run start -- --port 80`.
            positional += [word, *queue] if verbatim and len(positional) > before else queue
            break
        if verbatim and len(positional) > before and "://" not in positional[before]:
            # The program's own, also where ours is called the same: another `--config`, another `--yes`.
            positional += [word, *queue]
            break
        if not word.startswith("-") or word == "-" or _is_number(word):
            positional.append(word)
            continue
        option, inline = _option(word, options)
        if option is None:
            if verbatim and positional:
                positional.append(word)
                continue
            raise _no_option(_line(root, trail), word, list(options))
        _take(option, inline, queue, values)
    if not values.get("help"):
        values |= _positional(command, positional, _line(root, trail))
    elif command.help_handler:
        values["about"] = tuple(positional)
    return Parsed(command, trail, values)


def _descend(
    root: Command, words: Sequence[str], shared: Sequence[Option]
) -> tuple[Command, tuple[str, ...], tuple[str, ...]]:
    """Follow subcommand words; options before them are kept for the command that is found."""
    command = root
    trail: tuple[str, ...] = ()
    kept: list[str] = []
    queue = list(words)
    asked_help = False
    while command.children and queue:
        word = queue[0]
        fallback = command.child(command.default) if command.default else None
        known = (*shared, *(fallback.options if fallback else ()))
        if word.startswith("-"):
            kept.append(queue.pop(0))
            asked_help = asked_help or word in ("-h", "--help")
            option = next((o for o in known if word in (o.flag, o.short)), None)
            if option is not None and option.value and queue:
                kept.append(queue.pop(0))
            continue
        child = command.child(word)
        if child is not None and child.means and not child.handler:
            queue[0:1] = child.means
            continue
        if child is None and word == "help":
            queue[0] = "--help"
            continue
        if child is None:
            if fallback and fallback.arguments:
                break
            if (unknown := _known_to_none(kept, command, shared)) is not None:
                # What stands behind it is its value, and no command.
                raise _no_option(_line(root, trail), unknown, [o.flag for o in known])
            hint = _of_all(word, root, command) or _meant(word, command) or f"Try: {_line(root, trail)} --help"
            raise UsageError(f"{_line(root, trail)}: there is no command {word!r}.", hint=hint)
        command, trail = child, (*trail, child.name)
        queue.pop(0)
    if command.children and command.default and not asked_help:
        command = command.child(command.default) or command
        trail = (*trail, command.name)
    return command, trail, (*kept, *queue)


def _known_to_none(words: Sequence[str], group: Command, shared: Sequence[Option]) -> str | None:
    """The first of these words that is an option of no command of a group."""
    every = [*shared, *(option for child in group.children for option in child.options)]
    known = {o.flag: o for o in every} | {o.short: o for o in every if o.short}
    return next((word for word in words if word.startswith("-") and _option(word, known)[0] is None), None)


def _of_all(word: str, root: Command, command: Command) -> str:
    """A hint at the command of this word that stands first, where it was typed behind the name of a group: `mcp doctor`."""
    first = root.child(word) if command is not root else None
    if first is None:
        return ""
    return f'Did you mean "{root.name} {" ".join(first.means) or word}"?'


def _meant(word: str, command: Command) -> str:
    """A hint at the command that a misspelt word was to be; of a word that other programs have, at what it means here."""
    if near := nearest(word, [child.name for child in command.children if not child.hidden]):
        return near
    meanings = {child.name: " ".join(child.means) for child in command.children if child.hidden and child.means}
    found = closest(word, [*meanings])
    return f'Did you mean "{meanings[found]}"?' if found else ""


def _no_option(line: str, word: str, known: Sequence[str]) -> UsageError:
    hint = nearest(word, known) or f"Try: {line} --help"
    return UsageError(f"{line}: there is no option {word.split('=')[0]}.", hint=hint)


def _option(word: str, options: Mapping[str, Option]) -> tuple[Option | None, str | None]:
    if word in options:
        return options[word], None
    if word.startswith("--") and "=" in word:
        name, _, value = word.partition("=")
        return options.get(name), value
    if not word.startswith("--") and len(word) > 2 and (short := options.get(word[:2])) is not None and short.value:
        return short, word[2:]
    return None, None


def _take(option: Option, inline: str | None, queue: list[str], values: dict[str, Any]) -> None:
    if not option.value:
        if inline is not None:
            raise UsageError(f"{option.flag} takes no value.")
        values[option.name] = True
        return
    if inline is None:
        if not queue:
            raise UsageError(f"{option.flag} needs a value: {option.flag} {option.value}")
        inline = queue.pop(0)
    if option.choices and inline not in option.choices:
        raise UsageError(f"{option.flag} is one of {', '.join(option.choices)}; {inline!r} is not.")
    value: Any = inline
    if option.kind != "text":
        try:
            value = int(inline) if option.kind == "int" else float(inline)
        except ValueError:
            raise UsageError(f"{option.flag} needs a number; {inline!r} is not one.") from None
    if option.many:
        values[option.name] = (*values.get(option.name, ()), value)
    else:
        values[option.name] = value


def _positional(command: Command, words: list[str], line: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for argument in command.arguments:
        if argument.rest:
            if argument.required and not words:
                raise UsageError(f"{line}: {argument.usage} is missing.", hint=f"Try: {line} --help")
            values[argument.name], words = tuple(words), []
        elif words:
            word = words.pop(0)
            if argument.choices and word not in argument.choices:
                hint = nearest(word, argument.choices)
                raise UsageError(f"{line}: {argument.usage} is one of {', '.join(argument.choices)}.", hint=hint)
            values[argument.name] = word
        elif argument.required:
            raise UsageError(f"{line}: {argument.usage} is missing.", hint=f"Try: {line} --help")
    if words:
        raise UsageError(f"{line}: {words[0]!r} is one word too many.", hint=f"Try: {line} --help")
    return values


def _is_number(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdigit()


def _line(root: Command, trail: Sequence[str]) -> str:
    return " ".join((root.name, *trail))


def usage(root: Command, parsed: Parsed) -> str:
    """`openclaw mcp call TOOL [WORDS …] [options]`."""
    command = parsed.command
    words = [_line(root, parsed.trail)]
    if command.children:
        words.append("COMMAND")
    words += [a.usage for a in command.arguments]
    return " ".join(words + (["[options]"] if command.options else []))


def help_text(root: Command, parsed: Parsed, shared: Sequence[Option], width: int = 80) -> str:
    """The page `--help` prints."""
    command = parsed.command
    lines = [f"Usage: {usage(root, parsed)}", "", command.summary]
    if command.details:
        lines += ["", *command.details.strip().splitlines()]
    blocks: list[tuple[str, list[tuple[str, str]]]] = [
        ("Commands", [(c.name, c.summary) for c in command.children if not c.hidden]),
        ("Arguments", [(a.name.upper(), a.help) for a in command.arguments]),
        ("Options", [(_option_usage(o), o.help) for o in command.options]),
        ("Everywhere", [(_option_usage(o), o.help) for o in shared]),
    ]
    for title, rows in blocks:
        if rows:
            lines += ["", f"{title}:", *_columns(rows, width)]
    return "\n".join(lines)


def _option_usage(option: Option) -> str:
    short = f"{option.short}, " if option.short else ""
    return f"{short}{option.flag}" + (f" {option.value}" if option.value else "")


def _columns(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    left = min(max(len(name) for name, _ in rows), 30)
    for name, text in rows:
        head = f"  {name:<{left}}  "
        body = wrap(text, max(width - left - 4, 30)) or [""]
        if len(name) > left:
            yield f"  {name}"
            head = " " * (left + 4)
        yield head + body[0]
        yield from (" " * (left + 4) + line for line in body[1:])
