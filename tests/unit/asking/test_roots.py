"""Which folders a server is told of."""

from pathlib import Path

import pytest

from openclaw.asking.roots import list_roots
from openclaw.conversation import Conversation
from openclaw.tool import Invocation

ONE, OTHER = Path("/work of/one"), Path("/other")


@pytest.mark.posix_only("paths as POSIX writes them")
def test_a_call_has_the_workspace_of_its_agent_and_without_one_only_a_common_workspace_is_told() -> None:
    of_call = Invocation(Conversation("main", workspace=ONE))
    one = {"roots": [{"uri": "file:///work%20of/one", "name": "one"}]}
    assert [
        list_roots(of_call, {OTHER}),
        list_roots(None, {ONE}),
        list_roots(Invocation(Conversation("main")), {ONE}),
        list_roots(None, {ONE, OTHER}),
        list_roots(None, ()),
    ] == [one, one, one, {"roots": []}, {"roots": []}]
