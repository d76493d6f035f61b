"""The pure half of every conversation with a server: no sockets, no clock, no asyncio."""
