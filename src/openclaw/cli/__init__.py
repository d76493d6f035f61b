"""The command line: a stub that imports the standard library alone, and one module per command."""
