"""How quick the gateway's page is, in a real browser."""
