"""The order of the long tests: who starts first when several workers share them."""

import pytest


def _minutes(item: pytest.Item) -> float:
    mark = item.get_closest_marker("minutes")
    return float(mark.args[0]) if mark else 0.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first: one that began last would keep everybody waiting."""
    items.sort(key=_minutes, reverse=True)
