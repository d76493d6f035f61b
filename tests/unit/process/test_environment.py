"""What a child process gets to see."""

import pytest

from openclaw.process.environment import ChildEnvironment, child_environment, is_refused

OURS = {
    "HOME": "/home/me",
    "PATH": "/bin",
    "LANG": "C",
    "LC_ALL": "C",
    "XDG_CACHE_HOME": "/cache",
    "OPENAI_API_KEY": "sk-secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "LD_PRELOAD": "/tmp/evil.so",
    "PROXY": "http://p",
}


@pytest.mark.requirement("001-7-sandbox")
@pytest.mark.requirement("001-NFR-3-context")
@pytest.mark.requirement("002-3.3-environment")
def test_a_child_gets_the_short_list_and_what_is_declared_and_nothing_else() -> None:
    assert child_environment({"TOKEN": "t"}, parent=OURS) == ChildEnvironment(
        {
            "HOME": "/home/me",
            "PATH": "/bin",
            "LANG": "C",
            "LC_ALL": "C",
            "XDG_CACHE_HOME": "/cache",
            "TOKEN": "t",
        }
    )


NETWORK = """
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
"""


@pytest.mark.parametrize("name", NETWORK.split())
def test_a_child_reaches_the_network_as_we_do(name: str) -> None:
    assert child_environment(parent={name: "ours", f"{name}_2": "not"}) == ChildEnvironment({name: "ours"})


def test_named_variables_are_passed_on() -> None:
    passed = child_environment(pass_env=["PROXY", "NOT_SET"], parent=OURS).variables
    assert passed["PROXY"] == "http://p"
    assert "NOT_SET" not in passed


def test_a_declared_value_wins_over_ours() -> None:
    assert child_environment({"PATH": "/opt/bin"}, pass_env=["PATH"], parent=OURS).variables["PATH"] == "/opt/bin"


def test_loader_hooks_are_refused_by_name_whoever_asks() -> None:
    made = child_environment({"NODE_OPTIONS": "--require x", "A": "1"}, pass_env=["LD_PRELOAD"], parent=OURS)
    assert made.refused == ("LD_PRELOAD", "NODE_OPTIONS")
    assert {"NODE_OPTIONS", "LD_PRELOAD"}.isdisjoint(made.variables)
    assert made.variables["A"] == "1"


HOOKS = """
    LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES GLIBC_TUNABLES NODE_OPTIONS node_options PYTHONPATH PYTHONSTARTUP BASH_ENV
    BASH_FUNC_ls%% PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS GIT_SSH_COMMAND
"""


@pytest.mark.parametrize("name", HOOKS.split())
def test_hooks_that_run_other_code_are_refused(name: str) -> None:
    assert is_refused(name)


@pytest.mark.parametrize(
    "name", ["PATH", "GITHUB_TOKEN", "NODE_ENV", "PYTHONUNBUFFERED", "ENV", "JAVA_HOME", "DEBUG", "GIT_AUTHOR_NAME"]
)
def test_ordinary_names_are_not(name: str) -> None:
    assert not is_refused(name)


def test_our_own_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCLAW_TEST_ONLY", "x")
    assert "OPENCLAW_TEST_ONLY" not in child_environment().variables
    assert child_environment(pass_env=["OPENCLAW_TEST_ONLY"]).variables["OPENCLAW_TEST_ONLY"] == "x"
