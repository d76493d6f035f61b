"""The modes of files that are ours alone. Windows has other rights, and shows every file that can be written with the same mode."""

import sys

PRIVATE_FILE, PRIVATE_DIRECTORY = (0o666, 0o777) if sys.platform == "win32" else (0o600, 0o700)
