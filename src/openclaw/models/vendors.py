"""Well-known model vendors: where they are, which wire they speak, which variable holds their key, and which model to start with.

Values, and how an address is read. What the config says about a provider of the same name goes before anything here; `catalog.py`
puts the two together.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

# The wires that are spoken here.
Wire = Literal["openai-completions", "openai-responses", "anthropic-messages"]
CHAT: Final[Wire] = "openai-completions"
RESPONSES: Final[Wire] = "openai-responses"
MESSAGES: Final[Wire] = "anthropic-messages"
# Most hosted models take at least this much; a config that knows better says so.
USUAL_WINDOW: Final = 128_000
OLLAMA_PORT: Final = 11434

_HOST = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^\s:/?#\[\]]+)(?::(\d+))?")


class Vendor(msgspec.Struct, frozen=True):
    """`variables` are names of environment variables for the key, first found first taken; none means that no key is needed.

    `model` is what a key alone leads to; a vendor without one is used only when it is named.
    """

    base_url: str
    variables: tuple[str, ...] = ()
    model: str = ""
    api: str = CHAT
    # What is spoken under the vendor's name at somebody else's address, where that is another wire.
    api_elsewhere: str = ""
    # An environment variable that moves the vendor elsewhere, as its own client reads it.
    base_variable: str = ""
    context_window: int = USUAL_WINDOW
    # Names, with `*`, of its models that find tools in the vendor's own way, as its documentation lists them. Only at its own address:
    # others who serve the same models may not know of it.
    searching: tuple[str, ...] = ()

    def is_at(self, base_url: str) -> bool:
        """Whether that is the vendor itself. Its regions are: a name before its host."""
        own, host = _host(self.base_url), _host(base_url)
        return bool(own) and (host == own or host.endswith("." + own))

    def api_at(self, base_url: str) -> str:
        """The wire that is spoken there."""
        return self.api if self.is_at(base_url) else self.api_elsewhere or self.api


def _host(base_url: str) -> str:
    return base_url.partition("://")[2].partition("/")[0].partition(":")[0].lower()


_SEARCHING_CLAUDES = (
    *(f"claude-{family}*" for family in ("fable-5", "mythos-5", "opus-5", "sonnet-5", "haiku-5")),
    *(f"claude-opus-4-{minor}*" for minor in (5, 6, 7, 8)),
    *("claude-sonnet-4-5*", "claude-sonnet-4-6*", "claude-haiku-4-5*"),
)
# In the order in which keys in the environment are looked for.
VENDORS: Mapping[str, Vendor] = {
    "anthropic": Vendor(
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY",),
        "claude-sonnet-5-5",
        MESSAGES,
        base_variable="ANTHROPIC_BASE_URL",
        context_window=200_000,
        searching=_SEARCHING_CLAUDES,
    ),
    # Over chat completions the vendor's newer models refuse tools, or do not think while they are offered any. What stands at another
    # address (a proxy, a server at home) speaks chat completions, and often nothing else.
    "openai": Vendor(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        "gpt-5.6-terra",
        RESPONSES,
        api_elsewhere=CHAT,
        base_variable="OPENAI_BASE_URL",
        # From gpt-5.4 on, and over Responses alone.
        searching=("gpt-5.4*", "gpt-5.5*", "gpt-5.6*", "gpt-6*"),
    ),
    "openrouter": Vendor("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",), "openrouter/auto"),
    "google": Vendor(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-flash-latest",
    ),
    "mistral": Vendor("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), "mistral-large-latest"),
    "deepseek": Vendor("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), "deepseek-v4-flash"),
    "groq": Vendor("https://api.groq.com/openai/v1", ("GROQ_API_KEY",), "openai/gpt-oss-120b"),
    "xai": Vendor("https://api.x.ai/v1", ("XAI_API_KEY",), "grok-4.5"),
    "together": Vendor("https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "fireworks": Vendor("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "cerebras": Vendor("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "moonshot": Vendor("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)),
    # Local servers cut a long prompt silently at a small window: better to compact early.
    "ollama": Vendor(f"http://127.0.0.1:{OLLAMA_PORT}/v1", base_variable="OLLAMA_HOST", context_window=32_768),
    "lmstudio": Vendor("http://127.0.0.1:1234/v1", context_window=32_768),
    "llamacpp": Vendor("http://127.0.0.1:8080/v1", context_window=32_768),
    "vllm": Vendor("http://127.0.0.1:8000/v1", context_window=32_768),
}


def located(host: str) -> str:
    """A base URL from an environment variable, which may name a host alone, as OLLAMA_HOST does; empty when it names none."""
    host = host.strip()
    if "://" in host:
        return host
    match = _HOST.fullmatch(host)
    if match is None:
        return ""
    # Listening on every address means: here.
    name = "127.0.0.1" if match[1] in {"0.0.0.0", "[::]"} else match[1]
    return f"http://{name}:{match[2] or OLLAMA_PORT}/v1"
