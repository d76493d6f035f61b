"""Conversations that survive: append-only events behind one Store interface."""
