"""AgentDojo, replayed against the product: attacks in the text that tools bring, and tasks that people really want done."""
