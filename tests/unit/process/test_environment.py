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


@pytest.mark.posix_only("the variables of POSIX")
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


@pytest.mark.posix_only("the variables of POSIX")
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


# What loaders, interpreters, build tools and editors are known to read, and run other code for.
FAMILIES = """
    LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH LD_DEBUG LD_BIND_NOW LD_PROFILE LD_ORIGIN_PATH DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH
    DYLD_FRAMEWORK_PATH DYLD_FALLBACK_LIBRARY_PATH _RLD_LIST LIBPATH SHLIB_PATH LIBRARY_PATH GCONV_PATH LOCPATH NLSPATH GLIBC_TUNABLES
    OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSLKEYLOGFILE GETCONF_DIR MALLOC_CONF
    NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_ICU_DATA NODE_V8_COVERAGE NODE_COMPILE_CACHE NODE_CHANNEL_FD
    NODE_PRESERVE_SYMLINKS ELECTRON_RUN_AS_NODE TS_NODE_PROJECT TS_NODE_REQUIRE TS_NODE_COMPILER BUN_INSTALL BUN_OPTIONS
    npm_config_node_options NPM_CONFIG_NODE_OPTIONS npm_config_script_shell npm_config_shell npm_config_editor npm_config_prefix
    npm_config_userconfig npm_config_globalconfig npm_config_init_module npm_config_git npm_config_cache npm_config_viewer
    npm_config_ignore_scripts npm_config_onload_script npm_config_browser YARN_RC_FILENAME YARN_YARN_PATH YARN_PLUGINS PNPM_HOME
    PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONBREAKPOINT PYTHONINSPECT PYTHONUSERBASE PYTHONEXECUTABLE PYTHONPLATLIBDIR
    PYTHONPYCACHEPREFIX PYTHONWARNINGS PYTHON_PRESITE PIP_CONFIG_FILE UV_CONFIG_FILE UV_PYTHON PYTEST_PLUGINS VIRTUAL_ENV PIPX_HOME
    PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5SHELL PERL_MB_OPT PERL_MM_OPT PERL_CPANM_OPT PERL5DBCMD
    RUBYOPT RUBYLIB RUBYPATH RUBYSHELL RUBYGEMS_GEMDEPS GEM_PATH GEM_HOME BUNDLE_GEMFILE BUNDLE_PATH BUNDLE_CONFIG JRUBY_OPTS
    JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS CLASSPATH MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS GRADLE_USER_HOME ANT_OPTS
    SBT_OPTS SCALA_HOME KOTLIN_HOME CATALINA_OPTS GROOVY_OPTS JVM_OPTS LEIN_HOME
    DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS DOTNET_SHARED_STORE CORECLR_ENABLE_PROFILING CORECLR_PROFILER CORECLR_PROFILER_PATH
    CORECLR_PROFILER_PATH_64 COR_PROFILER COR_ENABLE_PROFILING COMPLUS_VERSION MSBUILD_EXE_PATH ASPNETCORE_HOSTINGSTARTUPASSEMBLIES
    MONO_PATH MONO_CONFIG PSMODULEPATH
    GOFLAGS GOENV GOPATH GOROOT GOBIN GOPROXY GOTOOLCHAIN GOWORK GOCACHEPROG GONOSUMDB GOPRIVATE CGO_CFLAGS CGO_LDFLAGS
    R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER R_LIBS R_LIBS_USER R_HOME R_DEFAULT_PACKAGES
    LUA_INIT LUA_INIT_5_4 LUA_PATH LUA_CPATH LUA_PATH_5_3 LUAROCKS_CONFIG
    PHPRC PHP_INI_SCAN_DIR COMPOSER_HOME TCLLIBPATH TCL_LIBRARY GUILE_LOAD_PATH ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ERL_LIBS
    ELIXIR_ERL_OPTIONS JULIA_LOAD_PATH JULIA_DEPOT_PATH OCAMLRUNPARAM CAMLRUNPARAM GHCRTS AWKPATH AWKLIBPATH
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS RUSTC RUSTDOC RUSTUP_TOOLCHAIN CARGO_HOME CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER CARGO_REGISTRIES_X_INDEX MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES CC CXX CFLAGS CXXFLAGS
    LDFLAGS CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH COMPILER_PATH CMAKE_TOOLCHAIN
    GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_EXEC_PATH GIT_TEMPLATE_DIR
    GIT_PROXY_COMMAND GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM
    GIT_CONFIG_PARAMETERS GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
    GIT_NAMESPACE GIT_SSL_NO_VERIFY GIT_SSL_CAINFO HGRCPATH SVN_SSH CVS_RSH RSYNC_RSH
    SSH_ASKPASS SSH_ASKPASS_REQUIRE SSH_SK_PROVIDER SUDO_ASKPASS SUDO_EDITOR
    BASH_ENV BASH_FUNC_ls%% BASHOPTS SHELLOPTS IFS PS4 PROMPT_COMMAND ZDOTDIR FPATH CDPATH GLOBIGNORE HISTFILE INPUTRC
    EDITOR VISUAL FCEDIT PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE SYSTEMD_PAGER VIMINIT EXINIT EMACSLOADPATH
    QT_PLUGIN_PATH GTK_MODULES GIO_EXTRA_MODULES GST_PLUGIN_PATH GDK_PIXBUF_MODULE_FILE WGETRC CURL_HOME
"""


