"""How often the search over tools finds the right one, on public sets of tools and questions. `make bench ONLY=search`."""
