"""Many gateways on one PostgreSQL: conversations, leases and everything else that they share. The only user of asyncpg."""
