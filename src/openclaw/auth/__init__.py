"""Signing in to protected servers: sessions that refresh, the login flow, and registration. Tokens are kept by `secrets/store/`."""
