"""Rules between fields, which types cannot say.

Pure: works on a Config that has been read as far as it is right, and reports each broken rule with its place.
"""

from collections.abc import Sequence

from openclaw.config.dotted import Path
from openclaw.config.loaded import Config
from openclaw.errors import Problem


def broken_rules(config: Config, faulty: Sequence[Path]) -> list[Problem]:
    """`faulty` are paths already reported: nothing is said again about what is above or below them."""
    return []
