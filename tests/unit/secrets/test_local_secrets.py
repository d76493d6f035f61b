"""Secrets of this machine: variables, private files, helper programs, the keychain, and the objects that name them."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringLocked

from openclaw.config.entry import SecretRef
from openclaw.config.sections import SecretDefaults, SecretProviderEntry, SecretsSection
from openclaw.errors import SecretError
from openclaw.secrets.exec import trusted_program
from openclaw.secrets.file import find, written
from openclaw.secrets.keychain import KeychainSecrets
from openclaw.secrets.provider import ProviderDependencies
from openclaw.secrets.resolve import Resolver
from parts.executable import python_program


def resolver(
    providers: dict[str, SecretProviderEntry] | None = None,
    *,
    env: dict[str, str] | None = None,
    home: Path | None = None,
) -> Resolver:
    def place(name: str) -> Path:
        return home / name[2:] if home and name.startswith(("~/", "./")) else Path(name)

    return Resolver(SecretsSection(providers=providers or {}), {} if env is None else env, place=place)


async def failure(secrets: Resolver, reference: str | SecretRef) -> str:
    """The cause and the hint; that the reference stands before them is checked here."""
    with pytest.raises(SecretError) as caught:
        await secrets.resolve(reference)
    name, found, cause = str(caught.value).partition(" cannot be resolved: ")
    assert found
    assert name.startswith("secret://")
    return cause


def private(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


# Variables


@pytest.mark.requirement("001-FR-5-env")
@pytest.mark.requirement("001-FR-5-lazy")
async def test_a_variable_is_read_when_it_is_asked_for_and_not_before() -> None:
    env: dict[str, str] = {}
    secrets = resolver(env=env)
    env["TOKEN"] = "set-after-loading"
    assert await secrets.resolve("secret://env/TOKEN") == "set-after-loading"


@pytest.mark.requirement("002-7-secrets")
@pytest.mark.requirement("002-3.6-env")
async def test_a_variable_that_is_not_set_or_empty_is_an_error() -> None:
    expected = "the environment variable {} is not set. Set it where OpenClaw is started."
    secrets = resolver(env={"EMPTY": ""})
    assert await failure(secrets, "secret://env/TOKEN") == expected.format("TOKEN")
    assert await failure(secrets, "secret://env/EMPTY") == expected.format("EMPTY")


async def test_only_a_name_can_be_a_variable() -> None:
    secrets = resolver(env={"A": "x", "A&b": "y"})
    for reference in ("secret://env/A&b=1", "secret://env/A#1", "secret://env/A/B"):
        assert await failure(secrets, reference) == "this is not the name of a variable. Write secret://env/NAME."


# Files


@pytest.mark.parametrize(
    ("name", "here", "on_windows"),
    [
        ("C:/keys/x", "/C:/keys/x", "C:/keys/x"),
        ("/C:/keys/x", "/C:/keys/x", "C:/keys/x"),
        ("run/x", "/run/x", "/run/x"),
        ("~/x", "~/x", "~/x"),
    ],
)
def test_a_reference_names_a_file_of_a_drive_where_there_are_drives(name: str, here: str, on_windows: str) -> None:
    assert (written(name, windows=False), written(name, windows=True)) == (here, on_windows)


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_private_file_gives_its_text_without_the_last_line_end(tmp_path: Path) -> None:
    path = private(tmp_path / "key", "two\nlines\n")
    secrets = resolver(home=tmp_path)
    assert await secrets.resolve(f"secret://file/{path}") == "two\nlines"
    assert await secrets.resolve(f"secret://file{path}") == "two\nlines"
    assert await secrets.resolve("secret://file/~/key") == "two\nlines"


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_file_whose_name_holds_a_number_sign_is_written_with_a_percent_sign(tmp_path: Path) -> None:
    private(tmp_path / "a#b c", "value-of-it")
    assert await resolver().resolve(f"secret://file{tmp_path}/a%23b c") == "value-of-it"


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_json_pointer_picks_one_text_of_a_file(tmp_path: Path) -> None:
    path = private(tmp_path / "all.json", '{"a/b": [{"~": "inner-value"}], "port": 8080, "on": true}')
    secrets = resolver()
    found = [await secrets.resolve(f"secret://file{path}#{pointer}") for pointer in ("/a~1b/0/~0", "/port", "/on")]
    assert found == ["inner-value", "8080", "true"]


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
@pytest.mark.parametrize(
    ("pointer", "cause"),
    [
        ("/missing", "the file has nothing at /missing."),
        ("/list/01", "the file has nothing at /list/01."),
        ("/list/7", "the file has nothing at /list/7."),
        ("/list", "what stands at /list is not a text. Name a field that holds a text."),
        ("", "what stands at the top is not a text. Name a field that holds a text."),
        ("list", "this is not a JSON pointer. A pointer starts with a slash, as in #/database/password."),
    ],
)
async def test_a_pointer_to_no_text_is_an_error(tmp_path: Path, pointer: str, cause: str) -> None:
    path = private(tmp_path / "all.json", '{"list": ["hidden"]}')
    assert await failure(resolver(), f"secret://file{path}#{pointer}") == cause


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_pointer_into_what_is_not_json_does_not_show_the_file(tmp_path: Path) -> None:
    path = private(tmp_path / "key", "hunter2hunter2")
    assert await failure(resolver(), f"secret://file{path}#/a") == (
        "the file is not JSON. Leave out the # to take the whole file."
    )


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o602, 0o604, 0o601])
async def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = private(tmp_path / "key", "hidden", mode)
    assert await failure(resolver(), f"secret://file{path}") == (
        f"{path} can be used by others (mode {mode:04o}). Run: chmod 600 {path}"
    )


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    # For root the other user is nobody; for everybody else it is root.
    path = Path("/etc/passwd")
    if os.geteuid() == 0:
        path = private(tmp_path / "key", "hidden")
        os.chown(path, 65534, 65534)
    assert await failure(resolver(), f"secret://file{path}") == (
        f"{path} belongs to another user. It has to be owned by the user OpenClaw runs as."
    )


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        cause = await failure(resolver(), f"secret://file{path}")
        assert cause == f"{path} is not a regular file."


@pytest.mark.posix_only("symbolic links")
async def test_a_link_may_stay_in_its_directory_and_not_lead_elsewhere(tmp_path: Path) -> None:
    mounted, elsewhere = tmp_path / "mounted", tmp_path / "elsewhere"
    (mounted / "..data").mkdir(parents=True)
    elsewhere.mkdir()
    private(mounted / "..data" / "token", "inside-value")
    private(elsewhere / "token", "outside-value")
    (mounted / "token").symlink_to("..data/token")
    (mounted / "other").symlink_to(elsewhere / "token")
    assert await resolver().resolve(f"secret://file{mounted}/token") == "inside-value"
    assert await failure(resolver(), f"secret://file{mounted}/other") == (
        f"{mounted}/other is a link to another directory. Name the file itself."
    )


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_file_with_a_second_name_is_refused(tmp_path: Path) -> None:
    path = private(tmp_path / "key", "hidden")
    os.link(path, tmp_path / "second")
    assert await failure(resolver(), f"secret://file{path}") == (
        f"{path} has another name elsewhere (a hard link). Make a copy and name that."
    )


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_missing_file_and_one_that_is_too_large_or_not_text_are_errors(tmp_path: Path) -> None:
    large, bytes_only = private(tmp_path / "large", "x" * (1024 * 1024 + 1)), private(tmp_path / "bytes", "")
    bytes_only.write_bytes(b"\xff\xfe\x00")
    secrets = resolver()
    assert await failure(secrets, f"secret://file{tmp_path}/none") == (
        f"{tmp_path}/none cannot be read: no such file or directory."
    )
    assert await failure(secrets, f"secret://file{large}") == f"{large} is larger than 1048576 bytes."
    assert await failure(secrets, f"secret://file{bytes_only}") == f"{bytes_only} is not text (UTF-8)."


documents = st.recursive(
    st.text(max_size=5),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab/~0", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(documents, st.data())
def test_a_pointer_made_from_the_way_down_finds_what_is_there(document: object, data: st.DataObject) -> None:
    pointer, here = "", document
    while isinstance(here, list | dict) and here:
        key = data.draw(st.sampled_from(range(len(here)) if isinstance(here, list) else sorted(here)))
        here = here[key]
        pointer += "/" + str(key).replace("~", "~0").replace("/", "~1")
    if isinstance(here, str):
        assert find(json.dumps(document), pointer) == here
    else:
        with pytest.raises(SecretError):
            find(json.dumps(document), pointer)


# Helper programs


def helper(tmp_path: Path, body: str, mode: int = 0o700) -> str:
    """A program like `pass`: a script with the interpreter that runs this test."""
    return str(python_program(tmp_path / "helper", f"import json, os, sys\n{body}", "-IS", mode=mode))


def printing(command: str, *args: str, **options: object) -> dict[str, SecretProviderEntry]:
    return {"pass": SecretProviderEntry(source="exec", command=command, args=args, json_only=False, **options)}  # type: ignore[arg-type]


STORE = "print({'mail/me@example.org': 'mail-password', 'op://a/b#c': 'op-password'}[sys.argv[2]])"


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_helper_is_given_the_name_as_one_argument_and_prints_the_secret(tmp_path: Path) -> None:
    secrets = resolver(printing(helper(tmp_path, STORE), "show", "{id}"))
    assert await secrets.resolve("secret://exec/pass/mail/me@example.org") == "mail-password"
    assert await secrets.resolve("secret://exec/pass/op://a/b#c") == "op-password"


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_no_shell_reads_what_a_reference_says(tmp_path: Path) -> None:
    path = helper(tmp_path, "print(repr(sys.argv[1:]))")
    secrets = resolver(printing(path, "show", "{id}"))
    assert await secrets.resolve("secret://exec/pass/a b") == "['show', 'a b']"
    for id in ("$(id)", "a;id", "a|id", "`id`", "-h", "--help", "a\u0000b", "../x", "a/../b", "."):
        cause = await failure_of_any(secrets, f"secret://exec/pass/{id}")
        assert "not a name that is handed to a program" in cause or "is not a secret reference" in cause


async def failure_of_any(secrets: Resolver, reference: str) -> str:
    with pytest.raises(SecretError) as caught:
        await secrets.resolve(reference)
    return str(caught.value)


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_helper_sees_a_short_environment_and_what_its_entry_declares(tmp_path: Path) -> None:
    body = "print(' '.join(sorted(n + '=' + v for n, v in os.environ.items() if n.startswith(('A', 'B', 'C')))))"
    provider = printing(helper(tmp_path, body), env={"A": "declared"}, pass_env=("B",))
    secrets = resolver(provider, env={"A": "ours", "B": "passed", "C": "kept from it", "PATH": os.defpath})
    assert await secrets.resolve("secret://exec/pass/x") == "A=declared B=passed"


async def test_an_entry_that_would_change_which_code_runs_is_refused(tmp_path: Path) -> None:
    secrets = resolver(printing(helper(tmp_path, "print('x')"), env={"LD_PRELOAD": "/tmp/evil.so"}))
    assert await failure(secrets, "secret://exec/pass/x") == (
        "secrets.providers.pass sets LD_PRELOAD. These change which code runs: remove them."
    )


PROTOCOL = """
question = json.load(sys.stdin)
assert question == {'protocolVersion': 1, 'provider': 'vault', 'ids': question['ids']}, question
known = {'a/b': 'json-secret'}
answer = {'protocolVersion': 1, 'values': {}, 'errors': {}}
for id in question['ids']:
    if id in known:
        answer['values'][id] = known[id]
    else:
        answer['errors'][id] = {'code': id if id.isupper() else 'NOT_FOUND', 'message': 'hunter2hunter2'}
