"""What a child process gets to see of our environment: a short list, what its config declares, and nothing else.

Owns the list, and the names that are refused because they make a loader or an interpreter run other code than the program that
was asked for. Resolves no secrets: values arrive resolved.
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping

import msgspec

_POSIX = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR")
_POSIX_PREFIXES = ("LC_", "XDG_")
_WINDOWS = (
    *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATH", "PATHEXT"),
    *("PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT"),
    *("TEMP", "TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR"),
)

# How the rest of the machine reaches the network: which authorities it trusts, and by which proxy it goes.
_NETWORK = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)

_REFUSED = re.compile(
    # The dynamic loader and what it loads.
    r"LD_.*|DYLD_.*|_RLD.*|LIBPATH|SHLIB_PATH|GCONV_PATH|GLIBC_TUNABLES|OPENSSL_CONF|OPENSSL_ENGINES"
    # Shells.
    r"|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|IFS|PS4|PROMPT_COMMAND|ZDOTDIR"
    # Interpreters and where they look for code.
    r"|NODE_OPTIONS|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|ELECTRON_RUN_AS_NODE"
    r"|PYTHON(PATH|HOME|STARTUP|BREAKPOINT|INSPECT|USERBASE|EXECUTABLE|PLATLIBDIR)"
    r"|PERL5?(OPT|LIB|DB)|RUBYOPT|RUBYLIB|LUA_(INIT|PATH|CPATH).*|PHPRC|PHP_INI_SCAN_DIR"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH"
    r"|DOTNET_STARTUP_HOOKS|DOTNET_ADDITIONAL_DEPS|CORECLR_.*|COR_(ENABLE_PROFILING|PROFILER.*)|ERL_[AZ]?FLAGS"
    # Programs that other programs run on the way.
    r"|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|CONFIG.*)"
    r"|SSH_ASKPASS|SUDO_ASKPASS|LESSOPEN|LESSCLOSE|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER"
)


class ChildEnvironment(msgspec.Struct, frozen=True):
    """The variables, and the names that were asked for and refused."""

    variables: Mapping[str, str]
    refused: tuple[str, ...] = ()


def child_environment(
    declared: Mapping[str, str] | None = None,
    *,
    pass_env: Iterable[str] = (),
    parent: Mapping[str, str] | None = None,
) -> ChildEnvironment:
    """The environment of a child: the short list and `pass_env` from `parent` (ours, unless given), then `declared`."""
    inherited = os.environ if parent is None else parent
    wanted = frozenset(pass_env)
    asked = {name: value for name, value in inherited.items() if name in wanted} | dict(declared or {})
    refused = {name for name in asked if is_refused(name)}
    variables = {name: value for name, value in inherited.items() if _is_listed(name)}
    variables |= {name: value for name, value in asked.items() if name not in refused}
    return ChildEnvironment(variables, tuple(sorted(refused)))


def is_refused(name: str) -> bool:
    """Whether a variable of this name would make a program load code that nobody asked for."""
    return _REFUSED.fullmatch(name.upper()) is not None


def _is_listed(name: str) -> bool:
    if sys.platform == "win32":
        return name.upper() in _WINDOWS or name.upper() in _NETWORK
    return name in _POSIX or name in _NETWORK or name.startswith(_POSIX_PREFIXES)
