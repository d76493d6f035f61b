"""Files that came with results, over HTTP: named by the conversation and by the call, given to be saved."""

import sys
from pathlib import Path

from parts.gateways import Running, home, running

SERVER = str(Path(__file__).parent.parent / "parts" / "media_server.py")
FREE = {"tools": {"approval": {"mode": "off"}}}


async def fetched(gateway: Running, media: str) -> tuple[int, dict[str, str], bytes]:
    url = f"{gateway.url}/v1/media/{media}"
    async with gateway.client.get(url, headers=gateway.headers) as response:
        names = ("Content-Type", "Content-Disposition", "Content-Security-Policy", "X-Content-Type-Options")
        return response.status, {name: response.headers.get(name, "") for name in names}, await response.read()


async def test_a_file_of_a_result_is_fetched_to_be_saved_and_never_as_a_page(tmp_path: Path) -> None:
    servers = {"media": {"command": sys.executable, "args": [SERVER]}}
    with home(tmp_path, {"mcp": {"servers": servers}, **FREE}) as place:
        async with running(place) as gateway:
            await gateway.ready("media")
            call = {"tool": "media__document", "framed": False}
            _, answer = await gateway.post("/v1/tools/invoke", call)
            (file,) = [block for block in answer["content"] if block["type"] == "file"]
            found = await fetched(gateway, file["media"])
            beside = [
                (await fetched(gateway, place))[0]
                for place in (
                    file["media"] + "x",
                    "x/y",
                    file["media"].replace("report.pdf", "..%2f..%2fgateway.token"),
                )
            ]
            async with gateway.client.get(f"{gateway.url}/v1/media/{file['media']}") as response:
                nobody = response.status

    assert (file["name"], file["mimeType"], file["size"]) == ("report.pdf", "application/pdf", 9)
    kept = {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": "attachment",
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    assert found == (200, kept, b"%PDF-1.4\n")
    assert (beside, nobody) == ([404, 404, 404], 401)


async def test_text_of_a_call_comes_framed_unless_a_person_looks_at_it(tmp_path: Path) -> None:
    servers = {"media": {"command": sys.executable, "args": [SERVER]}}
    with home(tmp_path, {"mcp": {"servers": servers}, **FREE}) as place:
        async with running(place) as gateway:
            await gateway.ready("media")
            _, framed = await gateway.post("/v1/tools/invoke", {"tool": "media__linked"})
            _, plain = await gateway.post("/v1/tools/invoke", {"tool": "media__linked", "framed": False})
            _, trail = await gateway.get("/v1/audit?search=media__linked -request")

    words = "MEDIA:/etc/passwd file:///etc/passwd https://127.0.0.1:1/x.png"
    assert plain["content"] == [{"type": "text", "text": words}]
    assert "EXTERNAL_UNTRUSTED_CONTENT" in framed["content"][0]["text"]
    # And of the trail, what a word with a dash before it leaves.
    assert [one["event"] for one in trail["records"]] == ["outcome", "outcome"]
