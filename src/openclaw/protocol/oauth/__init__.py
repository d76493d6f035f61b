"""OAuth 2.1 as an MCP client speaks it: discovery, registration, authorization and tokens, each flow a generator that yields requests.

Pure: no sockets, no clock, no randomness of its own. `auth/` runs the flows, keeps what they return, and asks `security/egress.py` about
every address. Nothing that was fetched is repeated in an error: only codes that the standards list, and words of ours.
"""
