"""What a server lists of its skills: which entries can be used, and what a yes is bound to."""

from typing import Any

import pytest
from msgspec import Raw

from openclaw.content import to_json
from openclaw.mcp.skills import MOST_BYTES, MOST_FILES, SkillEntry, read_entries, serves_skills
from openclaw.protocol.eras import Agreement

URI = "skill://acme/billing/refunds/SKILL.md"
DIGEST = f"sha256:{'a' * 64}"
FRONT = {"name": "refunds", "description": "Process refunds", "license": "MIT"}
FILES = [
    {"uri": URI, "digest": DIGEST, "size": 10},
    {"uri": "skill://acme/billing/refunds/examples/mail.md", "digest": DIGEST, "size": 3},
]


def read(**changed: Any) -> SkillEntry:
    entry = {"uri": URI, "frontmatter": FRONT, "resources": FILES, **changed}
    (found,) = read_entries([Raw(to_json(entry))])
    return found


def files(count: int, size: int = 1) -> list[dict[str, Any]]:
    more = [{"uri": f"skill://acme/billing/refunds/{n}", "digest": DIGEST, "size": size} for n in range(count - 1)]
    return [FILES[0], *more]


def test_an_entry_gives_its_files_by_path_and_by_address() -> None:
    entry = read()
    assert (entry.name, entry.description, entry.fault) == ("refunds", "Process refunds", "")
    mail = entry.files[1]
    assert [entry.file(name) for name in ("examples/mail.md", "./examples/mail.md", mail.uri)] == [mail] * 3
    assert [entry.path(file) for file in entry.files] == ["SKILL.md", "examples/mail.md"]
    assert entry.file("../../secrets.md") is None


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"resources": "dynamic"}, "its files may be others at every read"),
        ({"resources": "static"}, "its list of files is malformed"),
        ({"resources": None}, "its list of files is malformed"),
        ({"resources": FILES[1:]}, "its list of files lacks its SKILL.md"),
        ({"resources": [*FILES, FILES[0]]}, "its list names a file twice"),
        ({"resources": [{**FILES[0], "digest": "md5:0"}]}, "without a SHA-256 digest"),
        ({"resources": [{**FILES[0], "digest": DIGEST.upper()}]}, "without a SHA-256 digest"),
        ({"resources": [{**FILES[0], "size": -1}]}, "without a SHA-256 digest or a size"),
        ({"resources": files(MOST_FILES + 1)}, "it has more than 512 files"),
        ({"resources": files(2, MOST_BYTES)}, "its files have more than 16 MiB"),
        ({"frontmatter": {**FRONT, "name": "other"}}, "another one than that of its folder"),
        ({"frontmatter": {**FRONT, "name": "re funds"}}, "its name is not one of letters"),
        ({"frontmatter": {**FRONT, "name": "\x1b[2J"}}, "its name is not one of letters"),
        ({"frontmatter": {**FRONT, "description": " "}}, "it has no description"),
        ({"frontmatter": {**FRONT, "description": 7}}, "it has no description"),
        ({"uri": "skill://acme/billing/refunds"}, "its address does not end in SKILL.md"),
    ],
)
def test_an_entry_that_cannot_be_used_says_why(changed: dict[str, Any], fault: str) -> None:
    entry = read(**changed)
    assert fault in entry.fault
    assert entry.files == ()


def test_as_much_as_everybody_has_to_accept_is_accepted() -> None:
    assert read(resources=files(MOST_FILES)).fault == ""
    assert read(resources=files(2, MOST_BYTES - 10)).fault == ""


def test_the_digest_of_a_skill_changes_with_any_file_and_not_with_their_order() -> None:
    other = [FILES[0], {**FILES[1], "digest": f"sha256:{'b' * 64}"}]
    digests = [read(resources=one).digest for one in (FILES, FILES[::-1], other, FILES[:1])]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_what_is_no_entry_is_left_out_and_one_address_counts_once() -> None:
    entry = Raw(to_json({"uri": URI, "frontmatter": FRONT, "resources": FILES}))
    assert [one.uri for one in read_entries([Raw(b"7"), Raw(b'{"uri": 1}'), entry, entry])] == [URI]


@pytest.mark.parametrize(
    ("capabilities", "serves"),
    [
        ({}, False),
        ({"extensions": None}, False),
        ({"extensions": {"io.modelcontextprotocol/skills": {}}}, True),
        ({"extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}}}, True),
        ({"extensions": {"io.modelcontextprotocol/skills": None}}, False),
    ],
)
def test_a_server_has_skills_when_it_declares_them(capabilities: dict[str, Any], serves: bool) -> None:
    assert serves_skills(Agreement("2025-11-25", capabilities)) is serves
