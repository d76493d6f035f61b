"""From what a server lists to the Tools an agent is offered, and from its answers to what a model sees."""
