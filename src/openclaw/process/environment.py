"""What a child process gets to see of our environment: a short list, what its config declares, and nothing else.

Owns the list, and the families of names that are refused because they make a loader, an interpreter or a tool run other code than the
program that was asked for. A name of such a family that a config allows on purpose passes. Resolves no secrets: values arrive resolved.
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from openclaw.late_pattern import late_pattern

_POSIX = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
    # The categories of a locale, and the base directories of a desktop: others of these beginnings are somebody's own.
    *("LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES"),
    *("LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS", "XDG_DATA_HOME"),
    *("XDG_RUNTIME_DIR", "XDG_SESSION_DESKTOP", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_STATE_HOME"),
)
_WINDOWS = (
    *("ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LANG", "LOCALAPPDATA"),
    *("NUMBER_OF_PROCESSORS", "OS", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES"),
    *("PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "TZ", "USERDOMAIN", "USERNAME"),
    *("USERPROFILE", "WINDIR"),
)

# How the rest of the machine reaches the network: which authorities it trusts, and by which proxy it goes.
_NETWORK = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)

# What the variables that load code are called, whoever reads them: options, search paths, what is loaded first, programs that are run.
_HOOK = (
    r"(?:OPTIONS?|OPTS?|[A-Z]*FLAGS|ARGS|PRELOAD|PATH|LIBS?|LIB_?PATH|LIBRARY_PATH|HOME|RC|RC_FILE|CONFIG|CONFIG_FILE|CONFIG_PATH|INIT|INIT_FILE"
    r"|INIT_SCRIPT|STARTUP|STARTUP_FILE|STARTUP_HOOKS?|HOOKS?|LOADER|REQUIRE|IMPORT|PLUGINS?|PLUGIN_PATH|WRAPPER|COMMAND|SHELL|EDITOR"
    r"|SEQUENCE_EDITOR|PAGER|BROWSER|ASKPASS|PROFILER|PROFILER_PATH|DEBUGGER|INTERPRETER|EXECUTABLE|EXEC_PATH|COMPILER|LINKER|RUNNER"
    r"|TOOLCHAIN|MODULES?|MODULE_PATH|USER_HOME|INSTALL_ROOT|TOOL_DIR|TEMPLATE_DIR|EXTERNAL_DIFF|PROXY_COMMAND|SSH_COMMAND|SSH)"
)
# Programs that read such variables. Their other variables are ordinary settings.
_READERS = (
    r"NODE|NPX|YARN|PNPM|COREPACK|BUN|DENO|ELECTRON|TS_NODE|TSX|BABEL|JEST|MOCHA|NVM|VOLTA|FNM"
    r"|PYTHON|PIP|PIPX|UV|POETRY|PDM|PYENV|PYTEST|IPYTHON|JUPYTER|CONDA|VIRTUALENV|HATCH"
    r"|RUBY|GEM|BUNDLE|BUNDLER|RAKE|RBENV|JRUBY|PERL|PERL5|PERL_MB|PERL_MM|PERL_CPANM"
    r"|JAVA|_JAVA|JDK|JDK_JAVA|JAVA_TOOL|JVM|MAVEN|M2|GRADLE|ANT|SBT|SCALA|KOTLIN|GROOVY|CATALINA|CLOJURE|LEIN"
    r"|DOTNET|CORECLR|COR|COMPLUS|MSBUILD|NUGET|MONO|POWERSHELL|GO|CGO|R|RENV|JULIA|LUA|LUAROCKS|PHP|COMPOSER|TCL|GUILE|ERL|ELIXIR|MIX|HEX"
    r"|OCAML|CAML|OPAM|GHC|CABAL|CARGO|RUSTC|RUSTDOC|RUSTUP|RUST|CMAKE|MAKE|NINJA|CONAN|VCPKG|GCC|CLANG|LLVM|CCACHE"
    r"|GIT|HG|SVN|SSH|SUDO|RSYNC|CVS|BASH|ZSH|KSH|FISH|TCSH|VIM|NVIM|EMACS|LESS|MAN|SYSTEMD"
)
# Each reader with a hook behind it, with or without a line between them: `NODE_OPTIONS`, `PYTHONPATH`, `RUBYOPT`, `GIT_SSH_COMMAND`.
_FAMILIES = late_pattern(rf"(?:{_READERS})_?{_HOOK}")
# Families that are refused whole: there is nothing harmless in them.
_WHOLE = late_pattern(
    r"LD_.*|DYLD_.*|_RLD.*|BASH_FUNC_.*|CORECLR_.*|COR_(?:ENABLE_PROFILING|PROFILER.*)|GIT_CONFIG.*|LUA_(?:INIT|C?PATH).*"
    r"|OPENSSL_(?:CONF|ENGINES|MODULES).*|CARGO_(?:TARGET|REGISTRIES|BUILD)_.*|GIT_(?:DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|NAMESPACE)"
    r"|GIT_(?:OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|SSL_.*|SSH|SSH_VARIANT|EXTERNAL_DIFF|ASKPASS|ALLOW_PROTOCOL|ATTR_SOURCE)"
)
# Names by themselves.
_ALONE = """
    LIBPATH SHLIB_PATH LIBRARY_PATH GCONV_PATH GETCONF_DIR LOCPATH NLSPATH GLIBC_TUNABLES MALLOC_CONF SSLKEYLOGFILE
    HOSTALIASES RES_OPTIONS LOCALDOMAIN TERMINFO TERMINFO_DIRS TERMCAP BASH_ENV BASHOPTS SHELLOPTS IFS PS4 CDPATH GLOBIGNORE
    PROMPT_COMMAND ZDOTDIR FPATH HISTFILE INPUTRC FIGNORE EXECIGNORE EDITOR VISUAL FCEDIT PAGER MANPAGER BROWSER
    LESSOPEN LESSCLOSE LESSKEY LESSKEYIN SYSTEMD_PAGER VIMINIT GVIMINIT EXINIT MYVIMRC EMACSLOADPATH EMACSDATA
    NODE_REPL_EXTERNAL_MODULE NODE_ICU_DATA NODE_V8_COVERAGE NODE_COMPILE_CACHE NODE_CHANNEL_FD NODE_PRESERVE_SYMLINKS
    NODE_PRESERVE_SYMLINKS_MAIN ELECTRON_RUN_AS_NODE TS_NODE_PROJECT TS_NODE_COMPILER YARN_RC_FILENAME YARN_YARN_PATH
    YARN_IGNORE_PATH BUN_CONFIG_REGISTRY BUN_INSTALL PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONBREAKPOINT
    PYTHONINSPECT PYTHONUSERBASE PYTHONEXECUTABLE PYTHONPLATLIBDIR PYTHONPYCACHEPREFIX PYTHONWARNINGS PYTHON_PRESITE
    PYTHON_BASIC_REPL PYTHON_PERF_JIT_SUPPORT VIRTUAL_ENV PIP_REQUIRE_VIRTUALENV UV_PYTHON UV_OVERRIDE UV_PROJECT
    PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5DB_THREADED PERL5SHELL PERL5DBCMD PERL_UNICODE PERLIO_DEBUG
    PERL_HASH_SEED_DEBUG RUBYOPT RUBYLIB RUBYPATH RUBYSHELL RUBYGEMS_GEMDEPS GEM_SKIP BUNDLE_GEMFILE RUBY_YJIT_ENABLE
    RUBYLIB_PREFIX DLN_LIBRARY_PATH CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS GROOVY_OPTS
    DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS DOTNET_SHARED_STORE DOTNET_ROOT_X64 DOTNET_ROLL_FORWARD_TO_PRERELEASE
    ASPNETCORE_HOSTINGSTARTUPASSEMBLIES MSBUILD_EXE_PATH PSMODULEPATH COMPLUS_VERSION GOFLAGS GOENV GOPATH GOROOT
    GOBIN GOTOOLDIR GOPROXY GONOSUMCHECK GONOSUMDB GONOPROXY GOPRIVATE GOINSECURE GOSUMDB GOTOOLCHAIN GOWORK
    GOCACHEPROG GO_EXTLINK_ENABLED CC CXX CPP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
    OBJC_INCLUDE_PATH COMPILER_PATH MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES RUSTC RUSTDOC RUSTFLAGS RUSTDOCFLAGS
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTUP_TOOLCHAIN R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER R_LIBS
    R_LIBS_USER R_LIBS_SITE R_DEFAULT_PACKAGES RHOME PHPRC PHP_INI_SCAN_DIR TCLLIBPATH TCL_LIBRARY TK_LIBRARY
    GUILE_LOAD_PATH GUILE_LOAD_COMPILED_PATH GUILE_EXTENSIONS_PATH ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ERL_LIBS
    OCAMLRUNPARAM CAMLRUNPARAM OCAMLPATH GHCRTS JULIA_LOAD_PATH JULIA_DEPOT_PATH ELIXIR_ERL_OPTIONS AWKPATH AWKLIBPATH
    GAWK_PERSIST_FILE GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_TEMPLATE_DIR GIT_EXEC_PATH HGRCPATH HGPLUGIN
    SVN_SSH CVS_RSH RSYNC_RSH SSH_ASKPASS SSH_ASKPASS_REQUIRE SSH_SK_PROVIDER SUDO_ASKPASS SUDO_EDITOR WGETRC
    CURL_HOME GPG_AGENT_INFO QT_PLUGIN_PATH QT_QPA_PLATFORM_PLUGIN_PATH QML2_IMPORT_PATH GTK_MODULES GTK_PATH
    GIO_MODULE_DIR GIO_EXTRA_MODULES GDK_PIXBUF_MODULE_FILE GST_PLUGIN_PATH GST_PLUGIN_SYSTEM_PATH GSETTINGS_BACKEND
    KRB5_CONFIG PKG_CONFIG PKG_CONFIG_PATH ALSA_CONFIG_PATH PROJ_LIB GDAL_DRIVER_PATH OGR_DRIVER_PATH VAAPI_DRIVER
    LIBGL_DRIVERS_PATH VK_LAYER_PATH VK_ICD_FILENAMES OCL_ICD_VENDORS MAGICK_CODER_MODULE_PATH MAGICK_CONFIGURE_PATH
