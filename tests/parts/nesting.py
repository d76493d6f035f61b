"""JSON that is nested without end."""

# Levels that no Python follows: up to 3.13 msgspec gives up after about 1,000, from 3.14 on at the end of the stack, after some 250,000.
DEEP = 1_000_000
