"""Drivers: one program for each client that is measured, all obeying the same commands. Each runs in its own environment."""
