"""The plugin contract and its loader."""
