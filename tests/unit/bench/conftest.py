"""Benchmarks are no part of the installed package: they are imported from the checkout."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.append(ROOT)
