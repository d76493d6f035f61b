"""The command line at a terminal: chat, setup, and running a command in this process. The table of commands is in `commands/`."""
