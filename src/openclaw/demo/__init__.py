"""The tour of `openclaw demo`: servers small enough to read, a stage that leaves nothing behind, and the steps that are shown on it."""
