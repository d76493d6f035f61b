"""What an import would write: names, secrets, variables, and servers that are here already."""

from collections.abc import Mapping
from typing import Any

from openclaw.importers.plan import Answers, Found, Plan, Step, inputs_needed, plan, variable_of
from openclaw.importers.programs import PROGRAMS
from openclaw.importers.reading import Entry, Input

KEY = "sk-live-0123456789abcdefghij"


def found(name: str, value: Mapping[str, Any], program: str = "cursor", **more: Any) -> Found:
    return Found(PROGRAMS[program], "/f", Entry(name, value, **more))


def planned(
    *servers: Found, taken: Mapping[str, Any] | None = None, overwrite: bool = False, **answers: Answers
) -> Plan:
    return plan(servers, taken or {}, {"SET": "here"}, {"/f": answers.get("answers", Answers())}, overwrite=overwrite)


def done(result: Plan) -> list[tuple[str, str]]:
    return [(step.action, step.name) for step in result.steps]


def one(result: Plan) -> Step:
    (step,) = result.steps
    return step


def test_a_name_that_is_taken_by_another_server_stays_its_own() -> None:
    result = planned(found("a", {"command": "theirs"}), taken={"a": {"command": "ours"}})
    assert done(result) == [("add", "a-cursor")]
    assert one(result).notes == ("named a-cursor, as there is another a already",)


def test_a_suffix_that_is_taken_too_gets_a_number() -> None:
    taken = {"a": {"command": "ours"}, "a-cursor": {"command": "ours"}}
    assert done(planned(found("a", {"command": "theirs"}), taken=taken)) == [("add", "a-cursor-2")]


def test_a_server_that_is_here_already_is_left_alone_also_under_its_other_name() -> None:
    entry = {"command": "x", "env": {"TOKEN": KEY}}
    ours = {"command": "x", "env": {"TOKEN": "secret://keychain/openclaw/a/env/TOKEN-2"}}
    assert done(planned(found("a", entry), taken={"a": ours})) == [("same", "a")]
    assert done(planned(found("a", entry), taken={"a": {"command": "y"}, "a-cursor": ours})) == [("same", "a-cursor")]


def test_overwrite_replaces_and_two_of_one_import_still_do_not_meet() -> None:
    servers = [found("a", {"command": "x"}), found("a", {"command": "y"}, "zed"), found("b", {"command": "z"})]
    result = planned(*servers, taken={"b": {"command": "ours"}}, overwrite=True)
    assert done(result) == [("add", "a"), ("add", "a-zed"), ("replace", "b")]


def test_a_step_holds_no_secret_and_is_written_with_references() -> None:
    step = one(
        planned(found("a", {"command": "x", "args": ["--key", KEY], "headers": {"Authorization": f"Bearer {KEY}"}}))
    )
    assert KEY not in repr(step)
    assert step.argv == ("x", "--key", "[secret]")
    references = {credential.path: f"secret://keychain/{credential.place}" for credential in step.credentials}
    assert step.written(references) == {
        "command": "x",
        "args": ["--key", "secret://keychain/args.1"],
        "headers": {"Authorization": "Bearer secret://keychain/headers.Authorization"},
    }


def test_what_a_server_takes_from_this_machine_is_known_before_anybody_agrees() -> None:
    entry = {
        "url": "https://h/${A}",
        "headers": {"B": "$BARE", "C": "$${NOT}", "D": "secret://file/~/k"},
        "passEnv": ["E"],
    }
    step = one(planned(found("a", entry)))
    assert (step.variables, step.references, step.needs_consent) == (("A", "BARE", "E"), ("secret://file/~/k",), True)
    assert not one(planned(found("a", {"url": "https://h", "headers": {"X-Key": KEY}}))).needs_consent
    spelt = {"source": "file", "id": "/k"}
    step = one(planned(found("a", {"url": "https://h", "apiKey": spelt, "auth": {"clientSecret": spelt}}, "openclaw")))
    assert (step.references, step.needs_consent) == (("secret://ref/file/default//k",), True)


def test_defaults_become_settings_unless_something_else_is_set() -> None:
    entry = {"url": "https://${A}/${SET}"}
    result = planned(found("a", entry, defaults={"A": "x", "SET": "there"}))
    assert result.defaults == {"A": "x"}
    assert one(result).notes == (
        "env.vars.A becomes 'x', where the environment has none",
        "SET has another default here already, which stays",
    )


def test_a_default_that_is_a_secret_is_neither_kept_nor_told() -> None:
    entry = {"command": "x", "env": {"API_KEY": "${API_KEY}"}}
    result = planned(found("a", entry, defaults={"API_KEY": KEY}))
    assert result.defaults == {}
    assert one(result).notes == ("the default of API_KEY looks like a secret and is left out: set API_KEY yourself",)
    assert KEY not in repr(one(result))


def test_an_input_is_asked_for_once_and_kept_as_a_secret() -> None:
    entry = {"command": "x", "args": ["${input:region}"], "env": {"KEY": "${input:key}", "H": "Bearer ${input:key}"}}
    inputs = {"key": Input("key", is_secret=True), "region": Input("region"), "idle": Input("idle")}
    servers = [found("a", entry)]
    assert inputs_needed(servers, inputs) == [inputs["region"], inputs["key"]]
    answers = Answers({"key": "plainword", "region": "eu-${X}"}, frozenset({"key"}))
    step = one(planned(*servers, answers=answers))
    assert step.value == {"command": "x", "args": ["eu-$${X}"], "env": {"KEY": "[secret]", "H": "Bearer [secret]"}}
    assert [credential.value for credential in step.credentials] == ["plainword", "plainword"]


def test_an_input_that_is_asked_for_later_waits_for_no_variable_and_is_no_other_secret_than_the_one_here() -> None:
    entry = {"command": "x", "args": ["${input:region}"], "env": {"H": "Bearer ${input:key}"}}
    later = Answers(secret=frozenset({"key"}), later=frozenset({"key", "region"}))
    step = one(planned(found("a", entry), answers=later))
    assert step.value == {"command": "x", "args": ["[asked]"], "env": {"H": "Bearer [secret]"}}
    assert step.variables == ()
    assert step.notes == ("the import will ask you for args.0", "the import will ask you for env.H")


def test_an_input_that_nobody_answered_becomes_a_variable() -> None:
    step = one(planned(found("a", {"command": "x", "env": {"KEY": "${input:github-token}"}})))
    assert step.value == {"command": "x", "env": {"KEY": "${GITHUB_TOKEN}"}}
    assert step.notes == ("env.KEY waits for the variable GITHUB_TOKEN: nobody was asked for it",)
    assert [variable_of(name) for name in ("apiKey", "2fa", "é")] == ["API_KEY", "INPUT_2FA", "INPUT_"]
