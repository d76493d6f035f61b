"""Code mode: one tool that runs a short program of the model's, which calls the agent's other tools.

`run_code.py` is the tool, `signature.py` says how a tool is called in Python, `sandbox.py` has the process in which code runs and
`sandbox_program.py` what runs there. Code reaches nothing but those tools, and each call of one takes the whole stack of `tools/invoke.py`.
"""
