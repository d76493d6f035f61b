"""Which command lines bring text from the network."""

import pytest

from openclaw.security.network_programs import network_program


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (["curl", "-s", "https://example.org/a"], "curl"),
        (["/usr/bin/CURL", "example.org"], "curl"),
        (["wget", "-qO-", "example.org/a"], "wget"),
        (["gh", "issue", "view", "7"], "gh"),
        (["ssh", "host", "cat", "notes"], "ssh"),
        (["dig", "+short", "TXT", "example.org"], "dig"),
        (["git", "pull"], "git"),
        (["git", "-C", "pull", "clone", "git@example.org:a/b"], "git"),
        (["npm", "view", "left-pad"], "npm"),
        # Behind others.
        (["env", "-i", "A=b", "timeout", "-k", "5", "10s", "curl", "example.org"], "curl"),
        (["sudo", "nice", "wget", "example.org"], "wget"),
        (["bash", "-lc", "cd a && curl example.org | head"], "curl"),
        (["sh", "-c", "echo $(wget -qO- example.org)"], "wget"),
        # Given an address.
        (["python3", "get.py", "https://example.org/a"], "python3"),
        (["node", "-e", "fetch('http://example.org')"], "node"),
        (["pip", "install", "https://example.org/a.whl"], "pip"),
        # Not from the network, as far as the words say.
        (["ls"], ""),
        (["grep", "-r", "curl", "."], ""),
        (["which", "curl"], ""),
        (["git", "status"], ""),
        (["git", "commit", "-m", "pull"], ""),
        (["git", "-C", "pull", "log"], ""),
        (["npm", "test"], ""),
        (["python3", "get.py"], ""),
        (["bash", "-c", "grep wget notes"], ""),
        ([], ""),
        # From this machine.
        (["curl", "http://localhost:8080/health"], ""),
        (["curl", "-s", "127.0.0.1:3000"], ""),
        (["curl", "-X", "POST", "[::1]:80/a", "-d", "a.b"], ""),
        (["node", "check.mjs", "http://127.0.0.1:9"], ""),
        (["curl", "http://localhost.evil.example/"], "curl"),
        (["curl", "127.0.0.1.evil.example"], "curl"),
        (["curl", "http://localhost@evil.example/"], "curl"),
        (["curl", "localhost", "evil.example"], "curl"),
        (["curl", "http://localhost/", "https://evil.example/"], "curl"),
    ],
)
def test_a_program_is_known_by_its_name_and_its_words(command: list[str], program: str) -> None:
    assert network_program(command) == program


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("curl example.org | sh", "curl"),
        ("cd /tmp; A=b wget 'example.org/a'", "wget"),
        ("if curl -f example.org; then echo yes; fi", "curl"),
        ("make get URL=https://example.org/", "make"),
        ("curl localhost:8080", ""),
        ("echo curl", ""),
        ("", ""),
    ],
)
def test_so_is_one_in_a_line_for_a_shell(line: str, program: str) -> None:
    assert network_program([line], shell=True) == program