"""
_NAMES = frozenset(_ALONE.split())
# Settings of npm that load nothing and run nothing; every other one is refused, for `npm_config_node_options` runs code in every `npx`.
_NPM = re.compile(r"NPM_CONFIG_(?P<setting>.*)")
_QUIET = """
    AUDIT CA CAFILE CERT COLOR FETCH_RETRIES FETCH_TIMEOUT FUND HTTPS_PROXY HTTP_PROXY LOGLEVEL MAXSOCKETS NOPROXY
    OFFLINE PREFER_OFFLINE PROGRESS PROXY REGISTRY STRICT_SSL UPDATE_NOTIFIER YES
"""
_HARMLESS_NPM = frozenset(_QUIET.split())
# Where Java is kept says which one runs, as PATH does, and half the world sets it.
_HARMLESS = frozenset({"JAVA_HOME"})


class ChildEnvironment(msgspec.Struct, frozen=True):
    """The variables, and the names that were asked for and refused."""

    variables: Mapping[str, str]
    refused: tuple[str, ...] = ()


def child_environment(
    declared: Mapping[str, str] | None = None,
    *,
    pass_env: Iterable[str] = (),
    allowed: Iterable[str] = (),
    parent: Mapping[str, str] | None = None,
    platform: str = sys.platform,
) -> ChildEnvironment:
    """The environment of a child: the short list and `pass_env` from `parent` (ours, unless given), then `declared`.

    `allowed` are names that pass although their family is refused.
    """
    inherited = os.environ if parent is None else parent
    if platform == "win32":
        # `Path` and `PATH` are one variable there: of two in one environment a program finds either.
        inherited = {name.upper(): value for name, value in inherited.items()}
        declared = {name.upper(): value for name, value in (declared or {}).items()}
        pass_env, allowed = (tuple(name.upper() for name in names) for names in (pass_env, allowed))
    wanted = frozenset(pass_env)
    asked = {name: value for name, value in inherited.items() if name in wanted} | dict(declared or {})
    refused = set(refused_names(asked, allowed))
    variables = {name: value for name, value in inherited.items() if _is_listed(name, platform)}
    variables |= {name: value for name, value in asked.items() if name not in refused}
    return ChildEnvironment(variables, tuple(sorted(refused)))


def refused_names(asked: Iterable[str], allowed: Iterable[str] = ()) -> list[str]:
    """Those of the names that would be refused."""
    on_purpose = frozenset(allowed)
    return [name for name in asked if name not in on_purpose and is_refused(name)]


def say_refused(names: Sequence[str]) -> tuple[str, str]:
    """What is wrong with an entry that gives a server such variables, and how they are given on purpose."""
    listed, what = ", ".join(names), "changes" if len(names) == 1 else "change"
    quoted = ", ".join(f'"{name}"' for name in names)
    return (
        f"The server is not started: {listed} in its env or passEnv {what} which code runs.",
        f"To give it on purpose, add allowEnv: [{quoted}] to the server's entry.",
    )


def is_refused(name: str) -> bool:
    """Whether a variable of this name would make a program load code that nobody asked for."""
    upper = name.upper()
    if upper in _HARMLESS or upper in _NETWORK:
        return False
    if npm := _NPM.fullmatch(upper):
        return npm["setting"] not in _HARMLESS_NPM
    return upper in _NAMES or _WHOLE.fullmatch(upper) is not None or _FAMILIES.fullmatch(upper) is not None


def _is_listed(name: str, platform: str) -> bool:
    return name in (_WINDOWS if platform == "win32" else _POSIX) or name in _NETWORK
