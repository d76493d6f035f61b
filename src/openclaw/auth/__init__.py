"""Signing in to protected servers: sessions that refresh, the login flow, registration, and tokens encrypted at rest."""
