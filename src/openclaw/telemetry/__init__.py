"""What happens here, told to OpenTelemetry: spans and metrics by its conventions for models and MCP, in the traces of callers.

`switch.py` says whether there is any, without loading OpenTelemetry; `start.py` begins it. `spans.py` is what the others make spans and
measure with; each of them is one side: turns and callers (`turns.py`), tool calls (`tool_calls.py`), requests to servers (`requests.py`),
models (`model_calls.py`), conversations (`stores.py`), and what is heard of servers and approvals (`heard.py`). `export.py` sends, and
makes nobody wait. All of it is composed from the outside (`Engine`, `App`): whoever is traced knows a callable at most, and has none when
nobody traces.
"""
