"""What other programs may import: the names are listed, and each of them is there."""

from importlib import import_module

import pytest


@pytest.mark.parametrize("package", ["openclaw", "openclaw.mcp", "openclaw.plugins"])
def test_every_public_name_can_be_imported(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []


def test_a_name_that_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="nobody"):
        _ = import_module("openclaw").nobody
