"""OpenClaw as an agent inside editors."""
