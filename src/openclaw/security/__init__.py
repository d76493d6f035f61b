"""What is trusted and what is not: the frame around outside text, tool policy, which addresses may be dialled, the audit line."""
