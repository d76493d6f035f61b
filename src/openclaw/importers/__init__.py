"""Servers that other programs have in their own config files, as entries of ours.

Owns where each program keeps its file (`places.py`), what the file says (a reader for each program, listed in `programs.py`) and what
is to be written for it here (`plan.py`). Pure: text and values in, entries and notes out. Whatever cannot be carried over is named with
its reason. Opens no file and writes none: `commands/import_servers.py` does, and asks first.
"""
