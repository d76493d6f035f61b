"""SKILL.md files: discovery, gating, the prompt section and the commands they declare. `catalog.py` is the way in."""
