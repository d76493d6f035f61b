"""Soak: steady calls over twenty servers while they are killed, cut off, restarted and reconfigured. `make soak MINUTES=n`."""