print(json.dumps(answer))
"""


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_helper_answers_in_the_json_protocol(tmp_path: Path) -> None:
    secrets = resolver({"vault": SecretProviderEntry(source="exec", command=helper(tmp_path, PROTOCOL))})
    assert await secrets.resolve("secret://exec/vault/a/b") == "json-secret"
    assert await secrets.resolve(SecretRef(source="exec", provider="vault", id="a/b")) == "json-secret"
    assert [
        await failure(secrets, f"secret://exec/vault/{id}") for id in ("none", "AMBIGUOUS_DUPLICATE_KEY", "LOCKED")
    ] == [
        "the program knows no such secret.",
        "the program knows more than one secret of that name.",
        "the program reports an error (LOCKED).",
    ]


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (
            "print('hunter2hunter2')",
            "the program did not answer in the JSON protocol, version 1. "
            "Set jsonOnly: false if it prints the secret and nothing else.",
        ),
        (
            'print(\'{"protocolVersion": 1, "values": {"x": 7}}\')',
            "the program's answer does not have this secret as a text.",
        ),
        ('print(\'{"protocolVersion": 1, "errors": {"x": "hunter2"}}\')', "the program reports an error (no code)."),
        (
            "sys.stderr.write('hunter2hunter2'); sys.exit(3)",
            "{command} failed (exit code 3). Run it by hand to see what it says.",
        ),
        ("sys.stdout.buffer.write(b'\\xff')", "it is not text (UTF-8). Store it as text, encoded if need be."),
        ("print('x' * 100)", "helper printed more than 64 bytes."),
    ],
)
async def test_a_helper_that_answers_badly_is_not_quoted(tmp_path: Path, body: str, cause: str) -> None:
    command = helper(tmp_path, body)
    secrets = resolver({"pass": SecretProviderEntry(source="exec", command=command, max_output_bytes=64)})
    assert await failure(secrets, "secret://exec/pass/x") == cause.format(command=command)


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_helper_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    reading = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    body = f"import signal\nheld = open({str(tmp_path / 'alive')!r}, 'wb')\nsignal.pause()"
    try:
        secrets = resolver(printing(helper(tmp_path, body), timeout_ms=1_000))
        assert "within 1 s." in await failure(secrets, "secret://exec/pass/x")
        secrets = resolver(printing(helper(tmp_path, body), timeout_ms=60_000, no_output_timeout_ms=1_000))
        assert await failure(secrets, "secret://exec/pass/x") == "helper printed nothing for 1 s."
        # The end of the stream: with a writer left, there would be nothing to read yet, which is an error.
        assert os.read(reading, 1) == b""
    finally:
        os.close(reading)


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
def test_where_modes_do_not_tell_who_may_change_a_file_they_refuse_no_helper(tmp_path: Path) -> None:
    """On Windows every file that one may write has mode 0666."""
    command = helper(tmp_path, "", mode=0o777)
    assert trusted_program(command, None, modes_tell=False) == command
    with pytest.raises(SecretError, match="in none of trustedDirs"):
        trusted_program(command, ("/elsewhere",), modes_tell=False)


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
@pytest.mark.parametrize(
    ("mode", "cause"),
    [
        (0o720, "{command} can be changed by others. Run: chmod go-w {command}"),
        (0o702, "{command} can be changed by others. Run: chmod go-w {command}"),
        (0o600, "{command} is not an executable file."),
    ],
)
async def test_a_helper_that_others_may_change_or_nobody_can_run_is_refused(
    tmp_path: Path, mode: int, cause: str
) -> None:
    command = helper(tmp_path, "print('x')", mode)
    assert await failure(resolver(printing(command)), "secret://exec/pass/x") == cause.format(command=command)


@pytest.mark.posix_only("owners and modes of files, and scripts that run by their first line")
async def test_a_helper_is_named_by_its_whole_path_and_is_where_it_may_be(tmp_path: Path) -> None:
    command = helper(tmp_path, "print('found')")
    (tmp_path / "link").symlink_to(command)
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    helper(open_folder, "print('x')")

    async def said(path: str, **options: object) -> str:
        return await failure(resolver(printing(path, **options)), "secret://exec/pass/x")

    assert (
        await resolver(printing(str(tmp_path / "link"), trusted_dirs=(str(tmp_path),))).resolve("secret://exec/pass/x")
        == "found"
    )
    assert await said("helper") == "helper is not an absolute path. Write where the program is, from / on."
    assert await said(f"{tmp_path}/none") == f"{tmp_path}/none cannot be used: no such file or directory."
    assert (
        await said(f"{open_folder}/helper")
        == f"{open_folder}/helper is in a directory that anybody can write to. Move it."
    )
    assert await said(command, trusted_dirs=("/usr/bin",)) == (
        f"{command} is in none of trustedDirs. Move it, or add its directory."
    )


async def test_a_program_that_is_not_configured_is_not_run(tmp_path: Path) -> None:
    secrets = resolver({"file": SecretProviderEntry(source="file"), "bare": SecretProviderEntry(source="exec")})
    assert await failure(secrets, "secret://exec/op/x") == (
        "secrets.providers has no entry 'op'. Add one with source: \"exec\"."
    )
    assert await failure(secrets, "secret://exec/file/x") == "secrets.providers.file is of source file, not exec."
    assert await failure(secrets, "secret://exec/bare/x") == (
        "secrets.providers.bare names no command. Add the absolute path of a program."
    )
    assert await failure(secrets, "secret://exec/op") == (
        "it does not name everything that is needed. Write secret://exec/ALIAS/ID."
    )


# Objects


async def test_an_object_reads_a_variable_within_its_providers_allowlist() -> None:
    providers = {"narrow": SecretProviderEntry(source="env", allowlist=("ALLOWED",))}
    secrets = resolver(providers, env={"ALLOWED": "allowed-value", "OTHER": "other-value"})
    assert await secrets.resolve(SecretRef(source="env", id="OTHER")) == "other-value"
    assert await secrets.resolve(SecretRef(source="env", id="ALLOWED", provider="narrow")) == "allowed-value"
    assert await failure(secrets, SecretRef(source="env", id="OTHER", provider="narrow")) == (
        "secrets.providers.narrow.allowlist does not have OTHER."
    )
    assert await failure(secrets, SecretRef(source="env", id="OTHER", provider="none")) == (
        "secrets.providers has no entry 'none'. Add one with source: \"env\"."
    )
    assert await failure(secrets, SecretRef(source="env", id="lower")) == (
        "the id is not the name of a variable. Use capital letters, digits and _."
    )


async def test_an_object_reads_a_configured_file_as_json_or_whole(tmp_path: Path) -> None:
    all_of_them = private(tmp_path / "all.json", '{"providers": {"openai": {"apiKey": "json-value"}}}')
    one = private(tmp_path / "one", "single-value\n")
    secrets = resolver(
        {
            "all": SecretProviderEntry(source="file", path=str(all_of_them)),
            "one": SecretProviderEntry(source="file", path=str(one), mode="singleValue"),
            "small": SecretProviderEntry(source="file", path=str(one), max_bytes=4),
        }
    )
    assert (
        await secrets.resolve(SecretRef(source="file", id="/providers/openai/apiKey", provider="all")) == "json-value"
    )
    assert await secrets.resolve(SecretRef(source="file", id="value", provider="one")) == "single-value"
    assert await failure(secrets, SecretRef(source="file", id="other", provider="one")) == (
        "the file holds one secret, whose id is 'value'."
    )
    assert (
        await failure(secrets, SecretRef(source="file", id="/a", provider="small")) == f"{one} is larger than 4 bytes."
    )


async def test_an_object_without_a_provider_means_the_default_one(tmp_path: Path) -> None:
    path = private(tmp_path / "one", "default-value")
    settings = SecretsSection(
        providers={"mine": SecretProviderEntry(source="file", path=str(path), mode="singleValue")},
        defaults=SecretDefaults(file="mine"),
    )
    assert await Resolver(settings, {}).resolve(SecretRef(source="file", id="value")) == "default-value"


async def test_the_store_of_the_other_openclaw_is_not_read() -> None:
    assert await failure(resolver(), SecretRef(source="store", id="TOKEN")) == (
        "the store belongs to the other OpenClaw and cannot be read here. Use env, file or exec, or a secret:// reference."
    )


# The keychain


class Memory(KeyringBackend):
    """A keychain of the test's own, which counts as the system's only where a test says so."""

    priority = 0.1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.entries: dict[tuple[str, str], str] = {}
        self.locked = False
        self.answering = threading.Event()
        self.answering.set()

    def get_password(self, service: str, username: str) -> str | None:
        self.answering.wait()
        if self.locked:
            raise KeyringLocked("hunter2hunter2")
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password


KNOWN = frozenset({f"{Memory.__module__}.{Memory.__qualname__}"})


@pytest.fixture
def memory() -> Iterator[Memory]:
    before, backend = keyring.get_keyring(), Memory()
    keyring.set_keyring(backend)
    yield backend
    backend.answering.set()
    keyring.set_keyring(before)


def with_keychain(known: frozenset[str] = KNOWN, timeout_ms: float = 10_000) -> Resolver:
    dependencies = ProviderDependencies(SecretsSection(), {}, Path, Resolver(SecretsSection(), {}).resolve, 10.0)
    return Resolver(
        SecretsSection(timeout_ms=timeout_ms), {}, providers={"keychain": KeychainSecrets(dependencies, known)}
    )


async def test_the_keychain_is_asked_for_service_and_account(memory: Memory) -> None:
    memory.entries = {("mail", "me@example.org"): "mail-password", ("a/b", "c/d"): "slashed"}
    secrets = with_keychain()
    assert await secrets.resolve("secret://keychain/mail/me@example.org") == "mail-password"
    assert await secrets.resolve("secret://keychain/a%2Fb/c/d") == "slashed"
    assert await failure(secrets, "secret://keychain/mail/you") == (
        "the keychain has no such entry. Store it with: keyring set SERVICE ACCOUNT"
    )


async def test_a_locked_keychain_is_an_error_without_its_words(memory: Memory) -> None:
    memory.locked = True
    assert await failure(with_keychain(), "secret://keychain/mail/me") == (
        "the keychain refused (KeyringLocked). Unlock it, and look whether it asks for something."
    )


async def test_a_keychain_that_waits_for_a_person_holds_up_nobody(memory: Memory) -> None:
    memory.answering.clear()
    stuck = asyncio.create_task(failure(with_keychain(timeout_ms=300), "secret://keychain/mail/me"))
    assert await resolver(env={"A": "meanwhile"}).resolve("secret://env/A") == "meanwhile"
    assert await stuck == "there was no answer within 0.3 s."


async def test_a_backend_that_is_not_the_systems_is_refused(memory: Memory) -> None:
    memory.entries = {("mail", "me"): "in a plain file"}
    cause = await failure(Resolver(SecretsSection(), {}), "secret://keychain/mail/me")
    assert cause == (
        f"{Memory.__module__}.{Memory.__qualname__} is not a keychain of the system. "
        "Remove it from keyring's settings to use the system's own."
    )


async def test_a_machine_without_a_keychain_says_so(memory: Memory) -> None:
    keyring.set_keyring(fail.Keyring())  # type: ignore[no-untyped-call]
    assert await failure(with_keychain(), "secret://keychain/mail/me") == (
        "this machine has no keychain that is running. On a server use another provider, such as secret://file."
    )


def test_a_keychain_that_never_answers_does_not_keep_the_process(tmp_path: Path) -> None:
    program = """
import asyncio, threading
from openclaw.daemon_thread import in_daemon_thread

async def main():
    try:
        async with asyncio.timeout(0.1):
            await in_daemon_thread(threading.Event().wait)
    except TimeoutError:
        print("left")

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "left\n"
