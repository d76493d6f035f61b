"""From figures to docs/benchmarks.md and its charts."""
