"""What is trusted and what is not: the frame around outside text, tool policy, which calls are asked about, which addresses
may be dialled, the audit line."""
