"""Benchmarks: OpenClaw beside a plain client and its alternatives, on this machine. `make bench` runs them; README.md says how."""