def test_every_hook_of_every_family_is_refused() -> None:
    names = FAMILIES.split()
    assert len(names) >= 230
    assert [name for name in names if not is_refused(name)] == []


ORDINARY = """
    PATH HOME GITHUB_TOKEN GITLAB_URL NODE_ENV PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 ENV JAVA_HOME DEBUG GIT_AUTHOR_NAME
    GIT_AUTHOR_EMAIL GIT_REPO_PATH REPO_PATH ROOT_DIR GOOGLE_MAPS_API_KEY GOOGLE_APPLICATION_CREDENTIALS REDIS_URL DATABASE_URL LOG_LEVEL
    SSH_KEY_PATH SSH_AUTH_SOCK SSH_AGENT_PID UV_CACHE_DIR UV_INDEX_URL npm_config_registry npm_config_loglevel npm_config_https_proxy
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE HTTPS_PROXY no_proxy NODE_NO_WARNINGS NODE_TLS_REJECT_UNAUTHORIZED
    ALLOWED_PATHS CONFIG_PATH MEMORY_FILE_PATH NOTION_TOKEN OPENAPI_MCP_HEADERS KUBECONFIG AWS_CONFIG_FILE RESULTS_PATH GOAL_CONFIG
"""


def test_ordinary_settings_of_servers_and_the_ways_into_the_network_are_not_refused() -> None:
    assert [name for name in ORDINARY.split() if is_refused(name)] == []


def test_a_hook_that_is_allowed_by_name_passes_and_no_other() -> None:
    declared = {"NODE_OPTIONS": "--max-old-space-size=512", "NODE_PATH": "/x"}
    made = child_environment(declared, allowed=["NODE_OPTIONS"], parent={})
    assert made == ChildEnvironment({"NODE_OPTIONS": "--max-old-space-size=512"}, ("NODE_PATH",))


@pytest.mark.posix_only("the variables of POSIX")
def test_of_the_locale_and_the_desktop_only_known_names_are_passed_on() -> None:
    ours = {"LC_ALL": "C", "LC_TIME": "C", "LC_SECRET": "s", "XDG_CONFIG_HOME": "/c", "XDG_MY_TOKEN": "t"}
    assert child_environment(parent=ours).variables == {"LC_ALL": "C", "LC_TIME": "C", "XDG_CONFIG_HOME": "/c"}


def test_on_windows_names_are_the_same_in_any_case() -> None:
    ours = {"Path": "C:\\bin", "SystemRoot": "C:\\Windows", "My_Token": "t", "OTHER": "o", "HTTPS_PROXY": "p"}
    made = child_environment(
        {"path": "D:\\bin", "Node_Options": "-r x"}, pass_env=["MY_TOKEN"], parent=ours, platform="win32"
    )
    assert made == ChildEnvironment(
        {"PATH": "D:\\bin", "SYSTEMROOT": "C:\\Windows", "MY_TOKEN": "t", "HTTPS_PROXY": "p"}, ("NODE_OPTIONS",)
    )
