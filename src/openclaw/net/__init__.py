"""The only user of the aiohttp client: egress checks where the socket is made, redirects, proxies, certificates, limits."""
