"""`openclaw acp client`: any ACP agent from a terminal, for whoever wants to see what it says."""
