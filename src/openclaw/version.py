"""The version of this package. Imports nothing: every other module may ask for it, the command-line stub too."""

__version__ = "0.2.0"
