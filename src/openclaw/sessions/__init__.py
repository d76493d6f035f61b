"""Conversations that survive: append-only events behind one Store interface, in a SQLite file or in memory."""
