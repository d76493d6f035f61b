"""Extensions in Python: the contract their authors write against, where they are found, and the loader that keeps them apart.

What a plugin's author needs is here: `ToolPlugin`, `PluginContext`, `PluginHandle`. The loader is for the host.
"""

from openclaw.plugins.contract import PluginContext, PluginHandle, ToolPlugin

__all__ = ["PluginContext", "PluginHandle", "ToolPlugin"]
