"""Child processes: spawning without a shell, process groups, a clean environment, and a guardian for when we are killed."""
