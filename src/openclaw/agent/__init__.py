"""The agent: a loop that is a function, and the prompt, compaction and state around it."""
