"""Every kind of content, over every wire, through every way in, and back in the history of a second and a third turn.

The model servers hold the vendors' rules (`parts/vendor_rules.py`): one request that breaks one is refused, and the conversation with it.
"""

import base64
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.attachments import Attachment
from openclaw.app import App
from openclaw.commands.references import filled_prompt
from openclaw.conversation import Conversation
from parts import planned_server
from parts.command_line import Home, local_model
from parts.documents import pdf
from parts.forward_proxy import Site, public_site
from parts.gateways import home as gateway_home
from parts.gateways import running
from parts.media_server import png, wav
from parts.model_servers import Answer, Call, ChatServer, MessagesServer, ModelServer, Reply
from parts.order_process import OrderProcess
from parts.responses_server import ResponsesServer

WIRES: dict[str, type[ModelServer]] = {
    "openai-completions": ChatServer,
    "openai-responses": ResponsesServer,
    "anthropic-messages": MessagesServer,
}
PICTURE = base64.b64encode(png()).decode()
SOUND = base64.b64encode(wav()).decode()
RESOURCE = {
    "uri": "file:///a/report.pdf",
    "mimeType": "application/pdf",
    "blob": base64.b64encode(pdf("Report")).decode(),
}
IMAGE = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
# What the server answers, by the name of the kind. Twenty calls go out side by side, with those below.
ANSWERS: dict[str, dict[str, Any]] = {
    "text": {"content": [{"type": "text", "text": "framed words"}]},
    "image": {"content": [{"type": "text", "text": "a shot"}, IMAGE]},
    "audio": {"content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}]},
    "blob": {"content": [{"type": "resource", "resource": RESOURCE}]},
    "structured": {"content": [], "structuredContent": {"price": 4}},
    "error with image": {"content": [{"type": "text", "text": "It broke."}, IMAGE], "isError": True},
    "image of nothing": {"content": [{"type": "image", "data": "", "mimeType": "image/png"}]},
    "broken image": {"content": [{"type": "image", "data": base64.b64encode(b"no").decode(), "mimeType": "image/png"}]},
    "large image": {"content": [{**IMAGE, "data": base64.b64encode(png(4_000_000)).decode()}]},
    "kept file": {"content": [{"type": "text", "text": "long " * 30_000}]},
    "nothing": {"content": []},
    "blanks": {"content": [{"type": "text", "text": " "}]},
}
# What the model reads in the answer of each; a file is named by its place, and holds what came.
WORDS: dict[str, str] = {
    "text": "framed words",
    "image": "a shot",
    "audio": f"audio/wav, {len(wav())} bytes",
    "blob": "resource file:///a/report.pdf: application/pdf",
    "structured": '{"price":4}',
    "error with image": "It broke.",
    "image of nothing": "image",
    "broken image": "image/png, 2 bytes",
    "large image": "image/png, 4,000,000 bytes",
    "kept file": "long long long",
    "nothing": "---",
    "blanks": "---",
}
FILES = {
    "audio": wav(),
    "blob": pdf("Report"),
    "broken image": b"no",
    "kept file": b"long " * 30_000,
}
# What a site of somebody else's answers, by path.
PAGES = {
    "/page": (
        "text/html; charset=utf-8",
        "<h1>Fish</h1><p>Cod is 7 ☃ today.</p><img src='/fish.png' alt='a cod'>".encode(),
    ),
    "/fish.png": ("image/png", png(2_000)),
}
FISH = base64.b64encode(png(2_000)).decode()
OTHERS = (
    Call("call_a", "web_fetch", {"url": "http://127.0.0.1:9/page"}),
    Call("call_b", "shop__resources_read", {"uri": "shop://prices"}),
    Call("call_c", "rm -rf / && echo", {}),
    Call("call_d", "shop__give", '{"answer": '),
    Call("call_e", "shop__give", "[1, 2]"),
    Call("call_f", "shop__give", json.dumps({"a": "deep"}).replace('"deep"', "[" * 200 + "]" * 200)),
    Call("call_g", "shop__resources_list", {}),
    Call("call_h", "shop__echo", {"text": "☃ \u0000 <s>"}),
)
CALLS = (*(Call(f"call_{number}", "shop__give", {"kind": kind}) for number, kind in enumerate(ANSWERS)), *OTHERS)


def replies(site: str) -> tuple[Reply, ...]:
    """One turn of calls, two of them of pages; one that says nothing, and one that calls again."""
    pages = (
        Call("call_page", "web_fetch", {"url": f"{site}/page"}),
        Call("call_fish", "web_fetch", {"url": f"{site}/fish.png"}),
    )
    return (
        Answer("Let me look.", calls=(*CALLS, *pages)),
        Answer("First."),
        Answer(""),
        Answer(" ", calls=(Call("call_0", "shop__give", {"kind": "error with image"}),)),
        Answer("Third."),
    )


def sections(folder: Path, api: str, server: ModelServer) -> dict[str, Any]:
    plan = {
        "tools": [planned_server.tool("echo"), planned_server.tool("give")],
        "resources": {"shop://prices": "Milk is 4."},
        "prompts": [{"name": "greet", "description": "Greet."}],
        "answers": ANSWERS,
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    entry = {
        "command": sys.executable,
        "args": [planned_server.__file__, str(folder / "plan.json"), str(folder / "log")],
    }
    config = local_model(server.url, server.key, api)
    # Nothing is left out to save room.
    config["models"]["providers"]["local"]["models"] = [{"id": "local-model", "contextWindow": 1_000_000}]
    # What may be called without asking is not what this is about.
    asks = {"approval": {"mode": "off", "taint": "off"}}
    return {**config, "tools": asks, "mcp": {"servers": {"shop": entry}}}


async def by_reply(folder: Path, api: str, server: ModelServer, site: Site) -> list[str]:
    given = (
        Attachment("notes.txt", "text/plain", b"Buy milk."),
        Attachment("shop.png", "image/png", png(), titled=True),
        Attachment("paper.pdf", "application/pdf", pdf("A paper")),
        Attachment("note.wav", "audio/wav", wav()),
    )
    home = Home(folder, **sections(folder, api, server))
    home.environ |= site.environ
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        first = await app.reply("Look.", Conversation(session="k"), attachments=given)
        prompt = await filled_prompt(app.engine, "main", "shop:greet", "")
        second = await app.reply(prompt.message, Conversation(session="k"), blocks=prompt.blocks)
        third = await app.reply(" ", Conversation(session="k"))
        assert [reply.error for reply in (first, second, third)] == ["", "", ""]
    return [first.text, second.text, third.text]


async def by_command(folder: Path, api: str, server: ModelServer, site: Site) -> list[str]:
    home = Home(folder, **sections(folder, api, server))
    home.environ |= site.environ
    files = {"notes.txt": b"Buy milk.", "shop.png": png(), "paper.pdf": pdf("A paper"), "note.wav": wav()}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    attached = [word for name in files for word in ("--attach", str(folder / name))]
    said = []
    for words in (attached, [], []):
        done = await home.openclaw("agent", "--session-key", "k", "--json", "-m", "Look.", *words)
        assert done.code == 0, done.err
        said.append(str(json.loads(done.out)["text"]))
    return said


async def by_order(folder: Path, api: str, server: ModelServer, site: Site) -> list[str]:
    image = {"data": PICTURE, "mimeType": "image/png", "filename": "shop.png"}
    paper = {"data": base64.b64encode(pdf("A paper")).decode(), "mimeType": "application/pdf", "filename": "paper.pdf"}
    notes = {"data": base64.b64encode(b"Buy milk.").decode(), "mimeType": "text/plain", "filename": "notes.txt"}
    note = {"data": SOUND, "mimeType": "audio/wav", "filename": "note.wav"}
    said = []
    async with OrderProcess(folder, config=sections(folder, api, server), env=dict(site.environ)) as process:
        await process.initialize()
        for media in ({"images": [image], "files": [paper, notes, note]}, {}, {}):
            result = await process.order("Look.", sessionKey="k", **media)
            assert not result["isError"], result
            said.append("".join(block.get("text", "") for block in result["content"]))
    return said


def data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


async def by_gateway(folder: Path, api: str, server: ModelServer, site: Site) -> list[str]:
    look = [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
        {"type": "file", "file": {"filename": "notes.txt", "file_data": data_url("text/plain", b"Buy milk.")}},
        {"type": "file", "file": {"filename": "paper.pdf", "file_data": data_url("application/pdf", pdf("A paper"))}},
        {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
    ]
    said = []
    with gateway_home(folder, env=site.environ) as place:
        place.save(sections(folder, api, server))
        async with running(place) as gateway:
            await gateway.ready("shop")
            for content in (look, "Look.", "Look."):
                body = {"model": "openclaw", "user": "k", "messages": [{"role": "user", "content": content}]}
                status, answer = await gateway.post("/v1/chat/completions", body)
                assert status == 200, answer
                said.append(answer["choices"][0]["message"]["content"] or "")
    return said


# What the model reads of what was attached: nobody here writes down what a recording says.
ATTACHED = ("Buy milk.", "A paper", "was not transcribed")


def read_by_the_model(messages: list[dict[str, Any]]) -> tuple[dict[str, str], str]:
    """The texts of a request over any wire: of each call's answer by its id, and of what the person said and attached."""
    answers: dict[str, str] = {}
    said: list[str] = []
    for message in messages:
        if message.get("type") == "function_call_output":
            answers[message["call_id"]] = texts(message["output"])
        elif "role" not in message:
            continue
        elif message["role"] == "tool":
            answers[message["tool_call_id"]] = texts(message["content"])
        elif message["role"] == "user":
            said.append(texts(message["content"]))
            blocks = message["content"] if isinstance(message["content"], list) else []
            answers |= {
                block["tool_use_id"]: texts(block["content"]) for block in blocks if block["type"] == "tool_result"
            }
    return answers, "\n".join(said)


def texts(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] in ("text", "input_text"))


def files(places: list[str]) -> list[bytes]:
    return [Path(place).read_bytes() for place in places]


Converse = Callable[[Path, str, ModelServer, Site], Awaitable[list[str]]]
SURFACES: dict[str, Converse] = {"reply": by_reply, "agent": by_command, "order": by_order, "gateway": by_gateway}


# How a message reaches the model has nothing to do with the wire it then goes over: the newest is held against one way in.
PAIRS = [(surface, api) for surface in SURFACES for api in WIRES if surface == "reply" or api != "openai-responses"]


@pytest.mark.parametrize(("surface", "api"), PAIRS)
async def test_every_kind_of_content_reaches_the_model_and_goes_back_in_its_history(
    tmp_path: Path, surface: str, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with public_site(tmp_path, PAGES) as site, WIRES[api](replies(site.url)) as server:
        for name, value in site.environ.items():
            # A client in this process takes authorities from the process itself.
            monkeypatch.setenv(name, value)
        said = await SURFACES[surface](tmp_path, api, server, site)

    assert server.refused == []
    assert sorted(site.asked) == ["/fish.png", "/page"]
    assert ("First." in said[0], "Third." in said[2]) == (True, True), said
    messages = server.requests[-1]["input" if api == "openai-responses" else "messages"]
    answers, person = read_by_the_model(messages)
    given = {kind: answers[f"call_{number}"] for number, kind in enumerate(ANSWERS)}
    assert {kind: words for kind, words in WORDS.items() if words not in given[kind]} == {}
    places = {kind: re.findall(r"(?:saved as|the whole text is in) (.+)\]", given[kind]) for kind in FILES}
    assert {kind: files(found) for kind, found in places.items()} == {kind: [data] for kind, data in FILES.items()}
    assert [words for words in ATTACHED if words not in person] == []
    assert "Milk is 4." in answers["call_b"]
    assert ("127.0.0.1" in answers["call_a"], "Cod is 7 ☃ today." in answers["call_page"]) == (True, True)
    sent = json.dumps(messages, ensure_ascii=False)
    # The picture of the page, with the history of the third turn too.
    assert sent.count(f'{FISH}"') == 1
    # The picture of the first message, of the answer and of the two errors.
    assert (PICTURE in sent, sent.count(f'{PICTURE}"')) == (True, 4)
    # The 22 calls of the first turn and the one of the third, each with its result, in the order they were made.
    marks = ('"tool_call_id"', '"tool_use_id"', '"function_call_output"')
    assert (len(CALLS) + 2, max(sent.count(mark) for mark in marks)) == (22, 23)
