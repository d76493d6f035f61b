"""How each editor is told about this agent: the text to put into its config, and where that belongs.

Pure. `openclaw acp --print-config EDITOR` prints it with the absolute command of this installation.
"""

import json
from collections.abc import Mapping, Sequence

# The editor, and where its config is.
EDITORS = {
    "zed": "~/.config/zed/settings.json (zed: open settings file)",
    "jetbrains": "~/.jetbrains/acp.json (AI Assistant → Add Custom Agent)",
    "codecompanion": "the setup of codecompanion.nvim in Neovim's config",
    "avante": "the setup of avante.nvim in Neovim's config",
    "agent-shell": "Emacs's init file; then M-x openclaw-agent-shell",
}
_NAME = "OpenClaw"


def config_text(editor: str, command: str, arguments: Sequence[str], env: Mapping[str, str]) -> str:
    """What to write into the editor's config. `env` is what the editor's own environment may lack."""
    words = list(arguments)
    match editor:
        case "zed":
            entry = {"type": "custom", "command": command, "args": words, "env": dict(env)}
            return _json({"agent_servers": {_NAME: entry}})
        case "jetbrains":
            return _json({"agent_servers": {_NAME: {"command": command, "args": words, "env": dict(env)}}})
        case "codecompanion":
            return _codecompanion(command, words, env)
        case "avante":
            return _avante(command, words, env)
    return _agent_shell(command, words, env)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _lua(text: str) -> str:
    """A string of Lua: like JSON's, but for characters beyond ASCII, which it takes as they are."""
    return json.dumps(text, ensure_ascii=False)


def _lua_list(words: Sequence[str]) -> str:
    return "{ " + ", ".join(_lua(word) for word in words) + " }"


def _lua_table(values: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{name} = {_lua(value)}" for name, value in values.items()) + " }" if values else "{}"


def _codecompanion(command: str, words: Sequence[str], env: Mapping[str, str]) -> str:
    # What an adapter has besides differs between releases; opencode's has what every plain agent needs.
    return f"""\
require("codecompanion").setup({{
  adapters = {{
    acp = {{
      openclaw = function()
        return require("codecompanion.adapters").extend("opencode", {{
          name = "openclaw",
          formatted_name = "{_NAME}",
          commands = {{ default = {_lua_list([command, *words])} }},
          env = {_lua_table(env)},
        }})
      end,
    }},
  }},
  interactions = {{ chat = {{ adapter = "openclaw" }} }},
}})"""


def _avante(command: str, words: Sequence[str], env: Mapping[str, str]) -> str:
    return f"""\
require("avante").setup({{
  provider = "openclaw",
  acp_providers = {{
    openclaw = {{ command = {_lua(command)}, args = {_lua_list(words)}, env = {_lua_table(env)} }},
  }},
}})"""


def _agent_shell(command: str, words: Sequence[str], env: Mapping[str, str]) -> str:
    parameters = " ".join(_lisp(word) for word in words)
    variables = " ".join(_lisp(f"{name}={value}") for name, value in env.items())
    return f"""\
(require 'agent-shell)

(defun openclaw-agent-shell ()
  "Start {_NAME} in an agent-shell buffer."
  (interactive)
  (agent-shell-start
   :config (agent-shell-make-agent-config
            :identifier 'openclaw
            :mode-line-name "{_NAME}"
            :buffer-name "{_NAME}"
            :shell-prompt "{_NAME}> "
            :shell-prompt-regexp "{_NAME}> "
            :client-maker (lambda (buffer)
                            (acp-make-client :command {_lisp(command)}
                                             :command-params '({parameters})
                                             :environment-variables '({variables})
                                             :context-buffer buffer)))))"""


def _lisp(text: str) -> str:
    """A string of Emacs Lisp: a backslash before quotes and backslashes, all else as it is."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
