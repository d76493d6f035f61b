"""Every field that a server, a file or a project can choose holds a marked string, made to deceive: it is seen framed or clean."""

import json
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from parts import hostile_server
from parts.command_line import Done, Home, local_model
from parts.hostile_server import WAYS, marked
from parts.model_servers import Answer, Call, ChatServer

FRAME = re.compile(
    r'<<<EXTERNAL_UNTRUSTED_CONTENT id="([0-9a-f]{16})">>>.*?<<<END_EXTERNAL_UNTRUSTED_CONTENT id="\1">>>', re.DOTALL
)
MARK = re.compile(r"mark-([a-z_]+)-")
# What no model and no terminal may get as it came: escapes, other control characters, what reorders, chat tokens.
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|<\\|im_start")

# What a model must have seen, and inside a frame.
FRAMED = """
    instructions text structured_key structured_value link_uri link_name link_title link_description embedded_uri embedded_text
    unknown_type error_text rpc_error result_type output_property read_uri read_text read_error initialize_error list_error
    resource_title resource_description resource_mime resource_uri resource_only_name
    template_uri template_name template_description template_mime
    skill_description
"""
# What it must have seen in the definitions of tools, clean: a frame around each would cost more than it protects. Names of files too.
CLEAN = """
    tool_description only_title schema_title schema_description property_title property_description schema_default schema_example
    property_name schema_enum blob_file_name read_blob_uri schema_comment deep_description const
    definition_description file_name file_text
"""
# What goes to people alone, or is put into our own words.
FOR_PEOPLE = """
    info_name info_title info_version tool_name tool_title tool_meta annotation_title schema_type wrong_shape resource_name
    http_reason schema_ref image_mime audio_mime link_mime
    embedded_mime blob_mime logger log_text progress_text stderr error_data method_error completion
    read_mime read_blob_mime prompt_title prompt_description prompt_argument_description prompt_argument_name prompt_name
    prompt_got_description prompt_text prompt_uri prompt_resource output_enum output_value
    http_type http_session http_challenge http_location http_body oauth_error oauth_description
"""


def server(*words: str, **entry: Any) -> dict[str, Any]:
    args = ["-S", "-E", hostile_server.__file__, *words]
    return {"command": sys.executable, "args": args, "connectTimeoutMs": 20_000, "maxRestarts": 0, **entry}


def one_line(field: str) -> str:
    """For places where a line cannot end: a header, a status line, a file's name."""
    return re.sub(r"[\x00-\x1f/]", "", marked(field))


def header(field: str) -> str:
    return one_line(field).encode("ascii", "ignore").decode()


@asynccontextmanager
async def hostile_site() -> AsyncIterator[str]:
    async def refuse(request: web.Request) -> web.Response:
        match request.match_info["how"]:
            case "reason":
                return web.Response(status=500, reason=header("http_reason"), text=marked("http_body"))
            case "type":
                return web.Response(text="x", headers={"Content-Type": f"text/{header('http_type')}"})
            case "moved":
                return web.Response(status=307, headers={"Location": f"http://127.0.0.1:9/{header('http_location')}"})
            case _:
                challenge = f'Bearer error="{header("oauth_error")}", error_description="{header("http_challenge")}"'
                headers = {"WWW-Authenticate": challenge, "Mcp-Session-Id": header("http_session")}
                return web.Response(status=403, headers=headers, text=marked("oauth_description"))

    app = web.Application()
    app.router.add_route("*", "/{how}", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def hostile_home(folder: Path, *replies: Answer) -> AsyncIterator[tuple[Home, ChatServer]]:
    workspace = folder / "workspace"
    skill = workspace / "skills" / "helper"
    skill.mkdir(parents=True)
    front = {"name": "helper", "description": marked("skill_description")}
    (skill / "SKILL.md").write_text(f"---\n{json.dumps(front)}\n---\nDo it.\n")
    (workspace / one_line("file_name")).write_text("x")
    (workspace / "notes.txt").write_text(marked("file_text"))
    async with ChatServer(replies) as model, hostile_site() as site:
        sections = local_model(model.url, model.key)
        sections["agents"]["defaults"]["workspace"] = str(workspace)
        remote = {"connectTimeoutMs": 20_000}
        servers = {
            "hostile": server("marks"),
            "unborn": server("marks", "initialize"),
            "listless": server("marks", "list"),
            "gone": server("marks", "exit"),
            **{how: {"url": f"{site}/{how}", **remote} for how in ("reason", "type", "moved", "challenge")},
        }
        yield Home(folder, mcp={"servers": servers}, **sections), model


def texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, member in value.items():
                yield from (name, *texts(member))
        case list():
            for member in value:
                yield from texts(member)


def marks(text: str) -> set[str]:
    return set(MARK.findall(text))


def check_terminal(done: Mapping[str, Done]) -> set[str]:
    """Nothing harmful on any screen; which fields were shown."""
    for command, ran in done.items():
        for stream in (ran.out, ran.err):
            found = HARMFUL.search(stream.replace("<|im_start", ""))
            assert found is None, (command, stream[max(0, found.start() - 80) : found.end() + 20])
    return set().union(*(marks(ran.out + ran.err) for ran in done.values()))


def test_the_walk_covers_at_least_sixty_fields() -> None:
    fields = [*FRAMED.split(), *CLEAN.split(), *FOR_PEOPLE.split()]
    assert len(fields) == len(set(fields)) >= 60


@pytest.mark.timeout(300)
async def test_what_strangers_chose_reaches_a_model_framed_or_clean_and_a_terminal_clean(tmp_path: Path) -> None:
    calls = [Call(f"c{number}", "hostile__speak", {"how": how}) for number, how in enumerate(WAYS)]
    calls += [
        Call("a1", "hostile__speak", {"how": "not one of them"}),
        Call("a2", "hostile__resources_list", {}),
        Call("a3", "hostile__resources_read", {"uri": "hostile://one"}),
        Call("a4", "hostile__resources_read", {"uri": "hostile://gone"}),
        Call("a5", "unborn__anything", {}),
        Call("a6", "listless__anything", {}),
        Call("a7", "reason__anything", {}),
        Call("a8", "hostile__bent", {}),
        Call("a9", "ls", {"path": "."}),
        Call("b1", "read", {"path": "notes.txt"}),
        Call("b2", "gone__anything", {}),
        Call("b3", "challenge__anything", {}),
        Call("b4", "moved__anything", {}),
        Call("b5", "type__anything", {}),
    ]
    said = Answer(calls=calls), Answer("Done."), Answer("And again.")
    async with hostile_home(tmp_path, *said) as (home, model):
        ran = {
            "agent": await home.openclaw("agent", "--session-key", "s", "-m", "Look at @hostile:hostile://one please."),
            "again": await home.openclaw("agent", "--session-key", "s", "-m", "And now?"),
        }
        assert [done.code for done in ran.values()] == [0, 0], ran
        bodies = model.requests

    everything = "\n".join(text for body in bodies for text in texts(body))
    assert HARMFUL.search(everything) is None
    inside = "\n".join(found[0] for found in FRAME.finditer(everything))
    outside = FRAME.sub("", everything)
    assert "EXTERNAL_UNTRUSTED_CONTENT id=" not in outside
    assert {
        "not framed": set(FRAMED.split()) - marks(inside),
        "not seen": set(CLEAN.split()) - marks(everything),
        "framed nowhere": marks(outside) - set(CLEAN.split()),
    } == {"not framed": set(), "not seen": set(), "framed nowhere": set()}
    check_terminal(ran)


@pytest.mark.timeout(300)
async def test_what_strangers_chose_is_shown_by_every_command_without_anything_that_harms_a_terminal(
    tmp_path: Path,
) -> None:
    typed = [
        *(
            "/mcp servers",
            "/mcp tools",
            "/mcp tools hostile --json",
            "/mcp status hostile",
            "/mcp status unborn",
            "/mcp resources",
        ),
        *(
            "/mcp status reason --json",
            "/mcp read hostile hostile://one",
            "/mcp read hostile hostile://gone",
            "/mcp prompts",
        ),
        *(
            "/mcp prompt hostile ask word=x",
            "/mcp prompt hostile ask other=x",
            "/mcp logs hostile",
            "/mcp trust hostile",
        ),
        *("/mcp refresh listless", "/mcp call hostile__speak how=text --json", "/hostile:ask other=x"),
        *(f"/mcp call hostile__speak how={how}" for how in (*WAYS, "none")),
    ]
    commands = [
        ("mcp", "tools", "hostile", "--json"),
        ("mcp", "logs", "gone"),
        ("mcp", "read", "hostile", "hostile://gone"),
        ("tools", "explain", "hostile__bent"),
        ("tools", "explain", "listless__anything"),
        ("doctor", "--probe"),
    ]
    async with hostile_home(tmp_path) as (home, _):
        ran = {" ".join(words): await home.openclaw(*words) for words in commands}
        shown = check_terminal({**ran, "chat": await home.chat(*typed)})
    seen = """
        info_name tool_description resource_uri template_uri read_text read_error prompt_description prompt_name
        prompt_text prompt_resource prompt_argument_name stderr initialize_error list_error text structured_value link_uri
        embedded_text error_text rpc_error unknown_type
    """
    assert set(seen.split()) - shown == set()


async def test_a_rule_that_denies_resources_or_prompts_holds_for_every_way_to_them(tmp_path: Path) -> None:
    rules = {"deny": ["hostile__resources_read", "hostile__prompts_get"]}
    home = Home(tmp_path, tools=rules, mcp={"servers": {"hostile": server("marks")}})
    for words in (("read", "hostile", "hostile://one"), ("prompt", "hostile", "ask")):
        done = await home.openclaw("mcp", *words)
        assert (done.code, done.out) == (2, "")
        assert (
            f'may not be used: deny "hostile__{"resources_read" if words[0] == "read" else "prompts_get"}"' in done.err
        )
    typed = await home.chat("/mcp read hostile hostile://one", "/hostile:ask word=x", "see @hostile:hostile://one now")
    assert (typed.out + typed.err).count("may not be used: deny") == 3
    assert "mark-" not in typed.out + typed.err
    allowed = Home(tmp_path, tools={"deny": ["hostile__speak"]}, mcp={"servers": {"hostile": server("marks")}})
    assert "mark-read_text-" in (await allowed.openclaw("mcp", "read", "hostile", "hostile://one")).out


async def test_an_exported_session_of_strangers_words_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    said = Answer(calls=[Call("c1", "read", {"path": "notes.txt"})]), Answer(f"It says: {marked('answer')}\x9b2J")
    async with hostile_home(tmp_path, *said) as (home, _):
        home.write(**{**json.loads((home.state / "openclaw.json").read_text()), "mcp": {}})
        ran = await home.openclaw("agent", "--session-key", "s", "-m", "Read it.")
        exported = await home.openclaw("sessions", "export", "s")
    assert (ran.code, exported.code) == (0, 0), ran
    assert HARMFUL.search(exported.out.replace("<|im_start", "")) is None
    entries = [json.loads(line) for line in exported.out.splitlines()]
    assert marked("answer") in "".join(texts(entries[-1]))
